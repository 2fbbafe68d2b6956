//! Which late outcome a person means.

use semel_admin::records::late::{Late, candidates, refusal};
use semel_core::{Event, Fence, Outcome};

use super::standing::summary;
use crate::error::{Error, Result};

/// What helps where no late outcome does.
const SAY: &str = "say yourself what happened: --succeeded or --failed, with --status and --body";

/// The one late outcome that is meant; `asked` names the claim that brought it.
pub(crate) fn choose(asked: Option<Fence>, current: Fence, history: &[Event]) -> Result<&Outcome> {
    let mut found = candidates(current, history);
    found.retain(|(fence, _)| asked.is_none_or(|asked| asked == *fence));
    let Some((_, first)) = found.first() else {
        return Err(none(asked));
    };
    match found.iter().all(|(_, outcome)| outcome == first) {
        true => match refusal(first) {
            Some(why) => Err(Error::refused(why).hint(SAY)),
            None => Ok(first),
        },
        false => Err(several(&found)),
    }
}

fn none(asked: Option<Fence>) -> Error {
    let of = asked.map_or(String::new(), |fence| format!(" of fence {fence}"));
    Error::refused(format!(
        "the history has no late outcome{of} for this record"
    ))
    .hint(SAY)
}

fn several(found: &[Late<'_>]) -> Error {
    let line = |(fence, outcome): &Late<'_>| format!("--late={fence}  {}", summary(outcome));
    let lines: Vec<_> = found.iter().map(line).collect();
    let several = Error::refused("the history has late outcomes that differ");
    let (first, _) = found[0];
    match found.iter().all(|(fence, _)| *fence == first) {
        true => several.hint(
            "one owner brought them all; say yourself what happened: --succeeded or --failed",
        ),
        false => several.hint(format!("say which one is meant:\n{}", lines.join("\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::{EventKind, Timestamp};

    fn event(fence: u64, kind: EventKind) -> Event {
        let (at, fence) = (Timestamp::from_millis(0), Fence::new(fence));
        Event { at, fence, kind }
    }

    fn late(fence: u64, body: &'static str) -> Event {
        event(fence, EventKind::LateOutcome(Outcome::succeeded(body)))
    }

    fn took_over(fence: u64, from: u64) -> Event {
        let from = Fence::new(from);
        event(fence, EventKind::TookOver { from })
    }

    /// The body that is chosen, or the refusal.
    fn chosen(asked: Option<u64>, current: u64, history: &[Event]) -> String {
        match choose(asked.map(Fence::new), Fence::new(current), history) {
            Ok(outcome) => String::from_utf8(outcome.body.kept().unwrap().to_vec()).unwrap(),
            Err(error) => format!("{}; {}", error.message(), error.advice().unwrap()),
        }
    }

    #[test]
    fn one_that_stays_closed_is_not_adopted() {
        let headers = vec![(":sealed".to_owned(), "destroyed".into())];
        let outcome = Outcome {
            headers: semel_core::Headers::new(headers).unwrap(),
            ..Outcome::succeeded("")
        };
        let history = [event(7, EventKind::LateOutcome(outcome))];
        let refused = chosen(None, 7, &history);
        assert!(refused.contains("data key was destroyed"), "{refused}");
    }

    #[test]
    fn only_this_life_of_the_key_counts() {
        let history = [
            late(3, "old"),
            took_over(8, 7),
            late(7, "new"),
            late(7, "new"),
        ];
        assert_eq!(chosen(None, 8, &history), "new");
        assert!(
            chosen(Some(3), 8, &history).starts_with("the history has no late outcome of fence 3")
        );
        assert!(chosen(None, 9, &history).starts_with("the history has no late outcome for"));
    }

    #[test]
    fn of_several_that_differ_one_must_be_named() {
        let history = [late(7, "a"), took_over(8, 7), late(8, "b")];
        assert!(chosen(None, 8, &history).contains("--late=7"));
        assert_eq!(chosen(Some(7), 8, &history), "a");
        assert_eq!(chosen(Some(8), 8, &history), "b");
    }

    #[test]
    fn equal_outcomes_of_several_claims_are_one() {
        let history = [late(7, "a"), took_over(8, 7), late(8, "a")];
        assert_eq!(chosen(None, 8, &history), "a");
    }

    #[test]
    fn one_owner_that_contradicts_itself_is_not_believed() {
        let history = [late(7, "a"), late(7, "b")];
        assert!(chosen(Some(7), 7, &history).contains("say yourself"));
    }
}
