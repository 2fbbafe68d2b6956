//! What every kind of server has in common.

use crate::error::Result;

use super::setting::Setting;
use super::slot::Place;

/// One kind of server that tests can ask for.
pub(super) trait Service: Sync {
    /// The name used on the command line.
    fn name(&self) -> &'static str;

    /// The environment variable that tells the tests where the server is.
    fn variable(&self) -> &'static str;

    /// Fails unless a server of this kind answers at `address`.
    fn answers(&self, address: &str) -> Result<()>;

    /// What became of the server that was started in `place`.
    fn status(&self, place: &Place) -> Status;

    /// The processes that were started in `place` and still live, without the children
    /// that they come and go with.
    fn processes(&self, place: &Place) -> Vec<u32>;

    /// Starts a fresh server in `place` with these settings on top of the usual ones,
    /// clearing away what is left of an earlier one, and returns its address. It is
    /// called only when there is none.
    fn up(&self, place: &Place, settings: &[Setting]) -> Result<String>;

    /// Ends the server in `place` as a crash would, if it still lives, and starts it
    /// again with its settings, data and address.
    fn restart(&self, place: &Place) -> Result<String>;

    /// Stops the server in `place`, if there is one, and removes its data.
    fn down(&self, place: &Place) -> Result<()>;
}

/// The state of a place.
#[derive(Debug)]
pub(super) enum Status {
    /// A server runs and answers at this address.
    Up(String),
    /// A server was started but is gone or does not answer, for this reason.
    Broken(String),
    /// Nothing was started.
    Down,
}
