//! Batches on a server that misbehaves by rule.

use std::collections::HashMap;
use std::sync::Mutex;

use super::*;
use crate::identity::Identity;

#[derive(Debug, Clone)]
struct Ask(Identity, usize);

impl Item for Ask {
    type Answer = usize;

    fn identity(&self) -> &Identity {
        &self.0
    }
}

/// How a server answers the item with a number in a round trip of so many items, the how-manieth time it sees it.
type Rule = fn(number: usize, company: usize, seen: usize) -> Result<usize, (Remedy, bool)>;

struct Fake {
    rule: Rule,
    seen: Mutex<HashMap<usize, usize>>,
    round_trips: Mutex<Vec<usize>>,
}

impl Attempt<Ask> for Fake {
    async fn attempt(&self, items: &[&Ask]) -> Batch<Result<usize, Failure>> {
        self.round_trips.lock().unwrap().push(items.len());
        let mut seen = self.seen.lock().unwrap();
        let results = items.iter().map(|Ask(_, number)| {
            let times = seen.entry(*number).or_default();
            *times += 1;
            (self.rule)(*number, items.len(), *times).map_err(|(remedy, lost)| Failure {
                error: Error::new(Kind::Unavailable, format!("{number}")),
                remedy,
                lost,
            })
        });
        results.collect()
    }
}

async fn ask(count: usize, rule: Rule) -> (Batch<Result<usize, Failure>>, Vec<usize>) {
    let item = |n| Ask(Identity::parse("t", "s@1", &format!("k{n}")).unwrap(), n);
    let items: Vec<Ask> = (0..count).map(item).collect();
    let fake = Fake {
        rule,
        seen: Mutex::default(),
        round_trips: Mutex::default(),
    };
    let answers = answered(&fake, &items, Duration::from_secs(5)).await;
    (answers, fake.round_trips.into_inner().unwrap())
}

fn failed(answers: &[Result<usize, Failure>]) -> Vec<(usize, bool)> {
    let failed = answers.iter().enumerate();
    failed
        .filter_map(|(n, answer)| Some((n, answer.as_ref().err()?.lost)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_batch_in_which_nothing_is_wrong_is_one_round_trip() {
    let (answers, round_trips) = ask(100, |n, _, _| Ok(n)).await;
    assert!(
        answers
            .iter()
            .enumerate()
            .all(|(n, a)| *a.as_ref().unwrap() == n)
    );
    assert_eq!(round_trips, [100]);
}

#[tokio::test(start_paused = true)]
async fn only_the_culprit_hears_of_a_bad_batch_and_few_round_trips_find_it() {
    // The server refuses every batch with the culprit in it, without saying which item it is.
    let (answers, round_trips) = ask(1_000, |n, company, _| {
        match company == 1_000 || (company > 1 && n / 31 == 20) || n == 625 {
            true => Err((Remedy::Apart, false)),
            false => Ok(n),
        }
    })
    .await;
    assert_eq!(failed(&answers), [(625, false)]);
    assert_eq!(round_trips.len(), 1 + 33 + 31, "{round_trips:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_answered_is_not_asked_again() {
    let (answers, round_trips) = ask(10, |n, _, seen| match (n, seen) {
        (0..3, 1) => Err((Remedy::Later, true)),
        (3, 1) => Err((Remedy::Again, false)),
        _ => Ok(n),
    })
    .await;
    assert_eq!(failed(&answers), []);
    assert_eq!(round_trips, [10, 4]);
}

#[tokio::test(start_paused = true)]
async fn each_remedy_is_tried_as_long_as_it_may_help() {
    let table: [(Rule, usize, bool); 7] = [
        (|_, _, _| Err((Remedy::Nothing, false)), 1, false),
        (|_, _, _| Err((Remedy::Apart, false)), 1, false),
        (|_, _, _| Err((Remedy::Elsewhere, false)), 2, false),
        (
            |_, _, _| Err((Remedy::Again, false)),
            COLLISIONS_MAX + 1,
            false,
        ),
        (|_, _, _| Err((Remedy::LaterIfLost, false)), 1, false),
        // Lost first, and then the server is not there: its caller must learn what became of it.
        (
            |n, _, seen| match seen {
                1 => Err((Remedy::Later, true)),
                2..6 => Err((Remedy::LaterIfLost, false)),
                _ => Ok(n),
            },
            6,
            false,
        ),
        (
            |_, _, seen| match seen {
                1 => Err((Remedy::Later, true)),
                _ => Err((Remedy::Nothing, false)),
            },
            2,
            true,
        ),
    ];
    for (row, (rule, expected, lost)) in table.into_iter().enumerate() {
        let (answers, round_trips) = ask(1, rule).await;
        assert_eq!(round_trips.len(), expected, "row {row}");
        assert_eq!(
            answers[0].as_ref().is_err_and(|failure| failure.lost),
            lost,
            "row {row}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn patience_is_for_the_whole_batch() {
    let began = Instant::now();
    let (answers, _) = ask(100, |_, _, _| Err((Remedy::Later, false))).await;
    assert_eq!(failed(&answers).len(), 100);
    let took = began.elapsed();
    assert!((5_000..5_300).contains(&took.as_millis()), "{took:?}");
}
