//! Lines that are no messages, on their way to the file beside.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// What is to be written. Nothing is forgotten before it is.
#[derive(Debug, Default)]
pub(super) struct Rejects(Vec<u8>);

impl Rejects {
    /// Adds bytes, and the end of the line if this is it.
    pub(super) fn add(&mut self, bytes: &[u8], is_end: bool) {
        self.0.extend_from_slice(bytes);
        if is_end {
            self.0.push(b'\n');
        }
    }

    /// Appends what there is to the file, durably. After an error all of it is still here to be appended again.
    pub(super) async fn flush(&mut self, path: &Path) -> io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let (path, bytes) = (path.to_owned(), self.0.clone());
        let written = tokio::task::spawn_blocking(move || append(&path, &bytes));
        written.await.map_err(io::Error::other)??;
        self.0.clear();
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let before = file.metadata()?.len();
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a line would run into the line that is written next.
        let _ = file.set_len(before);
        return written;
    }
    match before {
        0 => sync_directory(path),
        _ => Ok(()),
    }
}

/// A new file is there after a power cut only if its directory was written too.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    std::fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere a directory cannot be opened as a file, and its entries are the system's business.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
