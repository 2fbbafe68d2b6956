//! The state without a broker.

use super::*;

const MUCH: Want = Want {
    count: 500,
    bytes: 1_000_000,
};

/// A topic of which partitions 0 and 1 are ours, and three messages of each were read.
fn state() -> State {
    let mut state = State::new(&["t".to_owned()], From::Earliest);
    state.is_running = true;
    state.topics[0].id = "ID".to_owned();
    state.assign(&[(0, 0), (0, 1)]);
    for offset in 0..3 {
        for number in 0..2 {
            state.push((0, number), offset, Raw::default());
        }
    }
    state
}

fn take(state: &mut State, want: Want) -> Vec<Delivery> {
    match state.take(want, Instant::now()) {
        Some(Ok(Event::Batch(batch))) => batch.deliveries,
        None => Vec::new(),
        other => panic!("deliveries expected, found {other:?}"),
    }
}

fn gone(state: &mut State) -> Gone {
    match state.take(Want::NOTHING, Instant::now()) {
        Some(Ok(Event::Gone(gone))) => gone,
        other => panic!("a loss expected, found {other:?}"),
    }
}

fn settle(state: &mut State, delivery: &Delivery, how: Settle) -> Settled {
    state.settle(&delivery.handle, how, Instant::now())
}

#[test]
fn a_partition_that_leaves_is_committed_as_far_as_it_was_answered_meanwhile() {
    let mut state = state();
    let taken = take(&mut state, Want { count: 4, ..MUCH });
    let waiting = state.start_leaving(&[(0, 1)]);
    assert!(waiting.is_some(), "two of its deliveries are open");
    let lost = gone(&mut state);
    assert_eq!(lost.partitions, [Partition::new("t/1")]);
    assert!(lost.flushed.is_some());
    assert_eq!(settle(&mut state, &taken[1], Settle::Ack), Settled::Done);
    assert_eq!(
        take(&mut state, MUCH).len(),
        1,
        "only of the other partition"
    );
    assert_eq!(state.leave(&[(0, 1)]), [((0, 1), 1)]);
    assert_eq!(settle(&mut state, &taken[3], Settle::Ack), Settled::Gone);
    assert_eq!(settle(&mut state, &taken[2], Settle::Ack), Settled::Done);
}

#[test]
fn a_partition_that_comes_back_knows_no_handle_of_before() {
    let mut state = state();
    let before = take(&mut state, Want { count: 1, ..MUCH });
    state.lose(&[(0, 0)]);
    assert!(gone(&mut state).flushed.is_none(), "nothing is waited for");
    state.assign(&[(0, 0)]);
    state.push((0, 0), 0, Raw::default());
    let again = take(&mut state, MUCH);
    assert_eq!(again.len(), 4);
    assert_eq!(settle(&mut state, &before[0], Settle::Ack), Settled::Gone);
    let own = again
        .iter()
        .find(|d| d.partition.as_str() == "t/0")
        .unwrap();
    assert_eq!(own.raw.coordinates.as_deref(), Some("ID/0/0"));
    assert_eq!(settle(&mut state, own, Settle::Ack), Settled::Done);
}

#[test]
fn nothing_to_wait_for_is_not_waited_for() {
    let mut state = state();
    assert!(state.start_leaving(&[(0, 0)]).is_none());
    assert!(gone(&mut state).flushed.is_some());
    assert_eq!(state.leave(&[(0, 0)]), []);
    state.push((0, 0), 9, Raw::default());
    assert_eq!(
        take(&mut state, MUCH).len(),
        3,
        "nothing of a partition that is not ours"
    );
}

#[test]
fn what_is_given_back_comes_first_and_in_its_order() {
    let mut state = state();
    let taken = take(&mut state, Want { count: 4, ..MUCH });
    for delivery in [&taken[2], &taken[0]] {
        let settled = settle(&mut state, delivery, Settle::Back(Duration::ZERO));
        assert_eq!(settled, Settled::Done);
    }
    assert!(state.due().is_some());
    let again = take(&mut state, MUCH);
    let offsets: Vec<_> = again
        .iter()
        .map(|d| d.raw.coordinates.clone().unwrap())
        .collect();
    assert_eq!(offsets, ["ID/0/0", "ID/0/1", "ID/0/2", "ID/1/2"]);
}

#[test]
fn the_buffer_is_bounded_by_count_and_bytes() {
    let mut state = state();
    assert!(!state.is_full() && state.is_half_empty());
    let large = Raw {
        payload: Some(vec![0; BYTES_MAX].into()),
        ..Raw::default()
    };
    state.push((0, 0), 3, large);
    assert!(state.is_full());
    assert_eq!(
        take(&mut state, MUCH).len(),
        6,
        "the large one does not fit"
    );
    assert_eq!(take(&mut state, Want { count: 9, bytes: 1 }).len(), 1);
    for offset in 4..4 + i64::try_from(OPEN_MAX).unwrap() {
        assert!(!state.is_full());
        state.push((0, 0), offset, Raw::default());
    }
    assert!(state.is_full());
}

#[test]
fn publications_go_with_an_offset_of_their_partition_and_are_lost_with_it() {
    let mut state = state();
    let taken = take(&mut state, MUCH);
    let publication = |topic: &str| Publication {
        topic: topic.into(),
        partition: None,
        key: None,
        headers: Vec::new(),
        payload: None,
    };
    // The second of partition 0 is done, its first is not: the offset stays, and is committed all the same.
    let second = taken
        .iter()
        .filter(|d| d.partition == Partition::new("t/0"));
    let second = second.clone().nth(1).unwrap();
    let done = state.publish_and_ack(&second.handle, vec![publication("a")]);
    assert_eq!(done, Settled::Done);
    let (queued, positions) = state.take_publications(&[]);
    assert_eq!((queued.len(), positions), (1, vec![((0, 0), 0)]));
    state.put_back(queued);
    state.publish((0, 1), vec![publication("b")]);
    state.lose(&[(0, 1)]);
    let (queued, _) = state.take_publications(&[]);
    let topics: Vec<&str> = queued.iter().map(|one| &*one.publication.topic).collect();
    assert_eq!(topics, ["a"]);
    state.put_back(queued);
    assert_eq!(
        state.leave(&[(0, 0)]),
        [((0, 0), 0)],
        "it goes with the last commit"
    );
    let (queued, _) = state.take_publications(&[((0, 0), 0)]);
    assert_eq!(queued.len(), 1);
    state.put_back(queued);
    let (queued, _) = state.take_publications(&[]);
    assert!(queued.is_empty(), "the partition is another member's");
}

#[test]
fn nothing_is_handed_out_while_transactions_fail() {
    let mut state = state();
    state.blocked = Some("why".to_owned());
    assert!(take(&mut state, MUCH).is_empty());
    state.blocked = None;
    assert_eq!(take(&mut state, MUCH).len(), 6);
}

#[test]
fn a_thread_that_panicked_is_replaced_once_all_was_said() {
    let mut state = state();
    assert!(!state.is_to_open());
    let all = state.all();
    state.lose(&all);
    (state.is_running, state.is_crashed) = (false, true);
    state.failure = Some(Error::invalid("it has panicked"));
    assert!(!state.is_to_open());
    gone(&mut state);
    assert!(
        state
            .take(MUCH, Instant::now())
            .is_some_and(|said| said.is_err())
    );
    assert!(state.is_to_open());
    state.is_stopping = true;
    assert!(!state.is_to_open(), "a source that was closed stays so");
}
