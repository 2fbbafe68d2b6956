//! What else is wrong with the machine: faults that a durable store must notice, or that the test of one must find.

/// A fault that the layer adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every sync is reported as done and makes nothing durable.
    SyncsIgnored,
    /// The same for syncs of the directory only.
    DirectorySyncsIgnored,
    /// Connections run with `synchronous=NORMAL`, and answer FULL when they are asked.
    NormalHidden,
    /// Connections run with `synchronous=OFF`, and answer FULL when they are asked.
    OffHidden,
    /// Connections run with `synchronous=NORMAL` whatever they are set to.
    Normal,
    /// SQLite says that it was built to call no `fsync`.
    BuiltWithoutSync,
    /// SQLite says that it was built to sync no directory.
    BuiltWithoutDirectorySync,
    /// The file system has no shared memory, like one over a network: there can be no log.
    NoSharedMemory,
    /// The database can be read and not written.
    ReadOnly,
}

/// What a pragma answers instead of doing what it says.
pub(crate) type Answer = Option<&'static str>;

impl Fault {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SyncsIgnored,
        Self::DirectorySyncsIgnored,
        Self::NormalHidden,
        Self::OffHidden,
        Self::Normal,
        Self::BuiltWithoutSync,
        Self::BuiltWithoutDirectorySync,
        Self::NoSharedMemory,
        Self::ReadOnly,
    ];

    /// The name on a worker's command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SyncsIgnored => "syncs-ignored",
            Self::DirectorySyncsIgnored => "directory-syncs-ignored",
            Self::NormalHidden => "synchronous-normal-hidden",
            Self::OffHidden => "synchronous-off-hidden",
            Self::Normal => "synchronous-normal",
            Self::BuiltWithoutSync => "built-without-sync",
            Self::BuiltWithoutDirectorySync => "built-without-directory-sync",
            Self::NoSharedMemory => "no-shared-memory",
            Self::ReadOnly => "read-only",
        }
    }

    /// The fault with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// The statement that a new connection begins with.
    pub(crate) fn first_statement(self) -> Option<&'static std::ffi::CStr> {
        match self {
            Self::NormalHidden | Self::Normal => Some(c"PRAGMA synchronous = normal"),
            Self::OffHidden => Some(c"PRAGMA synchronous = off"),
            _ => None,
        }
    }

    /// Whether a pragma is answered here instead of by SQLite.
    pub(crate) fn pragma(self, name: &str, value: Option<&str>) -> Option<Answer> {
        let hidden = matches!(self, Self::NormalHidden | Self::OffHidden);
        match (name, value) {
            ("synchronous", Some("full")) if hidden || self == Self::Normal => Some(None),
            ("synchronous", None) if hidden => Some(Some("2")),
            ("compile_options", None) if self == Self::BuiltWithoutSync => Some(Some("NO_SYNC")),
            ("compile_options", None) if self == Self::BuiltWithoutDirectorySync => {
                Some(Some("DISABLE_DIRSYNC"))
            }
            _ => None,
        }
    }
}
