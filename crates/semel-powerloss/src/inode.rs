//! One file: the bytes that are durable, and what was done to it since.

use std::ops::Range;

use semel_testkit::random::Random;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// A file, whatever its names are.
#[derive(Debug, Default)]
pub(crate) struct Inode {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

/// Something done to a file that no sync has covered yet.
#[derive(Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

impl Change {
    fn len_after(&self, len: usize) -> usize {
        match self {
            Self::Write { at, bytes } => len.max(at + bytes.len()),
            Self::Truncate(to) => *to,
        }
    }

    /// Does to the bytes of `range`, as far as the file has them, what this does to the whole file.
    fn apply(&self, file: &mut [u8], range: &Range<usize>) {
        let end = range.end.min(file.len());
        match self {
            Self::Write { at, bytes } => {
                let (from, to) = (range.start.max(*at), end.min(at + bytes.len()));
                if from < to {
                    file[from..to].copy_from_slice(&bytes[from - at..to - at]);
                }
            }
            // Where the file grows again later, it grows by zeros.
            Self::Truncate(to) if range.start.max(*to) < end => {
                file[range.start.max(*to)..end].fill(0);
            }
            Self::Truncate(_) => {}
        }
    }
}

impl Inode {
    /// A file with these bytes on the disk.
    pub(crate) fn durable(bytes: Vec<u8>) -> Self {
        Self {
            durable: bytes,
            pending: Vec::new(),
        }
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.pending.push(Change::Write { at, bytes });
    }

    pub(crate) fn truncate(&mut self, to: usize) {
        self.pending.push(Change::Truncate(to));
    }

    /// The length that a process sees.
    pub(crate) fn len(&self) -> usize {
        self.len_after(self.pending.len())
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) {
        self.durable = self.prefix(self.pending.len());
        self.pending.clear();
    }

    /// What is left of the file when the power fails.
    pub(crate) fn image(&self, random: &mut Random) -> Vec<u8> {
        match random.below(10) {
            0..3 => self.prefix(0),
            3..5 => self.prefix(self.any_count(random)),
            5 => self.prefix(self.pending.len()),
            _ => self.torn(random),
        }
    }

    /// The first `count` changes reached the disk, in order.
    fn prefix(&self, count: usize) -> Vec<u8> {
        let mut image = self.durable.clone();
        for change in &self.pending[..count] {
            image.resize(change.len_after(image.len()), 0);
            let all = 0..image.len();
            change.apply(&mut image, &all);
        }
        image
    }

    /// Each sector and the length stopped changing at a moment of its own.
    fn torn(&self, random: &mut Random) -> Vec<u8> {
        let len = self.len_after(self.any_count(random));
        let mut image = self.durable.clone();
        image.resize(len, 0);
        for start in (0..len).step_by(SECTOR) {
            let sector = start..start + SECTOR;
            for change in &self.pending[..self.any_count(random)] {
                change.apply(&mut image, &sector);
            }
        }
        image
    }

    fn any_count(&self, random: &mut Random) -> usize {
        let counts = self.pending.len() as u64 + 1;
        usize::try_from(random.below(counts)).expect("a count of changes in memory")
    }

    fn len_after(&self, count: usize) -> usize {
        let changes = self.pending[..count].iter();
        changes.fold(self.durable.len(), |len, change| change.len_after(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGES: u64 = 400;

    fn images(inode: &Inode) -> Vec<Vec<u8>> {
        let mut random = Random::new(7);
        (0..IMAGES).map(|_| inode.image(&mut random)).collect()
    }

    #[test]
    fn what_was_synced_survives_every_power_loss() {
        let mut inode = Inode::durable(vec![1; 1_000]);
        inode.write(500, &[2; 1_000]);
        inode.truncate(1_200);
        inode.sync();
        let mut expected = vec![1; 500];
        expected.resize(1_200, 2);
        assert!(images(&inode).iter().all(|image| *image == expected));
    }

    #[test]
    fn of_what_was_not_synced_anything_may_survive() {
        let mut inode = Inode::durable(vec![1; 1_024]);
        inode.write(0, &[2; 1_024]);
        inode.write(1_024, &[3; 600]);
        let images = images(&inode);
        let some = |expected: &dyn Fn(&[u8]) -> bool| images.iter().any(|image| expected(image));
        assert!(some(&|image| image == [1; 1_024]), "nothing");
        assert!(some(&|image| image.len() == 1_624
            && image[0] == 2
            && image[1_600] == 3));
        assert!(some(&|image| image[0] == 2 && image[512] == 1), "torn");
        assert!(some(&|image| image[0] == 1 && image[512] == 2), "reordered");
        assert!(
            some(&|image| image.len() == 1_624 && image[1_100] == 0),
            "the length survived and the bytes did not"
        );
    }

    #[test]
    fn bytes_that_were_cut_off_do_not_come_back() {
        let mut inode = Inode::durable(vec![1; 100]);
        inode.truncate(10);
        inode.write(90, &[2; 10]);
        assert_eq!(inode.len(), 100);
        inode.sync();
        let [image, ..] = &images(&inode)[..] else {
            panic!("expected images");
        };
        assert_eq!((image[9], image[50], image[95]), (1, 0, 2));
    }
}
