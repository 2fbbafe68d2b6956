//! The URL of a broker on the command line.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use semel_policy::filled;
use semel_policy::value::{BrokerUrl, SourceUrl, Text};

use crate::error::{Error, Result};
use crate::exit::Exit;

const EXPECTED: &str = "expected the URL of a broker, such as kafka://127.0.0.1:9092/orders";

/// A URL as it was typed. It may hold a password, so it is never shown; `${VAR}` keeps one out of the list of processes.
#[derive(Clone)]
pub(crate) struct UrlArg(String);

impl UrlArg {
    /// What it names, with variables of the environment filled in.
    pub(crate) fn read(&self) -> Result<BrokerUrl> {
        let usage = |message: String| Error::new(Exit::Usage, message);
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let text = filled(&self.0, &variables).map_err(usage)?;
        match SourceUrl::parse(&text) {
            Ok(SourceUrl::Broker(url)) => Ok(url),
            Ok(SourceUrl::Http | SourceUrl::File { .. }) | Err(_) => {
                Err(usage(EXPECTED.to_owned()))
            }
        }
    }
}

impl FromStr for UrlArg {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for UrlArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UrlArg")
    }
}
