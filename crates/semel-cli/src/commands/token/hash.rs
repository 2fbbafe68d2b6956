//! `semel token hash`: for tokens that another program makes.

use std::io::Read;

use semel_admin::Secret;
use semel_admin::secret::TOKEN_BYTES_MAX;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;

pub(super) fn run() -> Result<()> {
    let secret = Secret::new(read()?)?;
    if secret.is_short() {
        output::note("warning: the token is short, and a short one can be guessed from its hash");
    }
    output::data(&secret.hash())
}

/// The first line of stdin. A token on the command line would stand in the history of the shell and in the list of processes.
fn read() -> Result<String> {
    let mut text = String::new();
    let limit = TOKEN_BYTES_MAX as u64 + 2;
    let read = std::io::stdin().take(limit).read_to_string(&mut text);
    read.map_err(|error| {
        let message = format!("cannot read a token from stdin: {error}");
        Error::new(Exit::Io, message)
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
