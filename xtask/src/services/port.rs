//! Ports of the loopback interface that no process listens on.
//!
//! They lie below those that the system gives to clients. A client that keeps trying to
//! reach a server that is down would otherwise be given the server's own port sooner or
//! later, would connect to itself, and would keep the server from coming back.

use std::net::TcpListener;

use crate::error::{Error, Result};

use super::hold::{self, Held};
use super::secret;

const FIRST: u16 = 20_000;
/// The system's ports for clients begin after this one, on Linux and elsewhere.
const LAST: u16 = 32_767;

/// Free ports. Until this is dropped, which should be when a server listens on them, they are found by no other start.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) numbers: Vec<u16>,
    _held: Vec<Held>,
}

/// As many different free ports as asked for, those of `preferred` first.
pub(super) fn free(count: usize, preferred: &[u16]) -> Result<Ports> {
    let start = u16::from_le_bytes(secret::random()?) % (LAST - FIRST);
    let others = (FIRST + start..=LAST).chain(FIRST..FIRST + start);
    let candidates = preferred.iter().copied().chain(others);
    let found = candidates.filter_map(|port| {
        let held = hold::try_hold(&format!("port-{port}")).ok()??;
        TcpListener::bind(("127.0.0.1", port)).ok()?;
        Some((port, held))
    });
    let (numbers, held): (Vec<u16>, Vec<Held>) = found.take(count).unzip();
    if numbers.len() < count {
        let found = numbers.len();
        return Err(Error::failed(format!(
            "expected {count} free ports on 127.0.0.1 from {FIRST} to {LAST}, found {found}"
        )));
    }
    let _held = held;
    Ok(Ports { numbers, _held })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::wait;
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn a_taken_port_is_not_preferred() {
        let port = free(1, &[]).unwrap().numbers[0];
        let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert_ne!(free(1, &[port]).unwrap().numbers, [port]);
        drop(taken);
        // A process that another test is about to start has the socket until it runs its program.
        let freed = wait::until(Duration::from_secs(10), || {
            match free(1, &[port])?.numbers == [port] {
                true => Ok(()),
                false => Err(Error::failed("still taken")),
            }
        });
        assert!(freed.is_ok());
    }

    #[test]
    fn ports_differ_and_are_not_those_of_clients() {
        let first = free(12, &[]).unwrap();
        let second = free(12, &first.numbers).unwrap();
        let all: BTreeSet<_> = first.numbers.iter().chain(&second.numbers).collect();
        assert!(all.iter().all(|port| (FIRST..=LAST).contains(port)));
        assert_eq!(all.len(), 24);
    }
}
