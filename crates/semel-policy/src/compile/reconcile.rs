//! Whom a route asks about unknown outcomes.

use std::time::Duration;

use http::HeaderName;

use super::{Level, headers, is_timeout};
use crate::file::Unknown;
use crate::tree::read::Fault;
use crate::value::Secret;

/// Whom to ask whether something happened.
#[derive(Debug, Clone)]
pub struct CompiledReconcile {
    /// A URL with `{key}` in it.
    pub url: String,
    /// What is sent along.
    pub headers: Vec<(HeaderName, Secret)>,
    /// How long the answer may take, if not as long as by default.
    pub timeout: Option<Duration>,
}

/// What the nearest level says.
pub(super) fn compile(levels: &[Level<'_>]) -> Result<Option<CompiledReconcile>, Fault> {
    let mut nearest = levels.iter().rev();
    let nearest = nearest.find_map(|level| Some((level, level.settings.unknown.as_ref()?)));
    let Some((level, Unknown::Reconcile(asked))) = nearest else {
        return Ok(None);
    };
    let path = level.path.to("unknown").to("reconcile");
    if let Some(timeout) = asked.timeout {
        is_timeout(timeout, || path.to("timeout"))?;
    }
    let headers = headers::compile(&asked.headers);
    Ok(Some(CompiledReconcile {
        url: asked.url.as_str().to_owned(),
        headers: headers.map_err(|fault| fault.under(&path.to("headers")))?,
        timeout: asked.timeout,
    }))
}
