//! When the power fails: just as SQLite does something to its files.

/// What SQLite is doing when the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Anything of what follows.
    Any,
    /// A file is made; its name is not durable yet.
    Creation,
    /// Frames are appended to the log.
    LogWrite,
    /// The log starts over from its beginning.
    LogRestart,
    /// The log is synced: a commit, or the begin of a checkpoint.
    LogSync,
    /// Pages are copied into the database: a checkpoint, or the first page of a new file.
    DatabaseWrite,
    /// The database is synced at the end of a checkpoint.
    DatabaseSync,
    /// The directory is synced, after the file that asked for it.
    DirectorySync,
    /// The rollback journal of a new file is written or synced.
    Journal,
    /// A log or a journal is deleted.
    Deletion,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Any,
        Self::Creation,
        Self::LogWrite,
        Self::LogRestart,
        Self::LogSync,
        Self::DatabaseWrite,
        Self::DatabaseSync,
        Self::DirectorySync,
        Self::Journal,
        Self::Deletion,
    ];

    /// The name on a worker's command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Creation => "creation",
            Self::LogWrite => "log-write",
            Self::LogRestart => "log-restart",
            Self::LogSync => "log-sync",
            Self::DatabaseWrite => "database-write",
            Self::DatabaseSync => "database-sync",
            Self::DirectorySync => "directory-sync",
            Self::Journal => "journal",
            Self::Deletion => "deletion",
        }
    }

    /// The moment with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|moment| moment.name() == name)
    }

    /// Whether what happens now is what was asked for.
    pub(crate) fn covers(self, now: Self) -> bool {
        self == Self::Any || self == now
    }
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Database,
    Log,
    Journal,
}

impl Role {
    /// What a write to a file of `len` bytes is.
    pub(crate) fn write(self, at: usize, len: usize) -> Moment {
        match self {
            Self::Database => Moment::DatabaseWrite,
            Self::Log if at == 0 && len > 0 => Moment::LogRestart,
            Self::Log => Moment::LogWrite,
            Self::Journal => Moment::Journal,
        }
    }

    /// What a sync is.
    pub(crate) fn sync(self) -> Moment {
        match self {
            Self::Database => Moment::DatabaseSync,
            Self::Log => Moment::LogSync,
            Self::Journal => Moment::Journal,
        }
    }
}
