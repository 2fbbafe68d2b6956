//! Operations that are open under another version of a scope than the file says: a retry of one of them would run anew.

use std::collections::BTreeMap;

use semel_core::Scope;
use semel_core::store::{PAGE_MAX, Query, StateFilter, Store};
use semel_policy::File;

use crate::error::Result;
use crate::text;

/// The most pages of open records that are looked at, in each state.
const PAGES_MAX: usize = 10;

/// How many operations of a scope are open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Open {
    unknown: u64,
    running: u64,
}

/// What is worth saying about each scope that the file has in another version; `option` names the store for the next command.
pub(super) async fn check(file: &File, store: &dyn Store, option: &str) -> Result<Vec<String>> {
    let named = scopes(file);
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let mut open = BTreeMap::<Scope, Open>::new();
    for state in [StateFilter::Unknown, StateFilter::Running] {
        count(store, state, &mut open).await?;
    }
    let said = open.iter().filter_map(|(scope, open)| {
        let now = in_place_of(scope, &named)?;
        Some(warning(scope, *open, now, option))
    });
    Ok(said.collect())
}

/// The scopes of all routes and consumers.
fn scopes(file: &File) -> Vec<Scope> {
    let gateway = file.gateway.as_ref();
    let routes = gateway.and_then(|gateway| gateway.routes().ok());
    let routes = routes.into_iter().flatten().map(|route| route.rules.scope);
    let consumers = file.consumers().unwrap_or_default().into_iter();
    let consumers = consumers.map(|consumer| consumer.name().clone());
    routes.chain(consumers).collect()
}

/// The newest version of `scope` in the file, if the file does not have this one.
fn in_place_of<'a>(scope: &Scope, named: &'a [Scope]) -> Option<&'a Scope> {
    if named.contains(scope) {
        return None;
    }
    let same = named.iter().filter(|named| named.name() == scope.name());
    same.max_by_key(|named| named.version())
}

async fn count(
    store: &dyn Store,
    state: StateFilter,
    open: &mut BTreeMap<Scope, Open>,
) -> Result<()> {
    let mut before = None;
    for _ in 0..PAGES_MAX {
        let query = Query {
            state: Some(state),
            before,
            limit: PAGE_MAX,
            ..Query::default()
        };
        let page = store.list(query).await?;
        for record in &page.records {
            let scope = record.identity.scope().clone();
            let open = open.entry(scope).or_default();
            match state {
                StateFilter::Running => open.running += 1,
                _ => open.unknown += 1,
            }
        }
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    Ok(())
}

fn warning(scope: &Scope, open: Open, now: &Scope, option: &str) -> String {
    let states = [(open.unknown, "unknown"), (open.running, "running")];
    let states = states.into_iter().filter(|(number, _)| *number > 0);
    let states = states.map(|(number, state)| format!("{} {state}", text::count(number)));
    let states = states.collect::<Vec<_>>().join(" and ");
    let word = text::word(&scope.to_string());
    format!(
        "{states} under {scope}, and the file says {now}: a retry runs again under the new version, and its effect may repeat; \
         keep {scope} in the file until they are decided: semel keys list --state unknown --scope {word}{option}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_version_of_a_name_in_the_file_is_in_its_place() {
        let scope = |text: &str| text.parse::<Scope>().unwrap();
        let named = ["pay@2", "pay@3", "refund@1"].map(scope);
        let found = |text| in_place_of(&scope(text), &named).map(ToString::to_string);
        assert_eq!(found("pay@1").as_deref(), Some("pay@3"));
        assert_eq!(found("pay@4").as_deref(), Some("pay@3"));
        assert_eq!(found("pay@2"), None);
        assert_eq!(found("orders@1"), None);
    }
}
