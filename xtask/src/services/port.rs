//! Ports of the loopback interface that nobody listens on.
//!
//! They lie below those that the system gives to clients. A client that keeps trying to
//! reach a server that is down would otherwise be given the server's own port sooner or
//! later, would connect to itself, and would keep the server from coming back.

use std::net::TcpListener;

use crate::error::{Error, Result};

use super::secret;

const FIRST: u16 = 20_000;
/// The system's ports for clients begin after this one, on Linux and elsewhere.
const LAST: u16 = 32_767;

/// One free port: `preferred` if it is free, otherwise any.
pub(super) fn free(preferred: Option<u16>) -> Result<u16> {
    let ports = free_ones(1, preferred)?;
    Ok(ports[0])
}

/// As many different free ports as asked for, those of `preferred` first.
pub(super) fn free_ones(
    count: usize,
    preferred: impl IntoIterator<Item = u16>,
) -> Result<Vec<u16>> {
    let start = u16::from_le_bytes(secret::random()?) % (LAST - FIRST);
    let others = (FIRST + start..=LAST).chain(FIRST..FIRST + start);
    // A port that was found stays taken until all are, and is thus found once.
    let held: Vec<(u16, TcpListener)> = preferred
        .into_iter()
        .chain(others)
        .filter_map(|port| Some((port, TcpListener::bind(("127.0.0.1", port)).ok()?)))
        .take(count)
        .collect();
    if held.len() < count {
        let found = held.len();
        return Err(Error::failed(format!(
            "expected {count} free ports on 127.0.0.1 from {FIRST} to {LAST}, found {found}"
        )));
    }
    Ok(held.into_iter().map(|(port, _)| port).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_taken_port_is_not_preferred() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_ne!(free(Some(port)).unwrap(), port);
        drop(taken);
        assert_eq!(free(Some(port)).unwrap(), port);
    }

    #[test]
    fn ports_differ_and_are_not_those_of_clients() {
        let ports = free_ones(12, []).unwrap();
        assert!(ports.iter().all(|port| (FIRST..=LAST).contains(port)));
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 12);
    }
}
