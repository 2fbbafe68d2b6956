//! Tokens whose time is over, or soon will be.

use std::time::Duration;

use semel_core::{Clock, SystemClock, Timestamp, duration};
use semel_policy::File;

use crate::serving;
use crate::text;

/// A token that expires earlier than this should be replaced now.
const SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// What to do about the file's tokens; tokens that cannot be used are told elsewhere.
pub(super) fn warnings(file: &File) -> Vec<String> {
    let now = SystemClock::new().now();
    let tokens = serving::tokens(&file.admin).unwrap_or_default();
    let warn = |token: &semel_admin::Token| warning(token.name().as_str(), token.expires()?, now);
    tokens.iter().filter_map(warn).collect()
}

fn warning(name: &str, expires: Timestamp, now: Timestamp) -> Option<String> {
    let advice = "semel token new makes another";
    if expires <= now {
        let since = text::ago(expires, now);
        return Some(format!(
            "token {name} expired {since} and is refused; {advice}"
        ));
    }
    let left = expires.since(now);
    (left < SOON).then(|| {
        let left = duration::show(left);
        format!("token {name} expires in {left}; {advice}, and both can hold until callers have it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_and_soon_expiring_tokens_are_named() {
        let now = Timestamp::from_millis(1_794_787_200_000);
        let day = 86_400_000;
        let at = |ms| Timestamp::from_millis(now.as_millis() + ms);
        let said = |ms| warning("ci", at(ms), now);
        assert!(
            said(-day)
                .unwrap()
                .contains("expired 1d ago and is refused")
        );
        assert!(said(0).unwrap().contains("expired just now"));
        assert!(said(2 * day).unwrap().contains("expires in 2d"));
        assert_eq!(said(15 * day), None);
    }
}
