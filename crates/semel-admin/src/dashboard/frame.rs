//! The document around a page: head, navigation, who is signed in, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use semel_http::problem::{Problem, Type};

use super::assets;
use super::csrf::FIELD;
use super::page::{Ask, Page};
use super::sign_in::{self, SIGN_IN, SIGN_OUT};
use super::table::{GROUPS, PAGES};
use super::typed::Typed;

/// A page in its frame.
pub(super) fn page(ask: &Ask, page: Page) -> Markup {
    let title = page.title.clone();
    let content = html! {
        a.skip href="#content" { "Skip to the content" }
        header.bar {
            a.brand href="/" { (icon()) "Semel" }
            (account(ask))
        }
        (navigation(ask))
        main #content tabindex="-1" {
            header.title {
                h1 { (title) }
                @if page.live.is_some() {
                    p #pulse .pulse role="status" data-live=(ask.here()) {}
                }
            }
            @if let Some(notice) = &ask.notice { p.notice role="status" { (notice) } }
            (page.lead)
            @if let Some(live) = page.live { div #live { (live) } }
            (page.rest)
        }
        (footer(ask))
    };
    document(&title, content)
}

/// A refusal as a page.
pub(super) fn refusal(problem: &Problem) -> Markup {
    refused(
        problem,
        html! { a.button href="/" { "Overview" } },
        Markup::default(),
    )
}

/// The refusal of a form: what was typed into it, and the way back to it.
pub(super) fn refused_form(problem: &Problem, typed: &Typed) -> Markup {
    let page = typed.page().unwrap_or("/");
    let back = html! {
        @if problem.kind() == Type::Unauthorized { a.button href=(sign_in::address_from(page)) { "Sign in" } }
        @else if typed.page().is_some() { a.button href=(page) { "Back to the form" } " " a href="/" { "Overview" } }
        @else { a.button href="/" { "Overview" } }
    };
    refused(problem, back, typed.show())
}

fn refused(problem: &Problem, back: Markup, typed: Markup) -> Markup {
    let content = html! {
        main #content .narrow {
            p.code { (problem.code().as_u16()) }
            h1 { (problem.kind().title()) }
            p { (problem.detail()) }
            p { (back) " " a href=(problem.kind().page()) { "What this means" } }
            (typed)
        }
    };
    document(problem.kind().title(), content)
}

/// The page to sign in.
pub(super) fn sign_in(form_token: &str, next: &str, wrong: Option<&str>) -> Markup {
    let content = html! {
        main #content .narrow {
            h1.brand { (icon()) "Semel" }
            form.act method="post" action=(SIGN_IN) {
                input type="hidden" name=(FIELD) value=(form_token);
                input type="hidden" name="next" value=(next);
                @if let Some(wrong) = wrong { p.notice.bad role="alert" { (wrong) } }
                label.field {
                    span { "Token of the admin side" }
                    input type="password" name="token" required autofocus autocomplete="current-password" aria-describedby="about-tokens";
                }
                button.primary { "Sign in" }
                p #about-tokens .hint {
                    "A token is the value of " code { "admin.token" } ", or what " code { "semel token new" } " printed. What it may do here, its role says."
                }
            }
        }
    };
    document("Sign in", content)
}

fn document(title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Semel" }
                link rel="stylesheet" href=(assets::address("style.css"));
                link rel="icon" type="image/svg+xml" href=(assets::address("icon.svg"));
                script src=(assets::address("script.js")) defer {}
            }
            body { (content) }
        }
    }
}

fn icon() -> Markup {
    html! { img src=(assets::address("icon.svg")) alt="" width="24" height="24"; }
}

fn navigation(ask: &Ask) -> Markup {
    html! {
        nav.pages aria-label="Pages" {
            @for group in GROUPS {
                @let listed = PAGES.iter().filter(|route| route.group == group && ask.may(route.needs));
                @let listed = listed.filter_map(|route| Some((route.path, route.name?)));
                @let listed: Vec<_> = listed.collect();
                @if !listed.is_empty() {
                    div {
                        h2 { (group) }
                        ul {
                            @for (path, name) in listed {
                                li { a href=(path) aria-current=[current(ask.path(), path)] { (name) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A page below another one is marked at its parent.
fn current(here: &str, path: &str) -> Option<&'static str> {
    match here.strip_prefix(path) {
        Some("") => Some("page"),
        Some(rest) if path != "/" && rest.starts_with('/') => Some("true"),
        _ => None,
    }
}

fn account(ask: &Ask) -> Markup {
    html! {
        div.account {
            @match ask.caller.name() {
                Some(name) => span { strong { (name) } " · " (ask.caller.role()) },
                None => span title="The admin side has no tokens: programs of this machine may do everything." { "this machine" },
            }
            @if ask.is_signed_in {
                form method="post" action=(SIGN_OUT) {
                    input type="hidden" name=(FIELD) value=(ask.form_token);
                    button { "Sign out" }
                }
            }
        }
    }
}

/// Programs read metrics and the description of the API with a token of their own; the cookie of a session does not open them.
fn footer(ask: &Ask) -> Markup {
    html! {
        footer {
            span { "Semel " (env!("CARGO_PKG_VERSION")) }
            a href="/readyz" { "Readiness" }
            @if !ask.is_signed_in {
                a href="/metrics" { "Metrics" }
                a href="/api/v1/openapi.json" { "OpenAPI" }
            }
            a href={ (env!("CARGO_PKG_REPOSITORY")) "/tree/main/docs" } rel="noreferrer" { "Documentation" }
            span { (PreEscaped("Times are <span id=\"zone\">in UTC</span>")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::current;

    #[test]
    fn a_page_below_another_is_marked_at_its_parent() {
        for (here, path, marked) in [
            ("/keys", "/keys", Some("page")),
            ("/keys/one", "/keys", Some("true")),
            ("/keysmith", "/keys", None),
            ("/keys", "/", None),
            ("/", "/", Some("page")),
        ] {
            assert_eq!(current(here, path), marked, "{here} {path}");
        }
    }
}
