//! The conformance suite of sources: what every broker's source is held to, as named tests.
//!
//! A broker's crate says how messages are published and how readers are made, and writes one line:
//!
//! ```text
//! semel_testkit::source_conformance!("NATS JetStream", fresh().await);
//! ```
//!
//! Each test gets a [`Subject`] with a topic, queue or stream of its own. What only some brokers can do is an [`Ability`]; what a broker lacks stands by
//! its name in the table of results.

mod away;
pub mod delivering;
pub mod engine;
mod reader;
pub mod settling;
pub mod sharing;
pub mod soak;
mod subject;
pub mod taking;

pub use reader::{MUCH, Reader};
pub use subject::{Ability, Broker, Doing, Published, Subject};

use crate::conformance::Test;

suite! { $ all source_conformance in sources:
    delivering::a_message_is_delivered_as_it_was_published,
    delivering::headers_repeat_and_are_bytes,
    delivering::a_header_without_a_value_is_not_an_empty_one,
    delivering::no_payload_is_not_an_empty_one,
    delivering::a_key_is_bytes,
    delivering::messages_of_one_key_come_in_their_order,
    delivering::a_batch_is_bounded_by_count,
    delivering::a_batch_is_bounded_by_bytes,
    delivering::who_wants_nothing_gets_nothing,
    delivering::a_cancelled_next_loses_nothing,
    delivering::coordinates_are_unique_and_a_topic_made_anew_has_others,
    settling::what_is_acknowledged_does_not_come_again,
    settling::what_is_not_acknowledged_comes_again_after_a_crash,
    settling::acknowledgements_out_of_order_never_pass_over_a_hole,
    settling::each_delivery_is_settled_by_itself,
    settling::an_extended_delivery_is_kept,
    settling::an_expired_delivery_comes_again_and_its_late_answer_changes_nothing,
    settling::what_is_given_back_comes_again,
    settling::a_reader_that_takes_its_time_keeps_what_it_has,
    sharing::two_readers_share_what_there_is,
    sharing::a_reader_that_leaves_hands_over_what_it_has_not_settled,
    sharing::what_waits_at_the_broker_is_counted,
    sharing::a_cut_connection_loses_nothing,
    sharing::a_broker_that_stands_still_loses_nothing,
    engine::duplicates_take_effect_once,
    engine::what_cannot_be_read_is_a_dead_letter_and_acknowledged,
    engine::nothing_is_acknowledged_while_the_store_is_away,
    engine::after_a_crash_before_the_effect_the_effect_happens_once,
    engine::a_crash_between_the_durable_step_and_the_acknowledgement_repeats_nothing,
}
