//! The headers of a message.

use std::ffi::CStr;
use std::{ptr, slice};

use rdkafka::bindings as native;
use rdkafka::message::BorrowedMessage;

/// A name, and a value that may be none at all.
pub type Header<'a> = (String, Option<&'a [u8]>);

/// All headers of a message, in their order. What is not UTF-8 in a name is replaced; the safe binding panics there.
#[expect(
    unsafe_code,
    reason = "the safe binding panics at a name that is not UTF-8"
)]
pub fn headers<'a>(message: &'a BorrowedMessage<'_>) -> Vec<Header<'a>> {
    let mut list = ptr::null_mut();
    // SAFETY: the pointer is that of a message which lives as long as the borrow; librdkafka sets `list` only if it succeeds.
    let error = unsafe { native::rd_kafka_message_headers(message.ptr(), &mut list) };
    if error != native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR || list.is_null() {
        return Vec::new();
    }
    // SAFETY: the list belongs to the message and lives as long.
    let count = unsafe { native::rd_kafka_header_cnt(list) };
    let mut found = Vec::with_capacity(count);
    for at in 0..count {
        let (mut name, mut value, mut size) = (ptr::null(), ptr::null(), 0);
        // SAFETY: as above; the three results are set if the call succeeds.
        let error =
            unsafe { native::rd_kafka_header_get_all(list, at, &mut name, &mut value, &mut size) };
        if error != native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR || name.is_null() {
            break;
        }
        // SAFETY: names are terminated by librdkafka, and copied here.
        let name = unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned();
        let value = match value.is_null() {
            true => None,
            // SAFETY: the value has `size` bytes that belong to the message, and so live as long as the borrow.
            false => Some(unsafe { slice::from_raw_parts(value.cast::<u8>(), size) }),
        };
        found.push((name, value));
    }
    found
}
