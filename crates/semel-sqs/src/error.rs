//! The SDK's errors, as kinds that a caller can act on.

use std::error::Error as StdError;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use semel_core::{Error, Kind};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing was sent, or the service did nothing because of the moment or of its settings.
    NotDone,
    /// The service found fault with what was sent.
    Refused,
    /// The service may have done it.
    Unknown,
}

/// A call that failed: what it means, and for whom.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) end: End,
    pub(crate) error: Error,
}

/// Codes that are about the message that was sent.
const FAULTS: [&str; 7] = [
    "InvalidMessageContents",
    "InvalidParameterValue",
    "InvalidAttributeValue",
    "MissingParameter",
    "BatchRequestTooLong",
    "InvalidBatchEntryId",
    "ValidationError",
];
/// Codes that pass by themselves.
const PASSING: [&str; 9] = [
    "Throttl",
    "OverLimit",
    "ServiceUnavailable",
    "InternalError",
    "InternalFailure",
    "RequestExpired",
    "ExpiredToken",
    "TooManyRequests",
    "RequestTimeout",
];

/// What became of a call while `doing` something.
pub(crate) fn failed<E>(doing: &str, error: SdkError<E, HttpResponse>) -> Failed
where
    E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
{
    let (kind, end, said) = match &error {
        SdkError::ServiceError(service) => {
            let code = service.err().code().unwrap_or("an error without a code");
            let said = service.err().message().unwrap_or_default();
            let (kind, end) = by_code(code, service.raw().status().as_u16());
            (kind, end, format!("{code}: {said}"))
        }
        SdkError::ConstructionFailure(_) => (Kind::Invalid, End::NotDone, chain(&error)),
        SdkError::TimeoutError(_) => (Kind::Unavailable, End::Unknown, chain(&error)),
        SdkError::DispatchFailure(failure) => {
            let said = chain(&error);
            let never_left =
                is_connecting(&error) || failure.is_user() || said.contains("credentials");
            let end = if never_left {
                End::NotDone
            } else {
                End::Unknown
            };
            let kind = if failure.is_user() {
                Kind::Invalid
            } else {
                Kind::Unavailable
            };
            (kind, end, said)
        }
        _ => (Kind::Unavailable, End::Unknown, chain(&error)),
    };
    Failed {
        end,
        error: Error::new(kind, format!("sqs, {doing}: {said}")),
    }
}

fn by_code(code: &str, status: u16) -> (Kind, End) {
    let is = |known: &&str| code.contains(*known);
    match status {
        _ if FAULTS.iter().any(&is) => (Kind::Invalid, End::Refused),
        500.. if !code.contains("Unavailable") => (Kind::Unavailable, End::Unknown),
        429 | 503 => (Kind::Unavailable, End::NotDone),
        _ if PASSING.iter().any(is) => (Kind::Unavailable, End::NotDone),
        // Credentials, permissions, a queue that is not there: people must act.
        _ => (Kind::Invalid, End::NotDone),
    }
}

/// How it ended for one entry of a call that was done for others. The flag by which the service says whose fault it was tells less
/// than the code: a caller that is throttled or lacks a permission is at fault by that flag, and its message is not.
pub(crate) fn of_entry(code: &str) -> End {
    let status = match code.contains("Internal") {
        true => 500,
        false => 400,
    };
    by_code(code, status).1
}

/// Whether a receipt is not taken any more, and will not be later.
pub(crate) fn is_gone(code: &str) -> bool {
    let known = [
        "ReceiptHandleIsInvalid",
        "MessageNotInflight",
        "InvalidIdFormat",
        "InvalidParameterValue",
    ];
    known.iter().any(|known| code.contains(known))
}

/// Whether there was no connection yet.
fn is_connecting(error: &(dyn StdError + 'static)) -> bool {
    let causes = causes(error);
    let mut causes = causes.map(|cause| (cause.downcast_ref::<std::io::Error>(), cause));
    causes.any(|(io, cause)| {
        io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused)
            || cause.to_string().contains("client error (Connect)")
    })
}

fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| {
        (*error).source()
    })
}

/// All causes, one after another.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let causes = causes(error);
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_tell_what_passes_and_what_is_the_messages_fault() {
        for (code, status, kind, end) in [
            ("RequestThrottled", 400, Kind::Unavailable, End::NotDone),
            ("OverLimit", 403, Kind::Unavailable, End::NotDone),
            ("InternalFailure", 500, Kind::Unavailable, End::Unknown),
            ("ServiceUnavailable", 503, Kind::Unavailable, End::NotDone),
            (
                "AWS.SimpleQueueService.NonExistentQueue",
                400,
                Kind::Invalid,
                End::NotDone,
            ),
            ("AccessDenied", 403, Kind::Invalid, End::NotDone),
            ("InvalidMessageContents", 400, Kind::Invalid, End::Refused),
            (
                "AWS.SimpleQueueService.BatchRequestTooLong",
                400,
                Kind::Invalid,
                End::Refused,
            ),
        ] {
            assert_eq!(by_code(code, status), (kind, end), "{code}");
        }
    }

    #[test]
    fn an_entry_is_judged_by_its_code() {
        for (code, end, gone) in [
            ("RequestThrottled", End::NotDone, false),
            ("KmsThrottled", End::NotDone, false),
            ("KMS.AccessDeniedException", End::NotDone, false),
            ("InternalError", End::Unknown, false),
            ("ServiceUnavailable", End::NotDone, false),
            ("InvalidMessageContents", End::Refused, false),
            ("ReceiptHandleIsInvalid", End::NotDone, true),
            (
                "AWS.SimpleQueueService.MessageNotInflight",
                End::NotDone,
                true,
            ),
        ] {
            assert_eq!((of_entry(code), is_gone(code)), (end, gone), "{code}");
        }
    }
}
