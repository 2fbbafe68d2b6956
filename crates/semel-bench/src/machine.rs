//! What must be known about a machine to read its figures.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use semel_core::{Error, Kind, Result};
use tempfile::TempDir;

use crate::latency::Latencies;
use crate::timing::Stopwatch;

const SYNCS_MAX: usize = 500;
const SYNCS_FOR: Duration = Duration::from_millis(500);
const BLOCK: usize = 4096;

/// A directory for the files of one run; removed when dropped.
pub(crate) fn scratch(dir: &Path) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("semel-bench-")
        .tempdir_in(dir)
        .map_err(io("making a directory for the benchmark"))
}

/// How many threads run at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The median time of a 4 KiB write and its `fdatasync` on a file that does not grow.
pub(crate) fn fdatasync_p50_us(dir: &Path) -> io::Result<f64> {
    let path = dir.join("fdatasync");
    let mut file = File::create(&path)?;
    file.write_all(&[0; BLOCK])?;
    file.sync_all()?;
    let mut latencies = Latencies::new();
    let clock = Stopwatch::start();
    for turn in 0..SYNCS_MAX {
        let one = Stopwatch::start();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&[turn as u8; BLOCK])?;
        file.sync_data()?;
        latencies.record(one.elapsed());
        if clock.elapsed() > SYNCS_FOR {
            break;
        }
    }
    drop(file);
    std::fs::remove_file(path)?;
    Ok(latencies.percentile_us(50))
}

/// The bytes of all files below `dir`.
pub(crate) fn bytes_below(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        bytes += match kind.is_dir() {
            true => bytes_below(&entry.path())?,
            false => kind.len(),
        };
    }
    Ok(bytes)
}

/// Says what was being done when a file could not be used.
pub(crate) fn io(doing: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::new(Kind::Unavailable, doing).caused_by(error)
}
