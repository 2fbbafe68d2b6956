//! What is traced, as exporters take it.

use http::HeaderName;

use super::{headers, is_timeout};
use crate::load::File;
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::Secret;

impl File {
    /// The headers that the collector is sent.
    pub fn tracing_headers(&self) -> Vec<(HeaderName, Secret)> {
        // They were checked when the file was read.
        headers::compile(&self.tracing.headers).unwrap_or_default()
    }

    /// Checks where traces go. Faults are those of the whole file.
    pub(crate) fn check_tracing(&self) -> Result<(), Fault> {
        let path: Path = ["tracing"].into_iter().collect();
        let times = [
            ("timeout", self.tracing.timeout),
            ("every", self.tracing.every),
        ];
        for (field, time) in times {
            if let Some(time) = &time {
                is_timeout(time.0, || path.to(field))?;
            }
        }
        let compiled = headers::compile(&self.tracing.headers);
        compiled
            .map(drop)
            .map_err(|fault| fault.under(&path.to("headers")))
    }
}
