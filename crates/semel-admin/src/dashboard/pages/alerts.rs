//! Which alerts fire, which are pending, and all there are with their thresholds.

use maud::{Markup, html};

use crate::alerts::judge::Active;
use crate::alerts::{Bound, Rule, Severity, Subject};
use crate::dashboard::{Ask, Page, ui};
use crate::refused::Refused;

/// How many things an alert is about that are named.
const SUBJECTS_SHOWN: usize = 20;

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let board = &ask.app.parts.alerts;
    let webhook = match board.settings().webhook {
        Some(_) => "Each alert that begins or ends is posted to the webhook.",
        None => "No webhook hears of alerts: alerts.webhook in semel.yaml names one.",
    };
    let live = html! {
        (ui::section("Now", active(&ask)))
        (ui::section("All alerts", all(&board.rules())))
    };
    let rest = html! {
        p.hint { (webhook) " Thresholds are set in " code { "alerts.thresholds" } ", those of consumers in their policies." }
    };
    Ok(Page::new("Alerts").live(live).rest(rest))
}

/// The names of the alerts that fire, each once, with how many things it fires for; nothing if none does.
pub(super) fn brief(ask: &Ask) -> Option<Markup> {
    let mut firing: Vec<(&'static Rule, usize)> = Vec::new();
    for alert in ask.app.parts.alerts.active() {
        let Some(rule) = Rule::named(alert.rule).filter(|_| alert.firing) else {
            continue;
        };
        match firing.iter_mut().find(|(known, _)| known.name == rule.name) {
            Some((_, count)) => *count += 1,
            None => firing.push((rule, 1)),
        }
    }
    let item = |(rule, count): &(&'static Rule, usize)| {
        html! { li title=(rule.summary) { (severity(rule.severity)) " " a href="/alerts" { (rule.name) } @if *count > 1 { " × " (count) } } }
    };
    (!firing.is_empty()).then(|| html! { ul.firing { @for one in &firing { (item(one)) } } })
}

/// What fires and what is pending; that nothing does, if so.
fn active(ask: &Ask) -> Markup {
    let standing = ask.app.parts.alerts.standing();
    let Some(judged_at) = standing.judged_at else {
        return ui::empty(
            "No alert was judged yet.",
            html! { "They are judged every few seconds." },
        );
    };
    let table = ui::Table::new("Alerts that fire or are pending")
        .column("State")
        .column("Severity")
        .column("Alert")
        .column("About, with its value")
        .number("Threshold")
        .column("Since")
        .column("What to do");
    // What fires stands first, and alerts of one rule stand together.
    let is_alike =
        |one: &Active, other: &Active| (one.rule, one.firing) == (other.rule, other.firing);
    let alike = standing.active.chunk_by(is_alike);
    let row = |alike: &[Active]| Some(active_row(Rule::named(alike[0].rule)?, alike, ask));
    table.rows(alike.filter_map(row)).or(ui::empty(
        "No alert fires.",
        html! { "Judged " (ui::ago(judged_at, ask.app.now())) "." },
    ))
}

/// What a rule says about several things, which all fire or are all pending.
fn active_row(rule: &Rule, alike: &[Active], ask: &Ask) -> ui::Row {
    let (first, state) = (
        &alike[0],
        if alike[0].firing { "firing" } else { "pending" },
    );
    let threshold = match first.threshold {
        Some(at) => rule.unit.show(at),
        None if rule.is_switch() => String::new(),
        None => "by policy".to_owned(),
    };
    let oldest = alike.iter().map(|alert| alert.since).min();
    let about = html! {
        ul.about {
            @for alert in alike.iter().take(SUBJECTS_SHOWN) { (subject(rule, alert)) }
            @if alike.len() > SUBJECTS_SHOWN { li.hint { "and " (ui::count((alike.len() - SUBJECTS_SHOWN) as u64)) " more" } }
        }
    };
    ui::Row::new(&format!("{} {state}", rule.name))
        .cell(ui::state(state))
        .cell(severity(rule.severity))
        .cell(html! { strong class=[ui::whole(rule.name)] { (rule.name) } br; (rule.summary) })
        .cell(about)
        .text(threshold)
        .cell(oldest.map_or_else(Markup::default, |since| ui::ago(since, ask.app.now())))
        .cell(runbook(rule))
}

/// What an alert is about, and its value where the rule has one; a consumer leads to its messages.
fn subject(rule: &Rule, alert: &Active) -> Markup {
    let value = alert.threshold.map(|_| rule.unit.show(alert.value));
    let (kind, name) = match &alert.subject {
        Some(Subject { kind, name }) => (*kind, &**name),
        None => (rule.about.name(), ""),
    };
    let link = (kind == "consumer").then(|| ui::link_to(super::inbox::PATH, &[(kind, name)]));
    html! {
        li class=[ui::whole(name)] {
            (kind)
            @if !name.is_empty() { " " @if let Some(link) = link { a href=(link) { (name) } } @else { (name) } }
            @if let Some(value) = value { ": " strong { (value) } }
        }
    }
}

fn severity(severity: Severity) -> Markup {
    let tone = match severity {
        Severity::Critical => ui::Tone::Bad,
        Severity::Warning => ui::Tone::Warn,
        Severity::Info => ui::Tone::Plain,
    };
    ui::badge(tone, severity.name())
}

fn all(rules: &[(&'static Rule, Option<f64>)]) -> Markup {
    let row = |(rule, threshold): &(&'static Rule, Option<f64>)| {
        ui::Row::new(rule.name)
            .cell(html! { strong { (rule.name) } br; (rule.summary) })
            .cell(severity(rule.severity))
            .text(rule.about.name())
            .text(fires(rule, *threshold))
            .cell(runbook(rule))
    };
    let table = ui::Table::new("Alerts and when they fire")
        .column("Alert")
        .column("Severity")
        .column("Looks at")
        .column("Fires")
        .column("What to do");
    table.rows(rules.iter().map(row)).show()
}

/// When a rule fires, in words.
fn fires(rule: &Rule, threshold: Option<f64>) -> String {
    let Some(threshold) = threshold else {
        return "off".to_owned();
    };
    if rule.is_switch() {
        return "as long as that is so".to_owned();
    }
    if rule.is_of_policies() {
        return "by the consumer's policy".to_owned();
    }
    let side = match rule.bound {
        Bound::Above(_) => "above",
        Bound::Below(_) => "below",
    };
    let lasts = match rule.lasts.is_zero() {
        true => String::new(),
        false => format!(" for {}", ui::duration(rule.lasts)),
    };
    format!("{side} {}{lasts}", rule.unit.show(threshold))
}

fn runbook(rule: &Rule) -> Markup {
    html! { a href=(rule.runbook()) rel="noreferrer" { "runbook" } }
}
