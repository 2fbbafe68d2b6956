//! Where effects are counted: files outside every process that could be killed.
//!
//! The ledger plays the provider whose effects Semel guards. Each operation has a file; an effect is
//! one line, appended by one write, so it is there or it is not, whoever dies. A provider may be
//! dumb ([`Ledger::effect`]), may refuse claims that it was told to forget
//! ([`Ledger::effect_unless_barred`]), or may know its operations ([`Ledger::effect_checked`]).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A directory of effects.
#[derive(Debug, Clone)]
pub struct Ledger {
    dir: PathBuf,
}

/// What a provider did when it was asked for an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It happened now.
    Done,
    /// It had happened before.
    AlreadyDone,
    /// The claim is too old.
    Refused,
}

/// What the file of one operation says.
#[derive(Debug, Default)]
struct Entries {
    effects: usize,
    /// Claims up to this fence may no longer take effect.
    barred: u64,
    /// The highest fence that took effect.
    newest: u64,
}

impl Ledger {
    /// The ledger in `dir`, which is created if it does not exist.
    pub fn open(dir: impl AsRef<Path>) -> io::Result<Self> {
        let dir = dir.as_ref().to_owned();
        fs::create_dir_all(&dir)?;
        Ok(Self { dir })
    }

    /// A dumb provider: it does as it is told, every time.
    pub fn effect(&self, operation: &str, fence: u64) -> io::Result<()> {
        append(&mut self.file(operation)?, "effect", fence)
    }

    /// A provider that keeps its word: once it said of a claim that it had no effect, it has none.
    pub fn effect_unless_barred(&self, operation: &str, fence: u64) -> io::Result<Effect> {
        self.locked(operation, |file, entries| {
            if fence <= entries.barred {
                return Ok(Effect::Refused);
            }
            append(file, "effect", fence).map(|()| Effect::Done)
        })
    }

    /// A provider that checks the fence and does each operation once.
    pub fn effect_checked(&self, operation: &str, fence: u64) -> io::Result<Effect> {
        self.locked(operation, |file, entries| {
            if fence <= entries.barred || fence < entries.newest {
                return Ok(Effect::Refused);
            }
            if entries.effects > 0 {
                return Ok(Effect::AlreadyDone);
            }
            append(file, "effect", fence).map(|()| Effect::Done)
        })
    }

    /// Did it happen? If not, no claim up to `fence` will ever take effect.
    pub fn ask(&self, operation: &str, fence: u64) -> io::Result<bool> {
        self.locked(operation, |file, entries| {
            if entries.effects == 0 {
                append(file, "bar", fence)?;
            }
            Ok(entries.effects > 0)
        })
    }

    /// How often an operation took effect.
    pub fn count(&self, operation: &str) -> io::Result<usize> {
        self.locked(operation, |_, entries| Ok(entries.effects))
    }

    /// How often each operation in the ledger took effect.
    pub fn counts(&self) -> io::Result<BTreeMap<String, usize>> {
        let mut counts = BTreeMap::new();
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let count = self.count(&name)?;
            counts.insert(name, count);
        }
        Ok(counts)
    }

    fn file(&self, operation: &str) -> io::Result<File> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if operation.is_empty() || !operation.chars().all(plain) {
            let message =
                format!("an operation is named by letters and digits, found {operation:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        options.open(self.dir.join(operation))
    }

    /// Looks and acts as one: other processes wait. A killed process gives its lock up.
    fn locked<T>(
        &self,
        operation: &str,
        act: impl FnOnce(&mut File, Entries) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut file = self.file(operation)?;
        file.lock()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        act(&mut file, entries_of(&text))
    }
}

fn append(file: &mut File, word: &str, fence: u64) -> io::Result<()> {
    file.write_all(format!("{word} {fence}\n").as_bytes())
}

fn entries_of(text: &str) -> Entries {
    let mut entries = Entries::default();
    for line in text.lines() {
        match line
            .split_once(' ')
            .map(|(word, fence)| (word, fence.parse()))
        {
            Some(("effect", Ok(fence))) => {
                entries.effects += 1;
                entries.newest = entries.newest.max(fence);
            }
            Some(("bar", Ok(fence))) => entries.barred = entries.barred.max(fence),
            _ => {}
        }
    }
    entries
}
