//! A file of JSON lines, or standard input, as a source.
//!
//! Each line is an envelope, or, with [`FileSource::whole_lines`], a payload in which the rule finds the rest:
//!
//! ```text
//! {"id": "evt-1", "type": "order.created", "key": "o-17", "sequence": 3, "headers": {"x-trace": "…"}, "payload": {…}}
//! ```
//!
//! `payload_text` and `payload_base64` stand for a payload that is not JSON; `tenant` and `version` may be there too. How far the file was read is kept
//! in the store together with the messages, so a restart loses nothing and repeats nothing. A line that is no
//! message is reported with its number, counted, and copied to `FILE.rejected`, from where it can be read again once it is
//! mended. While that file cannot be written, the source stands still, tries again and says why: a line is stored or rejected before the
//! position moves past it.

mod envelope;
mod input;
mod position;
mod rejects;
mod splitter;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::inbox::Origin;
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::{Batch, Delivery, Handle, Source};
use input::{Chunk, Input};
use rejects::Rejects;
use splitter::{Line, Splitter};

/// The longest line unless the source says otherwise.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// How often a file that is followed is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// The most bytes of payloads in one batch.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A file of JSON lines, or standard input.
///
/// ```
/// use semel_inbox::FileSource;
///
/// let orders = FileSource::new("/var/spool/orders.jsonl").follow();
/// let piped = FileSource::new("-");
/// # let _ = (orders, piped);
/// ```
#[derive(Debug)]
#[must_use]
pub struct FileSource {
    name: String,
    path: Option<PathBuf>,
    follow: bool,
    whole_lines: bool,
    line_bytes_max: usize,
    rejected_path: PathBuf,
    rejected: AtomicU64,
    state: Mutex<Option<State>>,
}

/// What changes while it is read.
#[derive(Debug)]
struct State {
    input: Input,
    lines: Splitter,
    rejects: Rejects,
    /// Deliveries of lines that were taken out while the rejects before or among them are not written yet. They wait here, and no more is
    /// read, so that the position cannot pass what is neither stored nor with the rejects.
    waiting: Option<Vec<Delivery>>,
    at_end: bool,
}

impl FileSource {
    /// The file at this path, or standard input if it is `-`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let file = (path != Path::new("-")).then(|| path.to_owned());
        let beside = file.as_deref().unwrap_or(Path::new("stdin"));
        let mut rejected = beside.as_os_str().to_owned();
        rejected.push(".rejected");
        Self {
            name: match &file {
                Some(path) => format!("file:{}", path.display()),
                None => "stdin".to_owned(),
            },
            path: file,
            follow: false,
            whole_lines: false,
            line_bytes_max: LINE_BYTES_MAX,
            rejected_path: rejected.into(),
            rejected: AtomicU64::new(0),
            state: Mutex::new(None),
        }
    }

    /// Goes on when the end is reached, as lines are added; also if the file is cut off or replaced by another. A last line without an end
    /// is waited for.
    pub const fn follow(mut self) -> Self {
        self.follow = true;
        self
    }

    /// Takes each line as a payload, in which the rule finds id, type, key and sequence.
    pub const fn whole_lines(mut self) -> Self {
        self.whole_lines = true;
        self
    }

    /// Another limit for the length of a line than 1 MiB; at most 16 MiB.
    pub fn line_bytes_max(mut self, bytes: usize) -> Self {
        self.line_bytes_max = bytes.clamp(1, BODY_BYTES_MAX);
        self
    }

    /// Where lines go that are no messages; by default beside the file, with `.rejected` behind its name.
    pub fn rejected_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.rejected_path = path.into();
        self
    }

    /// How many lines were no messages.
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    async fn read(&self, max: usize) -> Result<Batch> {
        let mut guard = self.state.lock().await;
        let state = guard
            .as_mut()
            .ok_or_else(|| Error::new(Kind::Internal, "a source is resumed before it is read"))?;
        loop {
            let taken = match state.waiting.take() {
                Some(deliveries) => Some(deliveries),
                None => self.take(state, max),
            };
            // Kept before the rejects are written: if that fails, the next call goes on from here.
            state.waiting = taken;
            self.flush(&mut state.rejects).await?;
            if let Some(deliveries) = state.waiting.take() {
                return Ok(Batch {
                    deliveries,
                    position: state.input.position(&state.lines),
                    end: false,
                });
            }
            if state.at_end {
                return Ok(Batch {
                    end: true,
                    ..Batch::default()
                });
            }
            self.fill(state).await?;
        }
    }

    /// The deliveries of the lines that are ready; nothing if no line is.
    fn take(&self, state: &mut State, max: usize) -> Option<Vec<Delivery>> {
        let (mut taken, mut bytes) = (None, 0);
        while taken.as_ref().map_or(0, Vec::len) < max
            && bytes < BATCH_BYTES_MAX
            && let Some(line) = state.lines.next()
        {
            bytes += line.text.len();
            let deliveries = taken.get_or_insert_with(Vec::new);
            deliveries.extend(self.delivery(line, &mut state.rejects));
        }
        taken
    }

    /// Brings more bytes in, or learns that there are none.
    async fn fill(&self, state: &mut State) -> Result<()> {
        match state.input.read().await.map_err(|e| self.failed(&e))? {
            Chunk::Bytes(bytes) => state.lines.push(&bytes, &mut state.rejects),
            Chunk::Again => {
                state.lines.end(&mut state.rejects);
                state.lines.restart(&mut state.rejects);
            }
            Chunk::CutOff => {
                let source = &self.name;
                tracing::warn!(
                    source,
                    "the file was cut off and is read from its beginning"
                );
                state.lines.restart(&mut state.rejects);
            }
            Chunk::End if self.follow => sleep(LOOK).await,
            Chunk::End => {
                state.lines.end(&mut state.rejects);
                state.at_end = true;
            }
        }
        Ok(())
    }

    fn delivery(&self, line: Line, rejects: &mut Rejects) -> Option<Delivery> {
        // Blank lines mean nothing.
        if line.text.trim_ascii().is_empty() && !line.is_long {
            return None;
        }
        if line.is_long {
            let limit = self.line_bytes_max;
            self.note(line.number, &format!("it has more than {limit} bytes"));
            return None;
        }
        let origin = Origin {
            topic: self.name.chars().take(80).collect(),
            partition: None,
            offset: i64::try_from(line.number).ok(),
        };
        match envelope::raw(&line.text, self.whole_lines, origin) {
            Ok(raw) => Some(Delivery {
                raw,
                handle: Handle::new(line),
            }),
            Err(why) => {
                self.note(line.number, &why);
                rejects.add(&line.text, true);
                None
            }
        }
    }

    /// Reports and counts a line that is no message.
    fn note(&self, line: u64, why: &str) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
        let (file, to) = (&self.name, self.rejected_path.display());
        tracing::warn!(file, line, why, %to, "a line is no message and is set aside");
    }

    async fn flush(&self, rejects: &mut Rejects) -> Result<()> {
        let written = rejects.flush(&self.rejected_path).await;
        written.map_err(|error| {
            let path = self.rejected_path.display();
            let text = format!("rejected lines cannot be written to {path}: {error}");
            Error::new(Kind::Unavailable, text).caused_by(error)
        })
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::new(
            Kind::Unavailable,
            format!("{} cannot be read: {error}", self.name),
        )
    }
}

impl Source for FileSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn resume(&self, position: Option<String>) -> Answer<'_, ()> {
        Box::pin(async move {
            let position = position.as_deref().and_then(position::Position::parse);
            let (input, from) = match &self.path {
                Some(path) => {
                    let opened = Input::open(path.clone(), position, self.follow).await;
                    opened.map_err(|error| self.failed(&error))?
                }
                None => (Input::stdin(), (0, 0)),
            };
            *self.state.lock().await = Some(State {
                input,
                lines: Splitter::new(self.line_bytes_max, from),
                rejects: Rejects::default(),
                waiting: None,
                at_end: false,
            });
            Ok(())
        })
    }

    fn next(&self, max: usize) -> Answer<'_, Batch> {
        Box::pin(self.read(max))
    }

    /// The position in the store is what counts.
    fn ack(&self, _: Vec<Handle>) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// A file delivers nothing again; what was stored is in the inbox, and what was not is read again after a restart.
    fn nack(&self, _: Handle, _: Duration) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn reject(&self, handle: Handle, reason: String) -> Answer<'_, ()> {
        Box::pin(async move {
            let Some(line) = handle.get::<Line>() else {
                return Err(Error::new(Kind::Internal, "a handle of another source"));
            };
            let mut rejects = Rejects::default();
            rejects.add(&line.text, true);
            self.flush(&mut rejects).await?;
            self.note(line.number, &reason);
            Ok(())
        })
    }

    fn extend(&self, _: Vec<Handle>) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn lease(&self) -> Option<Duration> {
        None
    }
}
