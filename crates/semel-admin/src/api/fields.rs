//! How fields are read from JSON and from queries. What they refuse, they refuse with the field's name.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use semel_core::record::UnknownCause;
use semel_core::store::{Actor, Nonce, Reason, Takeover};
use semel_core::{Fence, Fingerprint, LeaseTerm, duration};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Number;
use utoipa::ToSchema;

/// Anything that is written as text.
pub(crate) fn text<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(input)?
        .parse()
        .map_err(D::Error::custom)
}

/// The same, where it may be left out.
pub(crate) fn text_or_none<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = Option::<String>::deserialize(input)?;
    text.map(|text| text.parse().map_err(D::Error::custom))
        .transpose()
}

/// Many of them in an array.
pub(crate) fn texts<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let texts = Vec::<String>::deserialize(input)?;
    let parsed = texts.iter().map(|text| text.parse());
    parsed.collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// Many of them in one text, separated by commas.
pub(crate) fn list<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(input)?;
    let parsed = text.split(',').map(|part| part.trim().parse());
    parsed.collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// The largest number that the API takes: stores keep 63 bits.
pub(crate) const NUMBER_MAX: u64 = i64::MAX.unsigned_abs();

/// A fence.
pub(crate) fn fence<'de, D: Deserializer<'de>>(input: D) -> Result<Fence, D::Error> {
    whole(input).map(Fence::new)
}

/// A whole number. By JSON's own rules and by JSON Schema, `7.0` is one too.
pub(crate) fn whole<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    let number = Number::deserialize(input)?;
    // Beyond 2^53 a fraction cannot be told from a whole number.
    let exact =
        |number: &f64| number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(number);
    let of_float = || {
        format!("{:.0}", number.as_f64().filter(exact)?)
            .parse()
            .ok()
    };
    let found = number.as_u64().or_else(of_float);
    found.filter(|found| *found <= NUMBER_MAX).ok_or_else(|| {
        D::Error::custom(format!(
            "expected a whole number from 0 to {NUMBER_MAX}, found {number}"
        ))
    })
}

/// A status, where it may be left out. Which ones are taken is not decided here.
pub(crate) fn status_or_none<'de, D>(input: D) -> Result<Option<u16>, D::Error>
where
    D: Deserializer<'de>,
{
    let number = Option::<Whole>::deserialize(input)?;
    // A number that is too large for a status is out of every range of them.
    Ok(number.map(|Whole(number)| u16::try_from(number).unwrap_or(u16::MAX)))
}

/// A whole number that may stand in an option.
#[derive(serde::Deserialize)]
struct Whole(#[serde(deserialize_with = "whole")] u64);

/// A duration such as `30s`, where it may be left out.
pub(crate) fn duration_or_none<'de, D>(input: D) -> Result<Option<Duration>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<String>::deserialize(input)?;
    text.map(|text| duration::parse(&text).map_err(D::Error::custom))
        .transpose()
}

/// The term of a lease; 30 s if it is left out.
pub(crate) fn lease<'de, D: Deserializer<'de>>(input: D) -> Result<LeaseTerm, D::Error> {
    let term = duration_or_none(input)?.map(LeaseTerm::new).transpose();
    Ok(term.map_err(D::Error::custom)?.unwrap_or_default())
}

/// The most bytes of who decides: with the longest name of a token and a slash in front of it, it is still the name of an actor.
pub(crate) const BY_BYTES_MAX: usize =
    semel_core::identity::PART_BYTES_MAX - 1 - crate::tokens::NAME_BYTES_MAX;

/// Who decides, where it may be left out.
pub(crate) fn actor_or_none<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<Actor>, D::Error> {
    let name = Option::<String>::deserialize(input)?;
    let found = name.as_ref().map_or(0, String::len);
    if found > BY_BYTES_MAX {
        let message = format!("who decides has 1 to {BY_BYTES_MAX} bytes, found {found}");
        return Err(D::Error::custom(message));
    }
    name.map(|name| Actor::new(name).map_err(D::Error::custom))
        .transpose()
}

/// Why something is decided. Tabs and line ends become blanks: a line of the audit is one line.
pub(crate) fn reason<'de, D: Deserializer<'de>>(input: D) -> Result<Reason, D::Error> {
    let none = || D::Error::custom("a decision about many records needs a reason, found none");
    reason_or_none(input)?.ok_or_else(none)
}

/// The same, where it may be left out or blank.
pub(crate) fn reason_or_none<'de, D>(input: D) -> Result<Option<Reason>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<String>::deserialize(input)?.unwrap_or_default();
    let text = text.replace(['\n', '\t'], " ");
    let text = text.trim();
    let reason = (!text.is_empty()).then(|| Reason::new(text));
    reason.transpose().map_err(D::Error::custom)
}

/// A fingerprint that the caller made: 64 hexadecimal digits.
pub(crate) fn fingerprint_or_none<'de, D>(input: D) -> Result<Option<Fingerprint>, D::Error>
where
    D: Deserializer<'de>,
{
    let expected = || D::Error::custom("a fingerprint has 64 hexadecimal digits");
    let text = Option::<String>::deserialize(input)?;
    text.map(|text| bytes_of_hex(&text).map(Fingerprint::from_bytes))
        .map_or(Ok(None), |print| print.map(Some).ok_or_else(expected))
}

fn bytes_of_hex(text: &str) -> Option<[u8; 32]> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let mut bytes = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?;
    }
    Some(bytes)
}

/// Whether a claim may take over from one whose outcome is unknown.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Takeover)]
pub(crate) enum TakeoverInput {
    /// It may not: the claimer is told.
    #[default]
    Never,
    /// It may: the effect is idempotent.
    Allowed,
    /// It may take over from exactly this claim, which is known to have had no effect and never
    /// to have one.
    #[serde(deserialize_with = "whole")]
    Of(u64),
}

impl From<TakeoverInput> for Takeover {
    fn from(input: TakeoverInput) -> Self {
        match input {
            TakeoverInput::Never => Self::Never,
            TakeoverInput::Allowed => Self::Allowed,
            TakeoverInput::Of(fence) => Self::Of(Fence::new(fence)),
        }
    }
}

/// The longest name that a caller gives its claim.
pub(crate) const NONCE_CHARS_MAX: usize = 64;

/// The name that a caller gives its claim.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NonceInput(pub(crate) Nonce);

impl FromStr for NonceInput {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        match is_visible && (1..=NONCE_CHARS_MAX).contains(&text.len()) {
            true => Ok(Self(Nonce::of(text))),
            false => Err(format!(
                "a nonce has 1 to {NONCE_CHARS_MAX} visible ASCII characters"
            )),
        }
    }
}

/// Why the owner of a claim cannot tell its outcome. That a lease ended is not its to say.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = Cause)]
pub(crate) enum CauseInput {
    /// The run could not tell, for example because its call timed out.
    #[default]
    RunUndecided,
    /// The run panicked.
    RunPanicked,
}

impl From<CauseInput> for UnknownCause {
    fn from(input: CauseInput) -> Self {
        match input {
            CauseInput::RunUndecided => Self::RunUndecided,
            CauseInput::RunPanicked => Self::RunPanicked,
        }
    }
}
