//! `semel policy`: what callers may know of the routes, as the gateway publishes it.

use clap::ValueEnum;
use semel_policy::openapi;

use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(args: &Args, config: &ConfigArg) -> Result<()> {
    let (Some(file), Some(path)) = (config.load()?, config.path()) else {
        let message = "expected a configuration file, found neither --config nor semel.yaml";
        return Err(Error::new(Exit::Configuration, message));
    };
    let gateway = file.gateway.as_ref().ok_or_else(|| {
        let shown = path.shown();
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
