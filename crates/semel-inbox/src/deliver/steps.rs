//! Steps over HTTP: a dictionary of byte sequences (RFC 9651) in the order in which they were done.

use crate::policy::retry::Failure;
use bytes::Bytes;
use http::HeaderValue;
use semel_core::inbox::Step;
use sfv::{BareItem, Dictionary, FieldType, Item, KeyRef};

/// The most bytes of a step's result over HTTP: all results together travel in one header.
pub(super) const RESULT_BYTES_MAX: usize = 4 * 1024;

/// The value of `Semel-Steps`; nothing if no step is done.
pub(super) fn header(steps: &[Step]) -> Result<Option<HeaderValue>, Failure> {
    let mut all = Dictionary::new();
    for step in steps {
        let name = KeyRef::from_str(&step.name).map_err(|_| bad_name(&step.name))?;
        let result = BareItem::ByteSequence(step.result.to_vec());
        all.insert(name.to_owned(), Item::new(result).into());
    }
    let text = all.serialize();
    text.map(|text| HeaderValue::from_str(&text).map_err(Failure::terminal))
        .transpose()
}

/// The step that an answer says is done.
pub(super) fn step(name: &str, result: &Bytes) -> Result<Step, Failure> {
    KeyRef::from_str(name).map_err(|_| bad_name(name))?;
    if result.len() > RESULT_BYTES_MAX {
        return Err(Failure::terminal(format!(
            "over HTTP the result of a step has at most {RESULT_BYTES_MAX} bytes, found {} in {name:?}",
            result.len()
        )));
    }
    Step::new(name, result.clone()).map_err(Failure::terminal)
}

fn bad_name(name: &str) -> Failure {
    Failure::terminal(format!(
        "over HTTP the name of a step is a key of RFC 9651 (lower-case letters, digits, _-.*), found {name:?}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_a_dictionary_in_their_order() {
        let steps = [
            Step::new("charge", "{\"id\":7}").unwrap(),
            Step::new("a.mail", "").unwrap(),
        ];
        let value = header(&steps).unwrap().unwrap();
        assert_eq!(value, "charge=:eyJpZCI6N30=:, a.mail=::");
        assert_eq!(header(&[]).unwrap(), None);
    }

    #[test]
    fn names_and_results_have_limits() {
        assert!(step("Charge", &Bytes::new()).is_err());
        assert!(step("charge", &Bytes::from(vec![0; RESULT_BYTES_MAX])).is_ok());
        let error = step("charge", &Bytes::from(vec![0; RESULT_BYTES_MAX + 1])).unwrap_err();
        assert!(error.error.as_str().contains("4096"));
    }
}
