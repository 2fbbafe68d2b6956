//! `semel gateway`: a gateway in front of one service. Flags say what it guards; a configuration file only says which store, admin side and
//! log the process has, so that operators who read the same file look where the gateway writes.

use semel_http::Profile;

use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::serving::{self, Setting, Source};
use crate::stores::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The service, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    upstream: String,

    /// Where to listen: an address, or unix: and a path
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    listen: String,

    /// Only watch: let everything through, and count what would have been replayed or refused
    #[arg(long)]
    observe: bool,

    /// Whose conventions to follow: ietf, stripe, paypal, square, adyen, stripe-v2, acp
    #[arg(long, value_name = "NAME", default_value = "ietf")]
    profile: Profile,

    /// Refuse guarded methods without a key
    #[arg(long)]
    require_key: bool,

    /// What to do when nobody knows whether a request took effect: hold, rerun, or reconcile=URL
    #[arg(long, value_name = "POLICY", default_value = "hold", value_parser = unknown)]
    unknown: String,

    /// How long the service may take for one request
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,

    /// How long a claim is held without a sign of life
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,

    /// How long answers are kept
    #[arg(long, value_name = "DURATION")]
    retention: Option<String>,

    #[command(flatten)]
    flags: serving::Flags,
}

/// Only the shape is checked here; the file's own rules see to the URL.
fn unknown(text: &str) -> std::result::Result<String, String> {
    match text {
        "hold" | "rerun" => Ok(text.to_owned()),
        text if text.starts_with("reconcile=") => Ok(text.to_owned()),
        _ => Err("expected hold, rerun, or reconcile=URL".to_owned()),
    }
}

impl Args {
    /// The flags as settings of the file that they stand for.
    fn settings(&self) -> Vec<Setting> {
        let mut settings = vec![
            Setting::new("--upstream", "gateway.upstream", &self.upstream),
            Setting::new("--listen", "gateway.listen", &self.listen),
            Setting::new("--profile", "gateway.profile", self.profile.name()),
        ];
        settings.push(match self.unknown.strip_prefix("reconcile=") {
            Some(url) => Setting::new("--unknown", "gateway.unknown.reconcile", url),
            None => Setting::new("--unknown", "gateway.unknown", &self.unknown),
        });
        if self.observe {
            settings.push(Setting::new("--observe", "gateway.mode", "observe"));
        }
        if self.require_key {
            settings.push(Setting::new("--require-key", "gateway.missing", "require"));
        }
        let durations = [
            ("--timeout", "gateway.timeout", &self.timeout),
            ("--lease", "gateway.lease", &self.lease),
            ("--retention", "gateway.retention", &self.retention),
        ];
        for (flag, path, value) in durations {
            settings.extend(value.as_ref().map(|value| Setting::new(flag, path, value)));
        }
        settings
    }
}

pub(crate) async fn run(args: Args, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    let mut settings = args.settings();
    settings.extend(args.flags.settings());
    serving::run(Source::of_process(config.path(), settings), store).await
}
