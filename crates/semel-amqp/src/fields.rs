//! AMQP's properties and typed headers as headers, and back.
//!
//! Properties come first, under the names of the AMQP specification (`content-type`, `correlation-id`, `type`, …), then the message's own
//! headers by name. Texts and byte arrays stay as they are; booleans are `true` and `false`; numbers are decimal; timestamps are seconds since
//! 1970; a header without a value is null; arrays and tables, such as `x-death`, are JSON, in which bytes that are no UTF-8 are replaced.

use std::collections::BTreeMap;

use bytes::Bytes;
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use semel_inbox::intents::Outgoing;
use semel_inbox::source::HeaderField;
use serde_json::Value;

/// The property and header of a message's id.
pub(crate) const MESSAGE_ID: &str = "message-id";
/// The header in which a quorum queue counts the deliveries before this one.
pub(crate) const DELIVERY_COUNT: &str = "x-delivery-count";
/// The headers with where a message was published to.
pub(crate) const EXCHANGE: &str = "amqp-exchange";
pub(crate) const ROUTING_KEY: &str = "amqp-routing-key";

/// What a broker says about a message's past, or what would change how the next one treats it; none of it is published again.
const NOT_PUBLISHED: [&str; 10] = [
    MESSAGE_ID,
    EXCHANGE,
    ROUTING_KEY,
    DELIVERY_COUNT,
    "cluster-id",
    "delivery-mode",
    "expiration",
    "priority",
    "user-id",
    "x-death",
];
/// The beginnings of such names.
const NOT_PUBLISHED_BEGINNINGS: [&str; 3] = ["x-first-death-", "x-last-death-", "x-acquired-"];

/// The headers of a delivery.
pub(crate) fn headers(properties: &BasicProperties) -> Vec<HeaderField> {
    let text = |text: &Option<ShortString>| text.as_ref().map(|text| text.as_str().to_owned());
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let known = [
        ("content-type", text(properties.content_type())),
        ("content-encoding", text(properties.content_encoding())),
        ("correlation-id", text(properties.correlation_id())),
        ("reply-to", text(properties.reply_to())),
        ("expiration", text(properties.expiration())),
        (MESSAGE_ID, text(properties.message_id())),
        ("timestamp", number(*properties.timestamp())),
        ("type", text(properties.kind())),
        ("user-id", text(properties.user_id())),
        ("app-id", text(properties.app_id())),
        ("cluster-id", text(properties.cluster_id())),
        ("priority", number(properties.priority().map(u64::from))),
        (
            "delivery-mode",
            number(properties.delivery_mode().map(u64::from)),
        ),
    ];
    let known = known
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), Some(Bytes::from(value?)))));
    let own = properties.headers().iter().flat_map(|table| table.inner());
    let own = own.map(|(name, value)| (name.as_str().to_owned(), plain(value)));
    known.chain(own).collect()
}

/// How often a quorum queue had delivered a message before.
pub(crate) fn delivered_before(properties: &BasicProperties) -> Option<u32> {
    let table = properties.headers().as_ref()?;
    let value = table.inner().get(DELIVERY_COUNT)?;
    std::str::from_utf8(&plain(value)?).ok()?.parse().ok()
}

/// A typed value as bytes; nothing if it has none.
fn plain(value: &AMQPValue) -> Option<Bytes> {
    Some(match value {
        AMQPValue::Void => return None,
        AMQPValue::LongString(text) => Bytes::copy_from_slice(text.as_bytes()),
        AMQPValue::ByteArray(bytes) => Bytes::copy_from_slice(bytes.as_slice()),
        AMQPValue::ShortString(text) => Bytes::copy_from_slice(text.as_str().as_bytes()),
        AMQPValue::Boolean(_)
        | AMQPValue::ShortShortInt(_)
        | AMQPValue::ShortShortUInt(_)
        | AMQPValue::ShortInt(_)
        | AMQPValue::ShortUInt(_)
        | AMQPValue::LongInt(_)
        | AMQPValue::LongUInt(_)
        | AMQPValue::LongLongInt(_)
        | AMQPValue::Timestamp(_)
        | AMQPValue::FieldArray(_)
        | AMQPValue::FieldTable(_) => Bytes::from(json(value).to_string()),
        AMQPValue::Float(number) => Bytes::from(number.to_string()),
        AMQPValue::Double(number) => Bytes::from(number.to_string()),
        AMQPValue::DecimalValue(number) => Bytes::from(decimal(number.value, number.scale)),
    })
}

/// A typed value as JSON.
fn json(value: &AMQPValue) -> Value {
    let text = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes).into_owned());
    match value {
        AMQPValue::Void => Value::Null,
        AMQPValue::Boolean(is) => Value::from(*is),
        AMQPValue::ShortShortInt(number) => Value::from(*number),
        AMQPValue::ShortShortUInt(number) => Value::from(*number),
        AMQPValue::ShortInt(number) => Value::from(*number),
        AMQPValue::ShortUInt(number) => Value::from(*number),
        AMQPValue::LongInt(number) => Value::from(*number),
        AMQPValue::LongUInt(number) => Value::from(*number),
        AMQPValue::LongLongInt(number) => Value::from(*number),
        AMQPValue::Timestamp(seconds) => Value::from(*seconds),
        AMQPValue::Float(number) => Value::from(*number),
        AMQPValue::Double(number) => Value::from(*number),
        AMQPValue::DecimalValue(number) => Value::from(decimal(number.value, number.scale)),
        AMQPValue::ShortString(string) => Value::from(string.as_str()),
        AMQPValue::LongString(string) => text(string.as_bytes()),
        AMQPValue::ByteArray(bytes) => text(bytes.as_slice()),
        AMQPValue::FieldArray(all) => all.as_slice().iter().map(json).collect(),
        AMQPValue::FieldTable(table) => {
            let fields = table.inner().iter();
            let fields = fields.map(|(name, value)| (name.as_str().to_owned(), json(value)));
            Value::Object(fields.collect())
        }
    }
}

/// A decimal number with so many digits behind the point.
fn decimal(value: u32, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{value:0>width$}", width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    match part {
        "" => whole.to_owned(),
        part => format!("{whole}.{part}"),
    }
}

/// The properties of a message that is published, or why it cannot be.
pub(crate) fn properties(message: &Outgoing) -> Result<BasicProperties, String> {
    let mut properties = BasicProperties::default().with_delivery_mode(2);
    let mut table: BTreeMap<ShortString, Vec<AMQPValue>> = BTreeMap::new();
    let long = |value: &[u8]| AMQPValue::LongString(LongString::from(value));
    match ShortString::try_new(message.id.as_str()) {
        Ok(id) => properties = properties.with_message_id(id),
        // A property has at most 255 bytes, a header may be longer.
        Err(_) => {
            table.insert(MESSAGE_ID.into(), vec![long(message.id.as_bytes())]);
        }
    }
    if let Some(kind) = message
        .kind
        .as_deref()
        .and_then(|kind| ShortString::try_new(kind).ok())
    {
        properties = properties.with_type(kind);
    }
    for (name, value) in &message.headers {
        if is_not_published(name) {
            continue;
        }
        let taken = value
            .as_ref()
            .and_then(|value| property(properties.clone(), name, value));
        if let Some(taken) = taken {
            properties = taken;
            continue;
        }
        let key = ShortString::try_new(name.as_str());
        let key = key.map_err(|_| {
            format!(
                "a header's name has at most 255 bytes, found {}",
                name.len()
            )
        })?;
        let value = value.as_ref().map_or(AMQPValue::Void, |value| long(value));
        table.entry(key).or_default().push(value);
    }
    let table = table
        .into_iter()
        .map(|(name, mut values)| match values.len() {
            1 => (name, values.remove(0)),
            _ => (name, AMQPValue::FieldArray(values.into())),
        });
    let table: BTreeMap<ShortString, AMQPValue> = table.collect();
    Ok(properties.with_headers(FieldTable::from(table)))
}

fn is_not_published(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    NOT_PUBLISHED.contains(&lower.as_str())
        || NOT_PUBLISHED_BEGINNINGS
            .iter()
            .any(|beginning| lower.starts_with(beginning))
}

/// The properties with one more, if it is one that AMQP knows and it fits.
fn property(properties: BasicProperties, name: &str, value: &[u8]) -> Option<BasicProperties> {
    let text = std::str::from_utf8(value).ok()?;
    let short = ShortString::try_new(text).ok()?;
    Some(match name.to_ascii_lowercase().as_str() {
        "content-type" if properties.content_type().is_none() => {
            properties.with_content_type(short)
        }
        "content-encoding" if properties.content_encoding().is_none() => {
            properties.with_content_encoding(short)
        }
        "correlation-id" if properties.correlation_id().is_none() => {
            properties.with_correlation_id(short)
        }
        "reply-to" if properties.reply_to().is_none() => properties.with_reply_to(short),
        "type" if properties.kind().is_none() => properties.with_type(short),
        "app-id" if properties.app_id().is_none() => properties.with_app_id(short),
        "timestamp" if properties.timestamp().is_none() => {
            properties.with_timestamp(text.parse().ok()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapin::types::{DecimalValue, FieldArray};

    fn table(values: &[(&str, AMQPValue)]) -> FieldTable {
        let values = values.iter();
        let values = values.map(|(name, value)| (ShortString::from(*name), value.clone()));
        FieldTable::from(values.collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn typed_values_have_one_spelling() {
        let inner = table(&[
            ("count", AMQPValue::LongLongInt(2)),
            ("queue", AMQPValue::LongString("q".into())),
        ]);
        for (value, expected) in [
            (AMQPValue::Boolean(true), Some(&b"true"[..])),
            (AMQPValue::ShortShortInt(-1), Some(b"-1")),
            (
                AMQPValue::LongLongInt(i64::MIN),
                Some(b"-9223372036854775808"),
            ),
            (AMQPValue::Double(1.5), Some(b"1.5")),
            (
                AMQPValue::DecimalValue(DecimalValue { scale: 2, value: 5 }),
                Some(b"0.05"),
            ),
            (
                AMQPValue::LongString(vec![0xff, 0].into()),
                Some(&[0xff, 0]),
            ),
            (AMQPValue::ByteArray(vec![0xff].into()), Some(&[0xff])),
            (AMQPValue::Timestamp(7), Some(b"7")),
            (AMQPValue::Void, None),
            (
                AMQPValue::FieldArray(FieldArray::from(vec![AMQPValue::FieldTable(inner)])),
                Some(br#"[{"count":2,"queue":"q"}]"#),
            ),
        ] {
            assert_eq!(plain(&value).as_deref(), expected, "{value:?}");
        }
    }

    #[test]
    fn what_is_published_says_what_it_said_and_gives_no_orders() {
        let some = |text: &'static str| Some(Bytes::from_static(text.as_bytes()));
        let message = Outgoing {
            id: "i-1".into(),
            key: None,
            kind: Some("created".into()),
            headers: vec![
                ("Content-Type".into(), some("text/plain")),
                ("expiration".into(), some("1")),
                ("x-death".into(), some("[]")),
                ("x-first-death-queue".into(), some("q")),
                ("a".into(), some("1")),
                ("a".into(), some("2")),
                ("null".into(), None),
            ],
            payload: None,
        };
        let properties = properties(&message).unwrap();
        assert_eq!(properties.message_id().as_ref().unwrap().as_str(), "i-1");
        assert_eq!(properties.kind().as_ref().unwrap().as_str(), "created");
        assert_eq!(properties.expiration(), &None);
        let found = headers(&properties);
        assert!(found.contains(&("content-type".into(), some("text/plain"))));
        assert!(found.contains(&("a".into(), some(r#"["1","2"]"#))));
        assert!(found.contains(&("null".into(), None)));
        assert!(
            !found.iter().any(|(name, _)| name.starts_with("x-")),
            "{found:?}"
        );
    }

    #[test]
    fn an_id_that_is_too_long_for_a_property_is_a_header() {
        let message = Outgoing {
            id: "i".repeat(300),
            key: None,
            kind: None,
            headers: Vec::new(),
            payload: None,
        };
        let properties = properties(&message).unwrap();
        assert_eq!(properties.message_id(), &None);
        let expected = Some(Bytes::from(message.id));
        assert!(headers(&properties).contains(&(MESSAGE_ID.into(), expected)));
    }
}
