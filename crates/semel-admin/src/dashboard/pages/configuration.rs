//! The configuration in force, as `semel check` explains it.

use maud::{Markup, html};

use crate::configuration::Configuration;
use crate::dashboard::{Ask, Page, ui};
use crate::refused::Refused;

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let (parts, now) = (&ask.app.parts, ask.app.now());
    let configuration = parts.configuration.get();
    let from = configuration.file.clone();
    let from = from.unwrap_or_else(|| "no file: flags, environment and defaults".to_owned());
    let loaded = configuration.loaded_at;
    let loaded = loaded.map_or_else(Markup::default, |at| ui::time(at, now));
    let live = html! {
        (notices(&configuration, &ask))
        (ui::section("Where it is from", ui::facts(&[("Read from", html! { (from) }), ("Loaded", loaded)])))
        @if configuration.explained.is_empty() {
            (ui::empty("This process has no configuration to explain.", html! {
                "A program that embeds the admin side says what it runs with by itself."
            }))
        } @else {
            (ui::section("What it does", html! { div.open { (ui::code(&configuration.explained)) } }))
        }
    };
    let rest = html! {
        p.hint { "A changed file is checked by " code { "semel check" } " and taken over at SIGHUP. Secrets are not shown." }
    };
    Ok(Page::new("Configuration").live(live).rest(rest))
}

/// What of the file on disk does not hold.
fn notices(configuration: &Configuration, ask: &Ask) -> Markup {
    html! {
        @if let Some(at) = configuration.refused_at {
            (ui::notice(ui::Tone::Bad, html! {
                "A newer file was refused " (ui::ago(at, ask.app.now())) ", and the older one stays: the log says why."
            }))
        }
        @if !configuration.needs_restart.is_empty() {
            (ui::notice(ui::Tone::Warn, html! {
                "These settings have changed in the file and need a restart: "
                (configuration.needs_restart.join(", ")) "."
            }))
        }
    }
}
