//! The directory: which names lead to which files, and which of the names are durable.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use semel_testkit::random::Random;

use crate::inode::Inode;

/// The number of a file.
pub(crate) type Number = usize;

/// The files under test, all in one directory.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, Number>,
    durable: BTreeMap<PathBuf, Number>,
    /// Names that were made, or removed (`None`), since the directory was synced.
    pending: Vec<(PathBuf, Option<Number>)>,
}

impl Disk {
    /// The file with this name, if it is known.
    pub(crate) fn find(&self, path: &Path) -> Option<Number> {
        self.names.get(path).copied()
    }

    /// A file that lay on the disk before anything began.
    pub(crate) fn found(&mut self, path: &Path, bytes: Vec<u8>) -> Number {
        let number = self.add(Inode::durable(bytes));
        self.names.insert(path.to_owned(), number);
        self.durable.insert(path.to_owned(), number);
        number
    }

    /// A new and empty file.
    pub(crate) fn create(&mut self, path: &Path) -> Number {
        let number = self.add(Inode::default());
        self.names.insert(path.to_owned(), number);
        self.pending.push((path.to_owned(), Some(number)));
        number
    }

    /// Removes a name, if there is one; what has the file open keeps it.
    pub(crate) fn unlink(&mut self, path: &Path) -> bool {
        let removed = self.names.remove(path).is_some();
        if removed {
            self.pending.push((path.to_owned(), None));
        }
        removed
    }

    pub(crate) fn inode(&mut self, number: Number) -> &mut Inode {
        &mut self.inodes[number]
    }

    /// Makes all names durable.
    pub(crate) fn sync_names(&mut self) {
        self.durable.clone_from(&self.names);
        self.pending.clear();
    }

    /// The files as a restart finds them.
    pub(crate) fn image(&self, random: &mut Random) -> BTreeMap<PathBuf, Vec<u8>> {
        let names = self.surviving_names(random).into_iter();
        names
            .map(|(path, number)| (path, self.inodes[number].image(random)))
            .collect()
    }

    /// Each name is as it was at some moment since the directory was synced.
    fn surviving_names(&self, random: &mut Random) -> BTreeMap<PathBuf, Number> {
        let mut names = self.durable.clone();
        let mut lost = BTreeSet::new();
        for (path, number) in &self.pending {
            if lost.contains(path) || random.chance(50) {
                lost.insert(path);
                continue;
            }
            match number {
                Some(number) => names.insert(path.clone(), *number),
                None => names.remove(path),
            };
        }
        names
    }

    fn add(&mut self, inode: Inode) -> Number {
        self.inodes.push(inode);
        self.inodes.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which names survive in each of many power losses.
    fn survivors(disk: &Disk) -> BTreeSet<Vec<PathBuf>> {
        let mut random = Random::new(7);
        let images = (0..200).map(|_| disk.image(&mut random).into_keys().collect());
        images.collect()
    }

    fn names(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_file_that_was_synced_is_lost_with_a_name_that_was_not() {
        let mut disk = Disk::default();
        let number = disk.create(Path::new("a"));
        disk.inode(number).write(0, b"x");
        disk.inode(number).sync();
        assert_eq!(survivors(&disk), [names(&[]), names(&["a"])].into());
        disk.sync_names();
        assert_eq!(survivors(&disk), [names(&["a"])].into());
    }

    #[test]
    fn a_name_that_was_removed_may_come_back_until_the_directory_is_synced() {
        let mut disk = Disk::default();
        disk.found(Path::new("a"), b"old".to_vec());
        disk.unlink(Path::new("a"));
        assert_eq!(disk.find(Path::new("a")), None);
        assert_eq!(survivors(&disk), [names(&[]), names(&["a"])].into());
        disk.sync_names();
        assert_eq!(survivors(&disk), [names(&[])].into());
    }

    #[test]
    fn a_name_leads_to_the_old_file_to_none_or_to_the_new_one() {
        let mut disk = Disk::default();
        disk.found(Path::new("a"), b"old".to_vec());
        disk.unlink(Path::new("a"));
        let number = disk.create(Path::new("a"));
        disk.inode(number).write(0, b"new");
        disk.inode(number).sync();
        let mut random = Random::new(7);
        let images = (0..200).map(|_| disk.image(&mut random).remove(Path::new("a")));
        let expected = [None, Some(b"old".to_vec()), Some(b"new".to_vec())];
        assert_eq!(images.collect::<BTreeSet<_>>(), expected.into());
    }
}
