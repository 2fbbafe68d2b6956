//! What a reload cannot change, key by key.

use std::time::Duration;

use semel_policy::File;
use semel_policy::file::{AccessLog, Admin, Gateway, InboxListen, Tls};
use semel_policy::value::Listen;

/// The keys whose values differ between the file that the process started with and a new one, and that only a restart takes over.
/// `store_is_named` says that the command line or the environment names the store, so that the file's does not count.
pub(super) fn changed(old: &File, new: &File, store_is_named: bool) -> Vec<&'static str> {
    let text = |file: &File| file.store.as_ref().map(semel_policy::value::StoreUrl::text);
    let mut table = vec![
        ("store", !store_is_named && text(old) != text(new)),
        ("tracing", old.tracing != new.tracing),
        ("log.format", old.log.format != new.log.format),
        ("admin.listen", listens(&old.admin) != listens(&new.admin)),
        ("admin.tls", shown(&old.admin).0 != shown(&new.admin).0),
        (
            "admin.access_log",
            shown(&old.admin).1 != shown(&new.admin).1,
        ),
        ("admin.session", shown(&old.admin).2 != shown(&new.admin).2),
        (
            "admin.secure_cookies",
            shown(&old.admin).3 != shown(&new.admin).3,
        ),
    ];
    table.extend(gateway(old.gateway.as_ref(), new.gateway.as_ref()));
    table.extend(inbox(&old.inbox, &new.inbox));
    let changed = table.into_iter().filter(|(_, differs)| *differs);
    changed.map(|(key, _)| key).collect()
}

/// The address of the admin side; `None` if it is off.
const fn listens(admin: &Admin) -> Option<&Listen> {
    match admin {
        Admin::Off => None,
        Admin::On { listen, .. } => Some(listen),
    }
}

/// The certificate, the access log, the length of sessions and the kind of cookies of the admin side.
fn shown(admin: &Admin) -> (Option<&Tls>, AccessLog, Duration, bool) {
    match admin {
        Admin::Off => (None, AccessLog::Off, Admin::SESSION, false),
        Admin::On {
            tls,
            access_log,
            session,
            secure_cookies,
            ..
        } => (tls.as_ref(), *access_log, *session, *secure_cookies),
    }
}

fn gateway(old: Option<&Gateway>, new: Option<&Gateway>) -> [(&'static str, bool); 2] {
    let moved = match (old, new) {
        (Some(old), Some(new)) => old.listen.0 != new.listen.0,
        _ => false,
    };
    [
        ("gateway", old.is_some() != new.is_some()),
        ("gateway.listen", moved),
    ]
}

fn inbox(old: &InboxListen, new: &InboxListen) -> [(&'static str, bool); 9] {
    let (limits, others) = (&old.limits, &new.limits);
    let (times, other) = (&old.timeouts, &new.timeouts);
    [
        ("inbox.listen", old.listen.0 != new.listen.0),
        ("inbox.tls", old.tls != new.tls),
        ("inbox.access_log", old.access_log != new.access_log),
        (
            "inbox.limits.connections",
            limits.connections != others.connections,
        ),
        (
            "inbox.limits.in_flight",
            limits.in_flight != others.in_flight,
        ),
        (
            "inbox.limits.header_bytes",
            limits.header_bytes != others.header_bytes,
        ),
        ("inbox.timeouts.header", times.header != other.header),
        ("inbox.timeouts.idle", times.idle != other.idle),
        (
            "inbox.timeouts.drain_pause",
            times.drain_pause != other.drain_pause,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File::parse("semel.yaml", text, []).unwrap()
    }

    #[test]
    fn what_needs_a_restart_is_named_key_by_key() {
        let old = file("gateway: { upstream: 'http://127.0.0.1:1' }");
        let new = file(
            "store: sqlite:other.db\ntracing: { sample: 0.1 }\nlog: { format: json, level: debug }\nadmin: off\n\
             gateway: { upstream: 'http://127.0.0.1:2', listen: '127.0.0.1:9' }\n\
             inbox: { listen: '127.0.0.1:8', timeouts: { body: 1s, idle: 1s, drain: 1s } }",
        );
        let keys = changed(&old, &new, false);
        let expected = [
            "store",
            "tracing",
            "log.format",
            "admin.listen",
            "gateway.listen",
            "inbox.listen",
            "inbox.timeouts.idle",
        ];
        assert_eq!(keys, expected);
        assert!(!changed(&old, &new, true).contains(&"store"));
        assert_eq!(changed(&old, &file(""), false), ["gateway"]);
        assert!(changed(&old, &old, false).is_empty());
    }
}
