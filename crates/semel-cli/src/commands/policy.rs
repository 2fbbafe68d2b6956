//! `semel policy`: what callers may know of the routes, as the gateway publishes it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use semel_policy::openapi;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;
use crate::serving::Source;

/// The file that is read if none is named.
const FILE: &str = "semel.yaml";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The configuration file [default: ./semel.yaml]
    #[arg(long, value_name = "FILE", env = "SEMEL_CONFIG")]
    config: Option<PathBuf>,

    /// Write JSON: the document that the gateway publishes
    #[arg(long)]
    json: bool,

    /// Write it for the OpenAPI description of the service: as an overlay that tools apply to it
    #[arg(long, value_name = "FORM", conflicts_with = "json")]
    openapi: Option<Form>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// An OpenAPI Overlay 1.0, as JSON
    Overlay,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let here = || Path::new(FILE).exists().then(|| PathBuf::from(FILE));
    let path = args.config.clone().or_else(here).ok_or_else(|| {
        let message = format!("expected a configuration file, found neither --config nor {FILE}");
        Error::new(Exit::Configuration, message)
    })?;
    let file = Source::new(Some(path.clone()), Vec::new()).load()?;
    let gateway = file.gateway.as_ref().ok_or_else(|| {
        let shown = path.display();
        let message =
            format!("{shown} has no gateway, so there is no policy for callers over HTTP");
        Error::new(Exit::Configuration, message)
    })?;
    let policy = gateway
        .policy()
        .map_err(|error| Error::new(Exit::Configuration, error.to_string()))?;
    match args.openapi {
        Some(Form::Overlay) => {
            let overlay = openapi::overlay(&policy);
            overlay.left_out.iter().for_each(|why| output::note(why));
            match overlay.document["actions"]
                .as_array()
                .is_none_or(Vec::is_empty)
            {
                true => Err(Error::refused("no route can be said in an overlay")),
                false => output::json(&overlay.document),
            }
        }
        None if args.json => output::json(&policy),
        None => output::data(&policy.to_string()),
    }
}
