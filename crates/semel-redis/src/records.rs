//! Records as bytes: a head of fixed width that scripts read and compare, then the identity and the
//! head of the outcome, then the body.
//!
//! One string per record, not a hash: a third of the memory, one command to write it with its
//! expiry, and lists read all but the body. The layout is known to `scripts/`, whose positions
//! count from 1. Scripts return the first 4 KiB: all of a small record, and of every one the head and the identity.
//!
//! ```text
//!   0 format '1'          1 state r|u|s         2 fence             18 lease_until|since|expires
//!  34 claimed at         50 settled at         66 attempt           76 nonce of the claim
//!  92 fingerprint       124 cause or flags    125 length of identity and outcome head
//! 135 what was asked, identity, outcome head or evidence, body
//! ```
//!
//! What was asked is `0`, a length and so many bytes, or nothing: the first byte of an identity is the length of a tenant, which is never 0.

use std::time::Duration;

use bytes::Bytes;
use semel_core::outcome::{BODY_BYTES_MAX, Settled};
use semel_core::record::UnknownCause;
use semel_core::store::ClaimRequest;
use semel_core::store::remote::Nonce;
use semel_core::{
    About, Body, Error, Evidence, Fence, Fingerprint, Headers, Identity, Key, Outcome, Record,
    Result, Scope, State, Tenant, Timestamp, Verdict,
};

use crate::error::damaged;
use crate::keys::Bucket;

/// The version of this layout.
pub(crate) const FORMAT: u8 = b'1';
/// The start of a record that tells whether it has changed: format, state, fence, and its time.
pub(crate) const STAMP_LEN: usize = 34;
const HEAD_LEN: usize = 135;
const FLAG_FAILED: u8 = 1;
const FLAG_ARCHIVE: u8 = 2;
/// The outcome was decided, not brought by its run.
const FLAG_RESOLVED: u8 = 4;
/// Where the head of an outcome says what there is of the body, and what is added there once contents are erased. Scripts of
/// older builds read flags as one digit, so that there is no room for another.
const BODY_KIND_AT: usize = 10;
const KIND_ERASED: u8 = 4;

/// A record as the server holds it.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    pub(crate) nonce: Nonce,
    /// The first [`STAMP_LEN`] bytes.
    pub(crate) stamp: Vec<u8>,
    /// How long the whole is, if only its start was read. Of a settled record the outcome is left out then.
    pub(crate) unread: Option<usize>,
}

/// What was read of a record.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// The start, of so many bytes.
    Start(usize),
    /// All but the body, of so many bytes.
    WithoutBody(usize),
}

/// What follows the nonce in the record of a new claim.
pub(crate) fn rest_of_claim(request: &ClaimRequest) -> Vec<u8> {
    let name = named(request.about.as_ref(), &request.identity);
    let mut rest = Vec::with_capacity(64 + name.len());
    rest.extend_from_slice(request.fingerprint.as_bytes());
    rest.push(b'-');
    rest.extend_from_slice(format!("{:010}", name.len()).as_bytes());
    rest.extend_from_slice(&name);
    rest
}

/// A fence as scripts compare it: its number within the bucket. One that this bucket cannot have drawn
/// is no number at all.
pub(crate) fn fence_text(fence: Fence, bucket: Bucket) -> String {
    match bucket.number_of(fence) {
        Some(number) => format!("{number:016}"),
        None => "not of this bucket".to_owned(),
    }
}

/// A whole record.
pub(crate) fn encode(record: &Record, nonce: Nonce, bucket: Bucket) -> Vec<u8> {
    let mut middle = named(record.about.as_ref(), &record.identity);
    let mut body: &[u8] = &[];
    let (state, time, settled_at, flag) = match &record.state {
        State::Running { lease_until } => (b'r', *lease_until, 0, b'-'),
        State::Unknown {
            since,
            cause,
            evidence,
        } => {
            let evidence = evidence.as_ref().map(Evidence::encode);
            middle.extend(evidence.unwrap_or_default().into_bytes());
            (b'u', *since, 0, cause_code(*cause))
        }
        State::Settled(settled) => {
            let mut head = outcome_head(&settled.outcome, settled.took);
            head[BODY_KIND_AT] |= if settled.erased { KIND_ERASED } else { 0 };
            middle.extend(head);
            body = body_bytes(&settled.outcome);
            let resolved = if settled.resolved { FLAG_RESOLVED } else { 0 };
            let flags = b'0' + (flags(&settled.outcome, settled.archive) | resolved);
            (b's', settled.expires_at, settled.at.as_millis(), flags)
        }
    };
    let mut out = Vec::with_capacity(HEAD_LEN + middle.len() + body.len());
    out.extend_from_slice(&[FORMAT, state]);
    // A grant's fence is not drawn yet; the script puts it in its place.
    let number = bucket.number_of(record.fence).unwrap_or(0);
    out.extend_from_slice(format!("{number:016}").as_bytes());
    let times = [time.as_millis(), record.claimed_at.as_millis(), settled_at];
    times
        .iter()
        .for_each(|ms| out.extend_from_slice(format!("{ms:016}").as_bytes()));
    out.extend_from_slice(format!("{:010}", record.attempt).as_bytes());
    out.extend_from_slice(&nonce.to_hex());
    out.extend_from_slice(record.fingerprint.as_bytes());
    out.push(flag);
    out.extend_from_slice(format!("{:010}", middle.len()).as_bytes());
    out.extend_from_slice(&middle);
    out.extend_from_slice(body);
    out
}

/// Reads the start of a record that has `len` bytes, which may be all of it; `expected` is the identity that was
/// asked for.
pub(crate) fn decode(
    bytes: Bytes,
    len: usize,
    expected: &Identity,
    bucket: Bucket,
) -> Result<Stored> {
    let part = if len > bytes.len() {
        Part::Start(len)
    } else {
        Part::Whole
    };
    let stored = decode_as(bytes, Some(expected), part, bucket)?;
    if stored.record.identity != *expected {
        // Sixteen equal bytes of two BLAKE3 digests: refuse rather than mix two operations up.
        return Err(damaged("two identities share one short digest"));
    }
    Ok(stored)
}

/// Reads a record whose identity only it knows.
pub(crate) fn decode_found(bytes: Bytes, bucket: Bucket) -> Result<Stored> {
    decode_as(bytes, None, Part::Whole, bucket)
}

/// Reads a record without its body, which `len` bytes in all would have.
pub(crate) fn decode_listed(bytes: Bytes, len: usize, bucket: Bucket) -> Result<Stored> {
    decode_as(bytes, None, Part::WithoutBody(len), bucket)
}

fn decode_as(
    bytes: Bytes,
    expected: Option<&Identity>,
    part: Part,
    bucket: Bucket,
) -> Result<Stored> {
    let cut = || damaged("a record ends in the middle");
    if bytes.len() < HEAD_LEN {
        return Err(cut());
    }
    if bytes[0] != FORMAT {
        return Err(damaged("a record has a format that is not known"));
    }
    let head = &bytes[..HEAD_LEN];
    let middle_end = HEAD_LEN + number::<usize>(&head[125..135])?;
    let middle_read = match part {
        Part::Start(_) => middle_end.min(bytes.len()),
        Part::Whole | Part::WithoutBody(_) => middle_end,
    };
    let mut middle = bytes.get(HEAD_LEN..middle_read).ok_or_else(cut)?;
    let about = take_about(&mut middle)?;
    let identity = take_identity(&mut middle, expected)?;
    let time = Timestamp::from_millis(number(&head[18..34])?);
    let state = match head[1] {
        b'r' => State::Running { lease_until: time },
        b'u' => State::Unknown {
            since: time,
            cause: cause_of(head[124])?,
            evidence: std::str::from_utf8(middle).ok().and_then(Evidence::decode),
        },
        b's' => {
            let flags = head[124].wrapping_sub(b'0');
            let left_out = |len: usize| len.saturating_sub(middle_end) as u64;
            let Taken {
                outcome,
                took,
                erased,
            } = match part {
                Part::Whole => take_outcome(middle, flags, Kept::Whole(bytes.slice(middle_end..)))?,
                Part::WithoutBody(len) => {
                    take_outcome(middle, flags, Kept::LeftOut(left_out(len)))?
                }
                // What was erased is too small for this.
                Part::Start(len) => Taken::unread(flags, left_out(len)),
            };
            State::Settled(Settled {
                outcome,
                at: Timestamp::from_millis(number(&head[50..66])?),
                took,
                expires_at: time,
                archive: flags & FLAG_ARCHIVE != 0,
                resolved: flags & FLAG_RESOLVED != 0,
                erased,
            })
        }
        _ => return Err(damaged("a record has a state that is not known")),
    };
    Ok(Stored {
        record: Record {
            identity,
            fingerprint: Fingerprint::from_bytes(array(&head[92..124])),
            fence: bucket.fence(number(&head[2..18])?),
            attempt: number(&head[66..76])?,
            claimed_at: Timestamp::from_millis(number(&head[34..50])?),
            about,
            nonce: None,
            state,
        },
        nonce: Nonce::from_hex(&head[76..92]).ok_or_else(|| damaged("a nonce was expected"))?,
        stamp: head[..STAMP_LEN].to_vec(),
        unread: match part {
            Part::Start(len) => Some(len),
            Part::Whole | Part::WithoutBody(_) => None,
        },
    })
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| bytes[i])
}

/// A decimal number of fixed width.
pub(crate) fn number<T: std::str::FromStr>(digits: &[u8]) -> Result<T> {
    let text = std::str::from_utf8(digits).ok();
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| damaged("a number was expected"))
}

const fn cause_code(cause: UnknownCause) -> u8 {
    match cause {
        UnknownCause::LeaseEnded => b'0',
        UnknownCause::RunUndecided => b'1',
        UnknownCause::RunPanicked => b'2',
    }
}

fn cause_of(code: u8) -> Result<UnknownCause> {
    let found = UnknownCause::ALL
        .into_iter()
        .find(|cause| cause_code(*cause) == code);
    found.ok_or_else(|| damaged("a cause is not known"))
}

/// What was asked, if that is known, and the identity.
fn named(about: Option<&About>, identity: &Identity) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(about) = about {
        // It has at most 255 bytes.
        out.extend([0, u8::try_from(about.as_str().len()).unwrap_or(u8::MAX)]);
        out.extend_from_slice(about.as_str().as_bytes());
    }
    out.extend(identity_bytes(identity));
    out
}

fn take_about(bytes: &mut &[u8]) -> Result<Option<About>> {
    let [0, len, rest @ ..] = *bytes else {
        return Ok(None);
    };
    let cut = || damaged("what was asked ends in the middle");
    let (text, rest) = rest.split_at_checked(usize::from(*len)).ok_or_else(cut)?;
    *bytes = rest;
    Ok(std::str::from_utf8(text).ok().and_then(About::new))
}

fn identity_bytes(identity: &Identity) -> Vec<u8> {
    let parts = [
        identity.tenant().as_str(),
        identity.scope().name(),
        identity.key().as_str(),
    ];
    let mut out = Vec::with_capacity(8 + parts.iter().map(|part| part.len()).sum::<usize>());
    for part in parts {
        // A part has at most 255 bytes.
        out.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(&identity.scope().version().to_le_bytes());
    out
}

/// When the text is that of `expected`, its digest need not be computed again.
fn take_identity(bytes: &mut &[u8], expected: Option<&Identity>) -> Result<Identity> {
    if let Some(expected) = expected
        && let Some(rest) = bytes.strip_prefix(identity_bytes(expected).as_slice())
    {
        *bytes = rest;
        return Ok(expected.clone());
    }
    let cut = || damaged("an identity ends in the middle");
    let mut part = || -> Result<&str> {
        let (len, rest) = bytes.split_first().ok_or_else(cut)?;
        let (text, rest) = rest.split_at_checked(usize::from(*len)).ok_or_else(cut)?;
        *bytes = rest;
        std::str::from_utf8(text).map_err(|e| damaged("an identity is not text").caused_by(e))
    };
    let (tenant, name, key) = (part()?, part()?, part()?);
    let (version, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let version = u32::from_le_bytes(*version);
    *bytes = rest;
    let identity = || {
        Ok(Identity::new(
            Tenant::new(tenant)?,
            Scope::new(name, version)?,
            Key::new(key)?,
        ))
    };
    identity().map_err(|e: Error| damaged("an identity breaks the rules").caused_by(e))
}

/// Whether it failed, and whether it is to be archived.
pub(crate) fn flags(outcome: &Outcome, archive: bool) -> u8 {
    let failed = match outcome.verdict {
        Verdict::Succeeded => 0,
        Verdict::Failed => FLAG_FAILED,
    };
    failed | if archive { FLAG_ARCHIVE } else { 0 }
}

/// The body that goes on record, as far as it does.
pub(crate) fn body_bytes(outcome: &Outcome) -> &[u8] {
    match &outcome.body {
        Body::Kept(bytes) if bytes.len() <= BODY_BYTES_MAX => bytes,
        Body::Kept(_) | Body::Omitted { .. } => &[],
    }
}

/// Everything about an outcome but its verdict and its body.
pub(crate) fn outcome_head(outcome: &Outcome, took: Duration) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    out.extend_from_slice(&took_ms.to_le_bytes());
    out.extend_from_slice(&outcome.status.to_le_bytes());
    let omitted = match &outcome.body {
        Body::Kept(bytes) if bytes.len() <= BODY_BYTES_MAX => None,
        // Larger than any store keeps: what is left of it is all that can be on record.
        Body::Kept(bytes) => Some((bytes.len() as u64, outcome.body.digest())),
        Body::Omitted { len, digest } => Some((*len, *digest)),
    };
    match omitted {
        None => out.push(0),
        Some((len, digest)) => {
            out.push(if digest.is_some() { 2 } else { 1 });
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(digest.as_ref().map_or(&[], |digest| digest.as_slice()));
        }
    }
    out.extend_from_slice(&outcome.headers.encode());
    out
}

const fn verdict_of(flags: u8) -> Verdict {
    if flags & FLAG_FAILED == 0 {
        Verdict::Succeeded
    } else {
        Verdict::Failed
    }
}

/// What the head of an outcome says.
pub(crate) struct Taken {
    pub(crate) outcome: Outcome,
    took: Duration,
    /// Whether its contents were erased.
    erased: bool,
}

impl Taken {
    /// Stands for an outcome of which only the verdict was read.
    fn unread(flags: u8, len: u64) -> Self {
        Self {
            outcome: Outcome {
                verdict: verdict_of(flags),
                status: 0,
                headers: Headers::default(),
                body: Body::Omitted { len, digest: None },
            },
            took: Duration::ZERO,
            erased: false,
        }
    }
}

/// What there is of a body.
pub(crate) enum Kept {
    /// All of it.
    Whole(Bytes),
    /// Only its length.
    LeftOut(u64),
}

/// The inverse of [`outcome_head`], with the body that goes with it.
pub(crate) fn take_outcome(mut head: &[u8], flags: u8, body: Kept) -> Result<Taken> {
    let cut = || damaged("an outcome ends in the middle");
    let mut take = |len: usize| -> Result<&[u8]> {
        let (part, rest) = head.split_at_checked(len).ok_or_else(cut)?;
        head = rest;
        Ok(part)
    };
    let took = Duration::from_millis(u64::from_le_bytes(array(take(8)?)));
    let status = u16::from_le_bytes(array(take(2)?));
    let kind = take(1)?[0];
    let erased = kind & KIND_ERASED != 0;
    let body = match (kind & !KIND_ERASED, body) {
        (0, Kept::Whole(bytes)) => Body::Kept(bytes),
        (0, Kept::LeftOut(len)) => Body::Omitted { len, digest: None },
        (kind @ (1 | 2), body) => {
            let len = u64::from_le_bytes(array(take(8)?));
            let digest = if kind == 2 {
                Some(array(take(32)?))
            } else {
                None
            };
            Body::Omitted {
                len,
                digest: digest.filter(|_| matches!(body, Kept::Whole(_))),
            }
        }
        _ => return Err(damaged("a body is of a kind that is not known")),
    };
    let outcome = Outcome {
        verdict: verdict_of(flags),
        status,
        headers: Headers::decode(head)?,
        body,
    };
    Ok(Taken {
        outcome,
        took,
        erased,
    })
}
