//! Names of headers that only Semel says, in every spelling that a service may read as one of them.
//!
//! CGI, WSGI, Rack and PHP hand a header on as a variable in which each `-` is a `_`: to a service behind them
//! `Semel_Fence` is `Semel-Fence`. A name is therefore compared with any punctuation where the reserved one has a dash.
//! Trailers count too, because a service or a client may merge them into the headers.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, HeaderName};
use http_body::{Frame, SizeHint};

/// What a door tells the service; a client that says it is not believed.
pub const REQUEST: [&str; 3] = ["semel-attempt", "semel-fence", "idempotent-replayed"];
/// What the service tells a door; clients never see it.
pub const RESPONSE: [&str; 1] = ["semel-outcome"];

/// Whether a service could read `name` as one of `reserved`.
pub fn is_one_of(name: &HeaderName, reserved: &[&str]) -> bool {
    reserved.iter().any(|one| spells(name.as_str(), one))
}

/// Removes every spelling of the `reserved` names.
pub fn strip(headers: &mut HeaderMap, reserved: &[&str]) {
    // One look at what is there: these names are rarely sent.
    let found = headers.keys().filter(|name| is_one_of(name, reserved));
    for name in found.cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
}

fn spells(name: &str, reserved: &str) -> bool {
    let same = |(found, wanted): (u8, u8)| match wanted {
        b'-' => !found.is_ascii_alphanumeric(),
        wanted => found == wanted,
    };
    name.len() == reserved.len() && name.bytes().zip(reserved.bytes()).all(same)
}

/// A body without the reserved names in its trailers.
#[derive(Debug)]
pub struct Clean<B> {
    body: B,
    reserved: &'static [&'static str],
}

impl<B> Clean<B> {
    /// The body of a request, on its way to the service.
    pub const fn request(body: B) -> Self {
        let reserved = &REQUEST;
        Self { body, reserved }
    }

    /// The body of a response, on its way to the client.
    pub const fn response(body: B) -> Self {
        let reserved = &RESPONSE;
        Self { body, reserved }
    }
}

impl<B> http_body::Body for Clean<B>
where
    B: http_body::Body + Unpin,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let reserved = self.reserved;
        polled.map_ok(|mut frame| {
            if let Some(trailers) = frame.trailers_mut() {
                strip(trailers, reserved);
            }
            frame
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_that_a_service_may_read_is_removed() {
        let mut headers = HeaderMap::new();
        let names = [
            "Semel-Fence",
            "semel_fence",
            "SEMEL.ATTEMPT",
            "Idempotent_Replayed",
            "Semel-Fences",
            "SemelFence",
            "X-Semel-Fence",
        ];
        for name in names {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name.clone(), "1".parse().unwrap());
            headers.append(name, "2".parse().unwrap());
        }
        strip(&mut headers, &REQUEST);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["semel-fences", "semelfence", "x-semel-fence"]);
    }
}
