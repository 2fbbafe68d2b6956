//! What scripts reply: per item the server's time, a word, and what goes with the word.

use bytes::Bytes;
use redis::Value;
use semel_core::{Result, Timestamp};

use crate::error::damaged;
use crate::records::number;

/// The reply about one item.
#[derive(Debug)]
pub(crate) struct Reply {
    /// When, by the server's clock.
    pub(crate) now: Timestamp,
    /// What the script says.
    pub(crate) word: String,
    rest: std::vec::IntoIter<Value>,
}

/// Splits the reply of a script into those about its items.
pub(crate) fn items(value: Value) -> Result<Vec<Reply>> {
    array(value)?.into_iter().map(Reply::of).collect()
}

impl Reply {
    fn of(value: Value) -> Result<Self> {
        let mut rest = array(value)?.into_iter();
        let Some(Value::Int(us)) = rest.next() else {
            return Err(unexpected());
        };
        let word = text(rest.next().ok_or_else(unexpected)?)?;
        Ok(Self {
            now: Timestamp::from_millis(us / 1_000),
            word,
            rest,
        })
    }

    /// The next value, if there is one.
    pub(crate) fn next(&mut self) -> Option<Value> {
        self.rest.next()
    }

    /// The next value as bytes; `None` if the server has none.
    pub(crate) fn bytes(&mut self) -> Result<Option<Bytes>> {
        bytes(self.rest.next().unwrap_or(Value::Nil))
    }

    /// The next value as a number.
    pub(crate) fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        number_of(self.rest.next().unwrap_or(Value::Nil))
    }
}

/// A value as bytes; `None` for nothing.
pub(crate) fn bytes(value: Value) -> Result<Option<Bytes>> {
    match value {
        Value::Nil => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes.into())),
        _ => Err(unexpected()),
    }
}

/// A value as a number, however it is written.
pub(crate) fn number_of<T: std::str::FromStr>(value: Value) -> Result<T> {
    match value {
        Value::Int(int) => number(int.to_string().as_bytes()),
        Value::BulkString(digits) => number(&digits),
        _ => Err(unexpected()),
    }
}

/// A value as a list.
pub(crate) fn array(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(values) => Ok(values),
        _ => Err(unexpected()),
    }
}

fn text(value: Value) -> Result<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).map_err(|_| unexpected()),
        Value::SimpleString(text) => Ok(text),
        _ => Err(unexpected()),
    }
}

/// A script of ours replied what it never replies.
pub(crate) fn unexpected() -> semel_core::Error {
    damaged("a script replied what was not expected")
}
