//! The dashboard in a real browser, in front of the real binary.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod browser;
mod process;

use browser::drive;
use process::{Demo, Guarded, OPERATOR, READER};

#[test]
fn every_page_renders_on_a_desk_on_a_phone_and_in_the_dark() {
    let demo = Demo::start();
    demo.is_full_of_life();
    drive("renders", &demo.url, &[]);
    browser::publish("renders");
}

#[test]
fn every_page_is_complete_without_the_script() {
    let demo = Demo::start();
    demo.is_full_of_life();
    drive("plain", &demo.url, &[]);
}

#[test]
fn the_keyboard_reaches_every_control() {
    drive("keyboard", &Demo::start().url, &[]);
}

#[test]
fn a_page_changes_by_itself_and_rests_while_hidden() {
    drive("live", &Demo::start().url, &[]);
}

#[test]
fn no_stranger_frames_a_page_or_runs_a_script_in_it() {
    drive("strangers", &Demo::start().url, &[]);
}

#[test]
fn people_sign_in_and_out_and_no_page_elsewhere_acts_for_them() {
    let served = Guarded::start();
    let token = format!("token={READER}");
    drive("sessions", &served.url, &[&token, "name=rita"]);
    browser::publish("sessions");
}

#[test]
fn what_may_not_act_is_refused_and_changes_nothing() {
    let served = Guarded::start();
    let tokens = [format!("reader={READER}"), format!("token={OPERATOR}")];
    drive("refusals", &served.url, &[&tokens[0], &tokens[1]]);
}

#[test]
fn an_operator_finds_mends_and_retries_what_failed() {
    let served = Guarded::start();
    drive(
        "story",
        &served.url,
        &served.options().each_ref().map(String::as_str),
    );
    browser::publish("story");
}

#[test]
fn an_operator_corrects_a_message_and_the_original_stays() {
    let served = Guarded::start();
    drive(
        "edits",
        &served.url,
        &served.options().each_ref().map(String::as_str),
    );
    browser::publish("edits");
}
