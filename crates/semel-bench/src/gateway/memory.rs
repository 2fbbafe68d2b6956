//! How much memory a process has, as the kernel counts it.

use std::path::PathBuf;

use semel_core::{Error, Kind, Result};

use crate::machine::io;

const KIB_PER_MIB: f64 = 1024.0;

/// The memory of a process at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// What it has in memory now.
    pub resident_kib: u64,
    /// The most it ever had.
    pub peak_kib: u64,
}

impl Memory {
    /// Looks at a running process.
    pub(super) fn of(process: u32) -> Result<Self> {
        let path = PathBuf::from(format!("/proc/{process}/status"));
        let status = std::fs::read_to_string(path).map_err(io("looking at a process's memory"))?;
        Self::parse(&status).ok_or_else(|| {
            let message = "a running process must have VmRSS and VmHWM, found neither";
            Error::new(Kind::Unavailable, message)
        })
    }

    /// What it has now, in units that people remember.
    pub fn resident_mib(&self) -> f64 {
        self.resident_kib as f64 / KIB_PER_MIB
    }

    /// The most it ever had, in the same units.
    pub fn peak_mib(&self) -> f64 {
        self.peak_kib as f64 / KIB_PER_MIB
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix("kB")?.trim().parse().ok()
        };
        Some(Self {
            resident_kib: field("VmRSS:")?,
            peak_kib: field("VmHWM:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_lines_are_understood() {
        let status = "Name:\tsemel\nVmHWM:\t  40960 kB\nVmRSS:\t   2048 kB\nThreads:\t4\n";
        let memory = Memory::parse(status).unwrap();
        assert_eq!((memory.resident_kib, memory.peak_kib), (2048, 40960));
        assert_eq!(memory.resident_mib(), 2.0);
        assert_eq!(Memory::parse("Name:\tgone\nState:\tZ\n"), None);
    }

    #[test]
    fn this_process_has_some_and_never_more_than_its_peak() {
        let memory = Memory::of(std::process::id()).unwrap();
        assert!(0 < memory.resident_kib && memory.resident_kib <= memory.peak_kib);
    }
}
