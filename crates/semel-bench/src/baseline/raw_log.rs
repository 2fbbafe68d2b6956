//! The raw log: a zero-filled file that is written over and over, many callers per `fdatasync`.
//!
//! The file has its full length from the start, so a sync never waits for the file system's own
//! journal. While one sync is on its way, callers queue; the next takes them all.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use semel_core::{Error, Kind, Result};
use tokio::sync::oneshot;

use super::{Baseline, Done};
use crate::sample::Sample;

/// The length of the file; as much as a store's own log may have.
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// The most bytes that wait; callers wait for each append, so only a wrong caller gets there.
const WAITING_BYTES_MAX: usize = FILE_BYTES / 2;

/// An append-only file with group commit.
#[derive(Debug)]
pub struct RawLog {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    batch: Mutex<Batch>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    callers: Vec<oneshot::Sender<Result<()>>>,
    closed: bool,
}

impl RawLog {
    /// Creates the file at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = zero_filled(path).map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let for_writer = shared.clone();
        let writer = std::thread::Builder::new()
            .name("raw-log".into())
            .spawn(move || for_writer.write(file))
            .map_err(failed)?;
        Ok(Self {
            shared,
            writer: Some(writer),
        })
    }

    /// Appends and waits until the bytes are durable.
    async fn append(&self, bytes: &[u8]) -> Result<()> {
        let (caller, answer) = oneshot::channel();
        self.shared.push(bytes, caller)?;
        let gone = |_| Error::new(Kind::Unavailable, "the raw log was closed");
        answer.await.map_err(gone)?
    }
}

impl Baseline for RawLog {
    fn name(&self) -> &str {
        "raw log"
    }

    fn pair<'a>(&'a self, sample: &'a Sample) -> Done<'a> {
        Box::pin(async move {
            self.append(&sample.claim_bytes()).await?;
            self.append(&sample.outcome_bytes()).await
        })
    }
}

impl Drop for RawLog {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_all();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has nothing left to finish.
            let _ = writer.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Batch> {
        // The batch is whole after every statement, so a poisoned lock protects nothing.
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8], caller: oneshot::Sender<Result<()>>) -> Result<()> {
        let mut batch = self.lock();
        if batch.bytes.len() + bytes.len() > WAITING_BYTES_MAX {
            let message = format!("{WAITING_BYTES_MAX} bytes wait for the raw log already");
            return Err(Error::new(Kind::Limit, message));
        }
        batch.bytes.extend_from_slice(bytes);
        batch.callers.push(caller);
        let first = batch.callers.len() == 1;
        drop(batch);
        if first {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Writes until closed and empty.
    fn write(&self, mut file: File) {
        let (mut position, mut bytes, mut callers) = (0, Vec::new(), Vec::new());
        while self.take(&mut bytes, &mut callers) {
            let written = append(&mut file, &mut position, &bytes);
            for caller in callers.drain(..) {
                let answer = written.as_ref().copied();
                let answer = answer.map_err(|e| Error::new(Kind::Unavailable, e.to_string()));
                // A caller that went away learns nothing.
                let _ = caller.send(answer);
            }
            bytes.clear();
        }
    }

    /// Swaps what waits for the empty buffers of the writer.
    fn take(&self, bytes: &mut Vec<u8>, callers: &mut Vec<oneshot::Sender<Result<()>>>) -> bool {
        let waiting = |batch: &mut Batch| batch.callers.is_empty() && !batch.closed;
        let woken = self.arrived.wait_while(self.lock(), waiting);
        let mut batch = woken.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut batch.bytes, bytes);
        std::mem::swap(&mut batch.callers, callers);
        !callers.is_empty()
    }
}

fn append(file: &mut File, position: &mut usize, bytes: &[u8]) -> io::Result<()> {
    if *position + bytes.len() > FILE_BYTES {
        file.seek(SeekFrom::Start(0))?;
        *position = 0;
    }
    file.write_all(bytes)?;
    *position += bytes.len();
    file.sync_data()
}

/// A new file of [`FILE_BYTES`] zeros, all of them on the disk, at its beginning.
fn zero_filled(path: &Path) -> io::Result<File> {
    const STEP: usize = 1024 * 1024;
    let mut file = File::create(path)?;
    for _ in 0..FILE_BYTES / STEP {
        file.write_all(&[0; STEP])?;
    }
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

fn failed(error: io::Error) -> Error {
    Error::new(Kind::Unavailable, "the raw log cannot be made").caused_by(error)
}
