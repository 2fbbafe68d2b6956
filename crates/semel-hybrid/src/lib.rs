//! Claims in a fast store, outcomes in a durable one: [`Hybrid`] is a store made of two.
//!
//! The first, usually Redis, grants claims and renews leases while runs go on. The second, a SQL store,
//! keeps outcomes for as long as their retention says. On the happy path the SQL store sees one read
//! and one write; claims that wait, are renewed or are given back never reach it.
//!
//! Read it in this order: [`store`] has the type; `claim`, `settle` and `resolve` are the verbs that
//! touch both stores, `copy` is what the fast store is told of outcomes, and `view` makes one set of
//! records of two.
//!
//! # Who decides
//!
//! The fast store decides who may run; the durable one decides what came of it
//! ([`semel_core::store::outcomes`]). A claim is granted in the fast store *first* and checked in the durable one
//! *then*, so that no outcome slips between. A takeover raises a bar there before it runs: the old
//! owner's outcome comes either before the bar, and is found, or after it, and is late. Every answer of
//! the fast store is held against the durable one, whose word counts.
//!
//! # Where it can break
//!
//! | what dies, and where | what is left | what the next caller sees | why nothing happens twice | tests |
//! |---|---|---|---|---|
//! | the process, after the fast grant and before the check | running, then unknown, in the fast store | `Running`, then `Unknown`; or the outcome, if there is one | nothing ran; a takeover or a resolution goes on | `a_process_dead_between_grant_and_check_ran_nothing`, `a_process_dead_between_grant_and_check_hides_no_outcome` |
//! | the durable store, after the fast grant | the claim is given back | the error; then a new grant | the function was not called | `a_durable_store_away_at_the_grant_gives_the_claim_back`, `one_bad_moment_gives_back_every_claim_of_a_batch` |
//! | the durable store, after a takeover in the fast one | the claim is unknown again | the error; then `Unknown`, or another takeover | the function was not called, and what was taken over from is not forgotten | `a_takeover_whose_bar_fails_does_not_run` |
//! | both stores, after the fast grant | running, then unknown, in the fast store | an error, then `Unknown` | the function was not called; the policy or a person decides | `both_stores_away_at_the_grant_leave_an_unknown_that_never_ran` |
//! | the process, between a takeover's bar and its run | a bar, and running, then unknown | `Unknown`, or another takeover | the bar refuses the dead and nobody else | `a_process_dead_between_bar_and_run_can_be_taken_over_again` |
//! | the process, after the effect and before the settle | running, then unknown | `Unknown` | as with any store | `a_process_dead_before_the_settle_is_unknown` |
//! | the process, between renewal and keep | running, then unknown | `Unknown` | the outcome is nowhere, so nobody is told that it is | `a_process_dead_between_renewal_and_keep_is_unknown`, `a_process_dead_between_renewal_and_keep_holds_its_claim_for_its_lease_and_no_longer` |
//! | either store, before the keep | running | the owner: an error; it sends again while its lease lasts | nothing is on record yet | `a_store_away_at_the_settle_hears_it_when_it_is_sent_again` |
//! | the process or the fast store, between keep and copy | settled in the durable store, running or unknown in the fast one | `Settled`; the fast store is brought to agree | the durable store is asked whatever the fast one says | `an_outcome_kept_by_a_process_that_died_is_settled`, `an_outcome_kept_while_the_fast_store_went_away_is_settled`, `an_unknown_whose_outcome_is_kept_is_settled_also_to_a_takeover` |
//! | the durable store, after it kept and before it answered | the same | the owner: an error, and `Settled` when it sends again; others: `Settled` | a keep sent again is the same keep | `a_keep_whose_answer_was_lost_is_settled_when_sent_again` |
//! | the owner stalls between renewal and keep, and is taken over | a bar above its fence | the new owner runs, as its policy allows | the old keep is refused; what it brings is a late outcome | `an_owner_that_stalls_before_its_keep_and_is_taken_over_is_late` |
//! | the owner stalls there, and keeps just before the takeover's bar | settled | whoever takes over finds it: `Settled` | the bar answers with the outcome and nothing runs | `an_owner_that_keeps_before_the_bar_is_found_by_the_takeover` |
//! | the process or the fast store, after the keep of a resolution | settled; unknown in the fast store | `Settled` | the same as a settle that died there | `a_resolution_that_died_after_its_keep_is_settled`, `a_resolution_that_the_fast_store_missed_says_who_decided` |
//! | the process, after the bar of a release by decision | a bar, still unknown | `Unknown`; the decision can be sent again | the old owner can keep nothing from here on | `a_release_that_died_after_its_bar_can_be_sent_again`, `a_slow_owner_keeps_nothing_after_a_release_by_decision`, `a_release_of_what_was_kept_meanwhile_is_refused` |
//! | the process, between erasing the record and its copy | a copy without a record | a new grant | the durable store's word counts; the copy is removed | `an_erasure_that_died_before_the_copy_went_is_an_erasure` |
//! | the durable store, while duplicates come | the copies | the copy, for ten minutes at most; an error for everything else | nothing is granted | `a_copy_answers_while_the_durable_store_is_away` |
//! | **the fast store forgets**: restarted without its log, or a replica promoted too early | settled outcomes are all in the durable store | `Settled` for what is settled; **a new grant for what was running or unknown** | **it can run a second time: its claim is gone.** One outcome holds, the other is late. Give the fast store a log, and a replica that acknowledges | `a_fast_store_that_forgot_everything_replays_what_is_settled`, `a_claim_that_the_fast_store_forgot_can_run_again_and_one_outcome_holds` |
//! | the fast store forgets its fences too, and grants one that the durable store has seen | the claim is given back | an error that says so, until fences are past what is known | an outcome under such a fence could not be kept, so nothing runs | `a_fence_that_the_durable_store_knows_is_refused_before_anything_runs`, `a_fence_on_record_for_another_operation_is_refused_too` |
//! | a bar appears over a live claim, behind the fast store's back | the bar; unknown in the fast store | `Unknown` | what the owner brings is late | `an_outcome_that_can_no_longer_be_kept_is_late_and_unknown` |
//!
//! A durable store that forgets outcomes is beyond help: it is the store of record, and must be durable.
//! The tests are in `tests/windows`; `tests/crash.rs` kills whole processes instead of single steps.
//!
//! # Copies
//!
//! A settled operation leaves a copy in the fast store for half of its retention, at most ten minutes.
//! It spares duplicates the two writes of claiming and letting go, and it answers while the durable
//! store is away. Otherwise the durable store's record is the answer. A record that somebody erased in the
//! durable store behind the hybrid's back may be replayed from its copy while that store is away.

mod claim;
mod copy;
mod resolve;
mod settle;
pub mod store;
mod view;

pub use store::Hybrid;
