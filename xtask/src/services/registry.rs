//! The servers there are. A new one is a file of its own and a line here.

use crate::error::{Error, Result};

use super::postgres::Postgres;
use super::service::Service;

const ALL: &[&dyn Service] = &[&Postgres];

/// Every service, in the order in which they are started.
pub(super) fn all() -> Vec<&'static dyn Service> {
    ALL.to_vec()
}

/// The services with these names; no name means all of them.
pub(super) fn named(names: &[String]) -> Result<Vec<&'static dyn Service>> {
    if names.is_empty() {
        return Ok(all());
    }
    names.iter().map(|name| find(name)).collect()
}

fn find(name: &str) -> Result<&'static dyn Service> {
    let found = ALL.iter().copied().find(|service| service.name() == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|service| service.name()).collect();
        let known = known.join(", ");
        Error::Usage(format!(
            "unknown service `{name}`, expected one of: {known}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_all_and_an_unknown_name_lists_the_known_ones() {
        assert_eq!(named(&[]).unwrap().len(), ALL.len());
        assert_eq!(named(&["postgres".into()]).unwrap().len(), 1);
        let error = named(&["oracle".into()]).err();
        assert!(matches!(error, Some(Error::Usage(why)) if why.contains("postgres")));
    }
}
