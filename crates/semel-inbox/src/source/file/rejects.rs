//! Lines that are no messages, on their way to the file beside.

use std::io::Write as _;
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

    /// Appends what there is to the file, durably.
    pub(super) async fn flush(&mut self, path: &Path) -> std::io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let (path, bytes) = (path.to_owned(), self.0.clone());
        let written = tokio::task::spawn_blocking(move || {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)?;
            file.write_all(&bytes)?;
            file.sync_data()
        });
        written.await.map_err(std::io::Error::other)??;
        self.0.clear();
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
