//! Where the bytes come from: a file, which may be replaced while it is followed, or standard input.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::position::{HEAD_BYTES, Position};
use super::splitter::Splitter;

/// How many bytes are read at once.
const CHUNK: usize = 256 * 1024;
/// How many pieces of standard input may wait.
const PIECES: usize = 16;

/// The next bytes, or why there are none.
#[derive(Debug)]
pub(super) enum Chunk {
    Bytes(Vec<u8>),
    /// Another file has taken its place, and is read from its beginning.
    Again,
    /// The same file was cut off, and is read from its beginning.
    CutOff,
    /// There is nothing more, for now.
    End,
}

#[derive(Debug)]
pub(super) enum Input {
    File(Reading),
    Stdin(mpsc::Receiver<io::Result<Vec<u8>>>),
}

/// A file, or the thread that is reading from it: one that was not waited for to its end is waited for the next time.
#[derive(Debug)]
pub(super) enum Reading {
    Idle(Box<Opened>),
    Busy(JoinHandle<(Box<Opened>, io::Result<Chunk>)>),
    /// The thread panicked, and the file with it.
    Broken,
}

/// A file that is being read.
#[derive(Debug)]
pub(super) struct Opened {
    path: PathBuf,
    follow: bool,
    /// Nothing while a file that is followed is not there.
    file: Option<File>,
    number: u64,
    read: u64,
    /// The first bytes of the file.
    head: Vec<u8>,
}

impl Input {
    /// Opens a file where it was left, or at its beginning if it is another; also where that is.
    pub(super) async fn open(
        path: PathBuf,
        position: Option<Position>,
        follow: bool,
    ) -> io::Result<(Self, (u64, u64))> {
        let opened = spawn_blocking(move || Opened::at(path, position, follow));
        let (opened, from) = opened.await.map_err(io::Error::other)??;
        Ok((Self::File(Reading::Idle(Box::new(opened))), from))
    }

    /// Reads standard input on a thread of its own, because such a read cannot be stopped.
    pub(super) fn stdin() -> Self {
        let (send, pieces) = mpsc::channel(PIECES);
        let read = move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut piece = vec![0; CHUNK];
                let read = stdin.read(&mut piece);
                let is_last = !matches!(read, Ok(1..));
                let piece = read.map(|len| {
                    piece.truncate(len);
                    piece
                });
                if send.blocking_send(piece).is_err() || is_last {
                    return;
                }
            }
        };
        std::thread::spawn(read);
        Self::Stdin(pieces)
    }

    pub(super) async fn read(&mut self) -> io::Result<Chunk> {
        match self {
            Self::File(reading) => reading.next().await,
            Self::Stdin(pieces) => match pieces.recv().await {
                Some(Ok(piece)) if !piece.is_empty() => Ok(Chunk::Bytes(piece)),
                Some(Err(error)) => Err(error),
                Some(Ok(_)) | None => Ok(Chunk::End),
            },
        }
    }

    /// How far it was read, for the store; nothing for standard input, which cannot be read again.
    pub(super) fn position(&self, lines: &Splitter) -> Option<String> {
        match self {
            Self::File(Reading::Idle(opened)) => {
                let position = Position::new(lines.taken(), opened.number, &opened.head);
                Some(position.text())
            }
            Self::File(Reading::Busy(_) | Reading::Broken) | Self::Stdin(_) => None,
        }
    }
}

impl Reading {
    /// The next bytes. A call that is dropped loses nothing.
    async fn next(&mut self) -> io::Result<Chunk> {
        loop {
            *self = match std::mem::replace(self, Self::Broken) {
                Self::Idle(mut opened) => Self::Busy(spawn_blocking(move || {
                    let chunk = opened.next();
                    (opened, chunk)
                })),
                Self::Busy(thread) => Self::Busy(thread),
                Self::Broken => {
                    return Err(io::Error::other("the thread that read the file is gone"));
                }
            };
            if let Self::Busy(thread) = self {
                let (opened, chunk) = thread.await.map_err(io::Error::other)?;
                *self = Self::Idle(opened);
                return chunk;
            }
        }
    }
}

impl Opened {
    fn at(
        path: PathBuf,
        position: Option<Position>,
        follow: bool,
    ) -> io::Result<(Self, (u64, u64))> {
        let mut opened = Self {
            path,
            follow,
            file: None,
            number: 0,
            read: 0,
            head: Vec::new(),
        };
        match opened.begin() {
            Ok(()) => {}
            Err(error) if follow && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (Some(file), Some(position)) = (&mut opened.file, position) else {
            return Ok((opened, (0, 0)));
        };
        let len = file.metadata()?.len();
        let mut head = Vec::new();
        file.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        if position.is_in(opened.number, len, &head) {
            file.seek(SeekFrom::Start(position.offset))?;
            let known = usize::try_from(position.offset).unwrap_or(usize::MAX);
            head.truncate(known);
            (opened.head, opened.read) = (head, position.offset);
            return Ok((opened, (position.offset, position.line)));
        }
        file.seek(SeekFrom::Start(0))?;
        let file = opened.path.display();
        tracing::warn!(%file, "this is not the file that was read before; it is read from its beginning");
        Ok((opened, (0, 0)))
    }

    /// Opens the file at its beginning.
    fn begin(&mut self) -> io::Result<()> {
        let file = File::open(&self.path)?;
        self.number = number(&file.metadata()?);
        (self.file, self.read) = (Some(file), 0);
        self.head.clear();
        Ok(())
    }

    fn next(&mut self) -> io::Result<Chunk> {
        let Some(file) = &mut self.file else {
            return match self.begin() {
                Ok(()) => Ok(Chunk::Again),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Chunk::End),
                Err(error) => Err(error),
            };
        };
        let bytes = some(file)?;
        match (bytes.is_empty(), self.follow) {
            (false, _) => Ok(self.bytes(bytes)),
            (true, true) => self.at_end(),
            (true, false) => Ok(Chunk::End),
        }
    }

    fn bytes(&mut self, bytes: Vec<u8>) -> Chunk {
        self.read += bytes.len() as u64;
        let missing = HEAD_BYTES - self.head.len();
        self.head.extend(bytes.iter().take(missing));
        Chunk::Bytes(bytes)
    }

    /// At the end of a file that is followed: whether it was cut off or another has taken its place.
    fn at_end(&mut self) -> io::Result<Chunk> {
        let Some(file) = &mut self.file else {
            return Ok(Chunk::End);
        };
        if file.metadata()?.len() < self.read {
            file.seek(SeekFrom::Start(0))?;
            self.read = 0;
            self.head.clear();
            return Ok(Chunk::CutOff);
        }
        if !is_other(&self.path, self.number)? {
            return Ok(Chunk::End);
        }
        // What was written between the last look and the change of files is still read.
        let rest = some(file)?;
        if !rest.is_empty() {
            return Ok(self.bytes(rest));
        }
        self.begin()?;
        Ok(Chunk::Again)
    }
}

/// The next bytes of a file; none at its end.
fn some(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; CHUNK];
    let len = file.read(&mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Whether another file is at this path now. A path where nothing is will have one again.
fn is_other(path: &Path, known: u64) -> io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(number(&found) != known),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The file's number in its file system.
#[cfg(unix)]
fn number(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// Where files have no number, only their beginning and length tell them apart.
#[cfg(not(unix))]
fn number(_: &std::fs::Metadata) -> u64 {
    0
}
