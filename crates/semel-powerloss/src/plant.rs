//! What the layer knows and decides, without SQLite's types: the disk, the files that are open, and whether the power still holds.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use semel_testkit::random::Random;

use crate::disk::{Disk, Number};
use crate::fault::Fault;
use crate::moment::{Moment, Role};

/// When the power fails, and what is left then.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The directory of the files under test. What lies there when the layer is installed is durable.
    pub dir: PathBuf,
    /// What SQLite is doing.
    pub moment: Moment,
    /// How often it has done that by then, from 1.
    pub nth: u64,
    /// Decides what survives of that which was not synced.
    pub seed: u64,
    /// The directory that gets the files as a restart finds them; it must exist and be empty.
    pub image: PathBuf,
    /// What else is wrong.
    pub fault: Option<Fault>,
}

/// Called when the power has failed and the image is complete, with what SQLite was doing.
pub(crate) type OnLoss = Box<dyn FnOnce(Moment) + Send>;

/// An open file: which it is, and what for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) number: Number,
    pub(crate) role: Role,
}

/// The machine whose power fails.
pub(crate) struct Plant {
    plan: Plan,
    on_loss: Option<OnLoss>,
    disk: Disk,
    seen: u64,
}

impl fmt::Debug for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plant({:?}, {} seen)", self.plan, self.seen)
    }
}

impl Plant {
    /// A machine that has just been started.
    pub(crate) fn start(plan: Plan, on_loss: OnLoss) -> io::Result<Self> {
        let mut disk = Disk::default();
        for entry in fs::read_dir(&plan.dir)? {
            let path = entry?.path();
            if path.is_file() && !is_memory(&path) {
                disk.found(name_of(&path), fs::read(&path)?);
            }
        }
        Ok(Self {
            plan,
            on_loss: Some(on_loss),
            disk,
            seen: 0,
        })
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.plan.fault == Some(fault)
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.plan.fault
    }

    /// A file that was opened, and made if it was not there.
    pub(crate) fn open(&mut self, path: &Path, role: Role) -> Handle {
        let number = self.disk.find(name_of(path)).unwrap_or_else(|| {
            let number = self.disk.create(name_of(path));
            self.reach(Moment::Creation);
            number
        });
        Handle { number, role }
    }

    pub(crate) fn write(&mut self, handle: Handle, at: usize, bytes: &[u8]) {
        let inode = self.disk.inode(handle.number);
        let now = handle.role.write(at, inode.len());
        inode.write(at, bytes);
        self.reach(now);
    }

    pub(crate) fn truncate(&mut self, handle: Handle, to: usize) {
        let inode = self.disk.inode(handle.number);
        let now = handle.role.write(to, inode.len());
        inode.truncate(to);
        self.reach(now);
    }

    /// A sync begins.
    pub(crate) fn syncing(&mut self, handle: Handle) {
        self.reach(handle.role.sync());
    }

    /// A sync of a file is done.
    pub(crate) fn synced(&mut self, handle: Handle) {
        self.disk.inode(handle.number).sync();
    }

    /// The directory is synced.
    pub(crate) fn directory_synced(&mut self) {
        self.reach(Moment::DirectorySync);
        if !self.has(Fault::DirectorySyncsIgnored) {
            self.disk.sync_names();
        }
    }

    pub(crate) fn delete(&mut self, path: &Path) {
        if self.disk.unlink(name_of(path)) {
            self.reach(Moment::Deletion);
        }
    }

    /// The power fails here, if it was planned so. Then this never returns, and as the caller keeps the plant locked,
    /// neither does any other call of SQLite.
    fn reach(&mut self, now: Moment) {
        self.seen += u64::from(self.plan.moment.covers(now));
        if self.seen < self.plan.nth {
            return;
        }
        self.write_image().expect("the image can be written");
        if let Some(on_loss) = self.on_loss.take() {
            on_loss(now);
        }
        loop {
            std::thread::park();
        }
    }

    fn write_image(&self) -> io::Result<()> {
        let mut random = Random::new(self.plan.seed);
        for (name, bytes) in self.disk.image(&mut random) {
            fs::write(self.plan.image.join(name), bytes)?;
        }
        for entry in fs::read_dir(&self.plan.dir)? {
            let path = entry?.path();
            if is_memory(&path) && random.chance(50) {
                fs::copy(&path, self.plan.image.join(name_of(&path)))?;
            }
        }
        Ok(())
    }
}

/// All files under test are in one directory, so their names tell them apart.
fn name_of(path: &Path) -> &Path {
    Path::new(path.file_name().expect("files have names"))
}

/// Shared memory is a file that is never synced, and whose content means nothing after a restart.
fn is_memory(path: &Path) -> bool {
    path.to_string_lossy().ends_with("-shm")
}
