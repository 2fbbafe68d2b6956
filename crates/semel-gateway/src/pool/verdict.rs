//! What an error of a connection says about the request that it carried.

use std::error::Error;

use hyper::client::conn::TrySendError;
use semel_http::Failure;

use super::reason;

/// What became of a request that got no response.
pub(super) enum Verdict<R> {
    /// Its connection never began to write it, and gives it back.
    Unsent(R, Failure),
    /// The upstream says that it did not process it.
    Refused(Failure),
    /// It may have been processed.
    Sent(Failure),
}

impl<R> Verdict<R> {
    /// `is_begun`: whether the connection took something of the request's body.
    pub(super) fn of(mut error: TrySendError<R>, is_begun: bool) -> Self {
        let unsent = error.take_message();
        let error = error.error();
        let why = reason(error);
        if let Some(request) = unsent {
            return Self::Unsent(request, Failure::NotReached(why));
        }
        let h2 = error.source().and_then(<dyn Error>::downcast_ref);
        if h2.is_some_and(|h2| is_refused(h2, is_begun)) {
            return Self::Refused(Failure::NotReached(why));
        }
        let is_unreadable = error.is_parse() || h2.is_some_and(h2::Error::is_library);
        Self::Sent(match is_unreadable {
            true => Failure::Unreadable(why),
            false => Failure::Broken(why),
        })
    }
}

/// Whether the upstream says that it did not process a request.
///
/// A stream that the peer refuses was not processed (RFC 9113 §8.7). With a GOAWAY, h2 fails the streams
/// above the last one that the peer will process, and lets the others go on. But hyper also gives the
/// connection's GOAWAY to a request that it has just handed to h2, wherever its stream lies; it does so
/// before it takes the first piece of the body. So the GOAWAY counts only for a request whose body was
/// begun. What h2 itself resets, such as an answer that is too large, was processed.
fn is_refused(error: &h2::Error, is_begun: bool) -> bool {
    error.is_remote()
        && match error.is_go_away() {
            true => is_begun,
            false => error.reason() == Some(h2::Reason::REFUSED_STREAM),
        }
}
