//! The ids of topics.

use std::ffi::{CStr, CString};
use std::time::Duration;
use std::{ptr, slice};

use rdkafka::bindings as native;
use rdkafka::client::{Client, ClientContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaErrorCode;

/// What the broker says about a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Its id, as Kafka's own tools write it: another one each time a topic of this name is made.
    pub id: String,
    /// How many partitions it has.
    pub partitions: usize,
}

/// Asks the broker about topics and waits for the answer: each by its name. Topics are not created by it.
///
/// A topic that is not there is [`RDKafkaErrorCode::UnknownTopicOrPartition`].
#[expect(
    unsafe_code,
    reason = "the safe binding does not know the ids of topics"
)]
pub fn describe<C: ClientContext>(
    client: &Client<C>,
    names: &[&str],
    timeout: Duration,
) -> KafkaResult<Vec<(String, KafkaResult<Described>)>> {
    let names = names.iter().map(|name| CString::new(*name));
    let names: Vec<CString> = names.collect::<Result<_, _>>()?;
    let mut pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
    let wait_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    let rk = client.native_ptr();
    // SAFETY: the client lives during the call, and so does everything that is made here: options, topics and queue are destroyed below, the event
    // after its contents were copied. The names are copied by librdkafka. The queue is ours alone, so the only event that it gets is the answer.
    unsafe {
        let op = native::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options = native::rd_kafka_AdminOptions_new(rk, op);
        native::rd_kafka_AdminOptions_set_request_timeout(options, wait_ms, ptr::null_mut(), 0);
        let topics =
            native::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
        let queue = native::rd_kafka_queue_new(rk);
        native::rd_kafka_DescribeTopics(rk, topics, options, queue);
        // librdkafka keeps the request's own time; the second is for its answer to come through the queue.
        let event = native::rd_kafka_queue_poll(queue, wait_ms.saturating_add(1_000));
        let described = match event.is_null() {
            true => Err(KafkaError::AdminOp(RDKafkaErrorCode::OperationTimedOut)),
            false => answer(event),
        };
        if !event.is_null() {
            native::rd_kafka_event_destroy(event);
        }
        native::rd_kafka_queue_destroy(queue);
        native::rd_kafka_TopicCollection_destroy(topics);
        native::rd_kafka_AdminOptions_destroy(options);
        described
    }
}

/// Copies what an event says.
///
/// # Safety
/// The event is one that librdkafka gave, and lives during the call.
#[expect(unsafe_code, reason = "reads what librdkafka answered")]
unsafe fn answer(
    event: *mut native::rd_kafka_event_t,
) -> KafkaResult<Vec<(String, KafkaResult<Described>)>> {
    let none = native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
    // SAFETY: the caller's promise; the results belong to the event.
    unsafe {
        let error = native::rd_kafka_event_error(event);
        if error != none {
            return Err(KafkaError::AdminOp(error.into()));
        }
        let result = native::rd_kafka_event_DescribeTopics_result(event);
        if result.is_null() {
            return Err(KafkaError::AdminOp(RDKafkaErrorCode::Fail));
        }
        let mut count = 0;
        let topics = native::rd_kafka_DescribeTopics_result_topics(result, &mut count);
        if topics.is_null() {
            return Ok(Vec::new());
        }
        let topics = slice::from_raw_parts(topics, count).iter();
        Ok(topics.map(|topic| one(*topic)).collect())
    }
}

/// Copies what is said about one topic.
///
/// # Safety
/// The description is one that librdkafka gave, and lives during the call.
#[expect(unsafe_code, reason = "reads what librdkafka answered")]
unsafe fn one(
    topic: *const native::rd_kafka_TopicDescription_t,
) -> (String, KafkaResult<Described>) {
    let none = native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
    // SAFETY: the caller's promise; texts are terminated and belong to the description.
    unsafe {
        let text = |text: *const std::ffi::c_char| match text.is_null() {
            true => String::new(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        };
        let name = text(native::rd_kafka_TopicDescription_name(topic));
        let error = native::rd_kafka_TopicDescription_error(topic);
        let error = native::rd_kafka_error_code(error);
        if error != none {
            return (name, Err(KafkaError::AdminOp(error.into())));
        }
        let mut partitions = 0;
        native::rd_kafka_TopicDescription_partitions(topic, &mut partitions);
        let id = native::rd_kafka_TopicDescription_topic_id(topic);
        let id = text(native::rd_kafka_Uuid_base64str(id));
        (name, Ok(Described { id, partitions }))
    }
}
