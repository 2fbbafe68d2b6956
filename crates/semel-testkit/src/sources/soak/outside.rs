//! What is outside of every process that is killed: one file, in which a call is one line, written by one write.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semel_inbox::intents::{Outgoing, Outlet, Sending, Sent};

use super::tally::Tally;

/// The file, as the handler and the provider write it.
#[derive(Debug, Clone)]
pub(super) struct Outside(Arc<File>);

impl Outside {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(path(dir))?;
        Ok(Self(Arc::new(file)))
    }

    /// The handler runs under the claim that the key names.
    pub(super) fn ran(&self, key: &str) -> io::Result<()> {
        self.write("run", key)
    }

    fn write(&self, what: &str, key: &str) -> io::Result<()> {
        let life = std::process::id();
        (&*self.0).write_all(format!("{what} {key} {life}\n").as_bytes())
    }
}

/// The provider. What it has done is written before it says so.
impl Outlet for Outside {
    fn name(&self) -> &str {
        "outside"
    }

    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_> {
        let sent = messages
            .iter()
            .map(|message| match self.write("effect", &message.id) {
                Ok(()) => Sent::Done(message.id.clone()),
                Err(error) => Sent::Unknown(error.to_string()),
            });
        let sent: Vec<Sent> = sent.collect();
        Box::pin(async { sent })
    }
}

/// Reads the file while it grows.
pub(super) struct Follower {
    file: BufReader<File>,
    line: String,
    pub(super) tally: Tally,
}

impl Follower {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufReader::new(File::open(path(dir))?),
            line: String::new(),
            tally: Tally::default(),
        })
    }

    /// Takes in what was written since; how many messages have had their effect.
    pub(super) fn read(&mut self) -> io::Result<usize> {
        while self.file.read_line(&mut self.line)? > 0 {
            // The rest of a line may still be on its way into the file.
            if self.line.ends_with('\n') {
                self.tally.add(self.line.trim_end());
                self.line.clear();
            }
        }
        Ok(self.tally.effects())
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join("outside")
}
