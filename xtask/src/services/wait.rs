//! Waiting for something that has no signal to wait for, within a bound.

use std::thread;
use std::time::Duration;

use crate::error::Result;

const POLL: Duration = Duration::from_millis(50);

/// Tries until it succeeds or `bound` was waited, and returns the last result. Only the
/// time between two tries counts.
pub(super) fn until(bound: Duration, mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
    let mut waited = Duration::ZERO;
    loop {
        let result = attempt();
        if result.is_ok() || waited >= bound {
            return result;
        }
        thread::sleep(POLL);
        waited += POLL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn the_first_success_ends_it_and_so_does_the_bound() {
        let mut tries = 0;
        let mut third = || {
            tries += 1;
            if tries == 3 {
                Ok(())
            } else {
                Err(Error::failed("not yet"))
            }
        };
        assert!(until(POLL * 5, &mut third).is_ok());
        assert!(until(POLL, &mut third).is_err());
        assert_eq!(tries, 5);
    }
}
