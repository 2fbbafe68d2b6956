//! What a file compares, laid over rules.

use http::HeaderName;
use semel_http::Rules;
use semel_http::fingerprint::{By, HEADERS_MAX};
use semel_http::path::JsonPath;

use super::apply::set;
use crate::file::{Fingerprint, FingerprintBy};
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::Word;

/// Overrides what the setting names. Faults are relative to where the settings stand.
pub(super) fn apply(fingerprint: &Fingerprint, rules: &mut Rules) -> Result<(), Fault> {
    let path = Path::default().to("fingerprint");
    match &fingerprint.by[..] {
        [] => {}
        [one] => rules.fingerprint = by(one),
        [..] => {
            let message = "expected one of body, fields, exclude, found several";
            return Err(Fault::said(path, message));
        }
    }
    set(&mut rules.fingerprint_head.authority, fingerprint.authority);
    let Some(named) = &fingerprint.headers else {
        return Ok(());
    };
    if named.len() > HEADERS_MAX {
        let found = named.len();
        let message = format!("expected at most {HEADERS_MAX} headers, found {found}");
        return Err(Fault::said(path.to("headers"), message));
    }
    if rules.fingerprint == By::Off {
        let message = "expected body, fields or exclude beside headers, because fingerprint is off \
                       further up and nothing would be compared";
        return Err(Fault::said(path, message));
    }
    rules.fingerprint_head.headers = with_accounts(rules, named.iter().map(|name| name.0.clone()));
    Ok(())
}

/// Those of the profile stay: without them one account would get another's answer.
fn with_accounts(rules: &Rules, named: impl Iterator<Item = HeaderName>) -> Vec<HeaderName> {
    let mut all = rules.profile.account_headers();
    for name in named {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn by(written: &FingerprintBy) -> By {
    let paths = |paths: &[Word<JsonPath>]| paths.iter().map(|path| path.0.clone()).collect();
    match written {
        FingerprintBy::CanonicalJson => By::CanonicalJson,
        FingerprintBy::Raw => By::Raw,
        FingerprintBy::Fields(fields) => By::Fields(paths(fields)),
        FingerprintBy::Exclude(fields) => By::Exclude(paths(fields)),
        FingerprintBy::Off => By::Off,
    }
}
