//! Tells whether a program is linked statically, by the headers of its ELF file.

use crate::error::{Error, Result};

/// The kind of program header that names an interpreter, the dynamic linker.
const INTERPRETER: u32 = 3;

/// Whether a 64-bit little-endian program runs without a dynamic linker.
pub(super) fn is_static(file: &[u8]) -> Result<bool> {
    let found = headers(file).map(|kinds| !kinds.contains(&INTERPRETER));
    found.ok_or_else(|| Error::failed("expected a 64-bit program for Linux"))
}

fn headers(file: &[u8]) -> Option<Vec<u32>> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let begin = usize::try_from(number::<8>(file, 0x20)?).ok()?;
    let size = usize::try_from(number::<2>(file, 0x36)?).ok()?;
    let count = usize::try_from(number::<2>(file, 0x38)?).ok()?;
    (0..count)
        .map(|at| {
            let kind = number::<4>(file, begin + at * size)?;
            u32::try_from(kind).ok()
        })
        .collect()
}

/// A little-endian number of `N` bytes.
fn number<const N: usize>(file: &[u8], at: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(N)?)?;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kinds: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 0x40];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[0x20] = 0x40;
        file[0x36] = 0x38;
        file[0x38] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            file.push(*kind);
            file.extend([0; 0x37]);
        }
        file
    }

    #[test]
    fn a_program_without_an_interpreter_is_static() {
        assert!(is_static(&program(&[1, 2, 7])).unwrap());
        assert!(!is_static(&program(&[1, 3])).unwrap());
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(is_static(b"#!/bin/sh\n").is_err());
        assert!(is_static(&program(&[1])[..0x50]).is_err() || program(&[1]).len() > 0x50);
        assert!(is_static(&program(&[1])[..0x38]).is_err());
    }
}
