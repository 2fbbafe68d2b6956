//! Power loss under SQLite, simulated: what was synced survives, and of the rest whatever chance leaves.
//!
//! A process that is killed leaves everything it has written in the operating system's page cache, so a
//! store that forgot to sync would pass every test that kills. [`install`] puts a layer between SQLite and its
//! own `unix` file system, as the default of the process: the code under test opens its files as ever. The layer passes every call on and
//! keeps account of what has become durable. At the [`Moment`] that was asked for, the power fails: the layer
//! writes the files as a restart would find them to another directory, and no call of SQLite ever returns again.
//!
//! Read it in this order: `inode` is one file and `disk` the directory with its names, both plain models without IO; [`moment`] says
//! when the power fails, [`fault`] what else is wrong with the machine; `plant` puts them together, and `vfs` is the layer itself.
//!
//! What becomes durable: the bytes and the length of a file when `xSync` of it returns, the names in the directory
//! when SQLite has synced the directory. Until then each sector of 512 bytes, the length and each name survive
//! independently of one another, in any state that they went through since. What this crate does not simulate: disks that lie about
//! a sync, sectors that turn into garbage, and several processes that share a file; the shared memory beside a log is rebuilt by
//! the first process after a restart, and is left as it was or lost.
//!
//! Unsafe code is confined to `vfs`, because SQLite's interface for file systems is one of C.

mod disk;
pub mod fault;
mod inode;
pub mod moment;
mod plant;
#[expect(
    unsafe_code,
    reason = "SQLite takes a file system as a table of C functions"
)]
mod vfs;

pub use fault::Fault;
pub use moment::Moment;
pub use plant::Plan;
pub use vfs::install;
