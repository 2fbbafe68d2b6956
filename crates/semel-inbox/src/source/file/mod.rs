//! A file of JSON lines, or standard input, as a source.
//!
//! Each line is an envelope, or, with [`FileSource::whole_lines`], a payload in which the rule finds the rest:
//!
//! ```text
//! {"id": "evt-1", "type": "order.created", "key": "o-17", "sequence": 3, "headers": {"x-trace": "…"}, "payload": {…}}
//! ```
//!
//! `payload_text` and `payload_base64` stand for a payload that is not JSON; `tenant` and `version` may be there too. How far the file was read is kept
//! in the store together with the messages, so a restart loses nothing and repeats nothing. A line that is no message is parked in the inbox as
//! unreadable, with its number; of a line above the limit only the beginning.

mod envelope;
mod input;
mod position;
mod splitter;

use std::path::{Path, PathBuf};
use std::time::Duration;

use semel_core::inbox::Origin;
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::{Batch, Delivery, Event, Facts, Handle, Partition, Raw, Settle, Settled, Source, Want};
use input::{Chunk, Input};
use splitter::{Line, Splitter};

/// The longest line unless the source says otherwise.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// How often a file that is followed is looked at.
const LOOK: Duration = Duration::from_millis(200);

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
    state: Mutex<Option<State>>,
}

/// What changes while it is read.
#[derive(Debug)]
struct State {
    input: Input,
    lines: Splitter,
    at_end: bool,
}

impl FileSource {
    /// The file at this path, or standard input if it is `-`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let file = (path != Path::new("-")).then(|| path.to_owned());
        Self {
            name: match &file {
                Some(path) => format!("file:{}", path.display()),
                None => "stdin".to_owned(),
            },
            path: file,
            follow: false,
            whole_lines: false,
            line_bytes_max: LINE_BYTES_MAX,
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

    /// Whether the file can be opened, unless it is open already. What is no plain file, such as a pipe, would lose something by that.
    async fn look(&self) -> Result<()> {
        let is_open = self.state.try_lock().map_or(true, |state| state.is_some());
        let path = self.path.as_ref().filter(|path| !is_open && path.is_file());
        let Some(path) = path else {
            return Ok(());
        };
        let opened = Input::open(path.clone(), None, self.follow).await;
        opened.map(drop).map_err(|error| self.failed(&error))
    }

    async fn read(&self, want: Want) -> Result<Event> {
        let mut guard = self.state.lock().await;
        let state = guard
            .as_mut()
            .ok_or_else(|| Error::new(Kind::Internal, "a source is opened before it is read"))?;
        if want.count == 0 {
            // Nothing ever happens to lines that were delivered.
            return std::future::pending().await;
        }
        loop {
            if let Some(deliveries) = self.take(state, want) {
                let position = state.input.position(&state.lines);
                let position = position.map(|at| (Partition::default(), at));
                return Ok(Event::Batch(Batch {
                    deliveries,
                    positions: position.into_iter().collect(),
                }));
            }
            if state.at_end {
                return Ok(Event::End);
            }
            self.fill(state).await?;
        }
    }

    /// The deliveries of the lines that are ready; nothing if no line is.
    fn take(&self, state: &mut State, want: Want) -> Option<Vec<Delivery>> {
        let (mut taken, mut bytes) = (None, 0);
        while !want.is_met(taken.as_ref().map_or(0, Vec::len), bytes, 0)
            && let Some(line) = state.lines.next()
        {
            bytes += line.text.len();
            let deliveries = taken.get_or_insert_with(Vec::new);
            // Blank lines mean nothing.
            if !line.text.trim_ascii().is_empty() {
                deliveries.push(self.delivery(line));
            }
        }
        taken
    }

    /// Brings more bytes in, or learns that there are none.
    async fn fill(&self, state: &mut State) -> Result<()> {
        match state.input.read().await.map_err(|e| self.failed(&e))? {
            Chunk::Bytes(bytes) => state.lines.push(&bytes),
            Chunk::Again => {
                state.lines.end();
                state.lines.restart();
            }
            Chunk::CutOff => {
                let source = &self.name;
                tracing::warn!(
                    source,
                    "the file was cut off and is read from its beginning"
                );
                state.lines.restart();
            }
            Chunk::End if self.follow => sleep(LOOK).await,
            Chunk::End => {
                state.lines.end();
                state.at_end = true;
            }
        }
        Ok(())
    }

    fn delivery(&self, line: Line) -> Delivery {
        let origin = Origin {
            topic: self.name.chars().take(80).collect(),
            partition: None,
            offset: i64::try_from(line.number).ok(),
        };
        let limit = self.line_bytes_max;
        let found = match line.too_long {
            Some(bytes) => Err(format!(
                "it has {bytes} bytes, and a line has at most {limit}"
            )),
            None => envelope::raw(&line.text, self.whole_lines, origin.clone()),
        };
        let raw = found.unwrap_or_else(|why| Raw {
            unreadable: Some(why),
            payload: Some(line.text.into()),
            origin,
            ..Raw::default()
        });
        Delivery {
            raw,
            handle: Handle::new(()),
            partition: Partition::default(),
        }
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

    fn kept_partitions(&self) -> Vec<Partition> {
        vec![Partition::default()]
    }

    fn open(&self, positions: Vec<(Partition, String)>) -> Answer<'_, ()> {
        Box::pin(async move {
            let position = positions.first().map(|(_, position)| position);
            let position = position.and_then(|text| position::Position::parse(text));
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
                at_end: false,
            });
            Ok(())
        })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(self.read(want))
    }

    /// A file that cannot be opened is said before its position is taken from a reader that has it open.
    fn facts(&self) -> Answer<'_, Facts> {
        Box::pin(async move {
            self.look().await?;
            Ok(Facts::default())
        })
    }

    /// The position in the store is what counts. A file delivers nothing again: what was stored is in the inbox, and what was not is read
    /// again after a restart.
    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        Box::pin(async move { Ok(vec![Settled::Done; items.len()]) })
    }
}
