//! Every problem of every port, in one table. The pages under `docs/problems/` are written from it.

use std::time::Duration;

use http::StatusCode;

/// Where the pages of the documentation are: the repository that the manifest names.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/problems/");

/// Whether the operation took effect, as far as the answer knows: the member `ran`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ran {
    /// This request ran nothing and changed nothing.
    No,
    /// The operation may have taken effect, by this request or by an earlier one with the same identity.
    Maybe,
    /// The operation took effect.
    Yes,
}

impl Ran {
    /// The value of the member.
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Maybe => "maybe",
            Self::Yes => "yes",
        }
    }
}

/// What the catalogue says about one type.
#[derive(Debug)]
struct Entry {
    name: &'static str,
    status: StatusCode,
    title: &'static str,
    sent_by: &'static str,
    ran: Ran,
    retry_secs: Option<u64>,
    challenge: Option<&'static str>,
    about: &'static str,
    advice: &'static str,
}

/// One row: `Variant "name" STATUS ran retry challenge, sent_by, title, about, advice;`.
macro_rules! types {
    ($($variant:ident $name:literal $status:ident $ran:ident $retry:tt $challenge:tt
        by $sent_by:literal,
        title $title:literal,
        about $about:literal,
        advice $advice:literal;)+) => {
        /// What is wrong, by name. The URN `urn:semel:problem:<name>` never changes its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Type {
            $(#[doc = $about] $variant,)+
        }

        impl Type {
            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            const fn entry(self) -> Entry {
                match self {
                    $(Self::$variant => Entry {
                        name: $name,
                        status: StatusCode::$status,
                        title: $title,
                        sent_by: $sent_by,
                        ran: Ran::$ran,
                        retry_secs: types!(@retry $retry),
                        challenge: types!(@challenge $challenge),
                        about: $about,
                        advice: $advice,
                    },)+
                }
            }
        }
    };
    (@retry never) => { None };
    (@retry $seconds:literal) => { Some($seconds) };
    (@challenge -) => { None };
    (@challenge $challenge:literal) => { Some($challenge) };
}

impl Type {
    /// The name in the URN.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// The status unless a profile or a route says otherwise.
    pub const fn status(self) -> StatusCode {
        self.entry().status
    }

    /// A short text that is the same for every problem of this type.
    pub const fn title(self) -> &'static str {
        self.entry().title
    }

    /// Which ports send it.
    pub const fn sent_by(self) -> &'static str {
        self.entry().sent_by
    }

    /// Whether the operation took effect, unless the occurrence says otherwise.
    pub const fn ran(self) -> Ran {
        self.entry().ran
    }

    /// When the same request is worth sending again, unless the occurrence says otherwise; `None` if it is not.
    pub const fn retry_after(self) -> Option<Duration> {
        match self.entry().retry_secs {
            Some(seconds) => Some(Duration::from_secs(seconds)),
            None => None,
        }
    }

    /// What `WWW-Authenticate` says, of types with the status 401 (RFC 9110 demands one).
    pub const fn challenge(self) -> Option<&'static str> {
        self.entry().challenge
    }

    /// When it is sent.
    pub const fn about(self) -> &'static str {
        self.entry().about
    }

    /// What the caller should do.
    pub const fn advice(self) -> &'static str {
        self.entry().advice
    }

    /// The page of the documentation about it, which `Link: <…>; rel="describedby"` names.
    pub fn page(self) -> String {
        format!("{PAGES}{}.md", self.name())
    }
}

types! {
    KeyMissing "key-missing" BAD_REQUEST No never -
        by "gateway, layer",
        title "The idempotency key is missing",
        about "The route requires an idempotency key and the request has none.",
        advice "Send the request with a key in the place that `detail` names. Use one key per operation, and the same key for every retry of it.";
    KeyInvalid "key-invalid" BAD_REQUEST No never -
        by "gateway, layer",
        title "The idempotency key is not valid",
        about "The idempotency key is malformed, repeated or too long, or the place that holds it cannot be read.",
        advice "Correct the key: 1 to 255 bytes without control characters, sent once, bare or as a quoted string (RFC 9651).";
    KeyReused "key-reused" UNPROCESSABLE_ENTITY No never -
        by "gateway, layer, claims API",
        title "The idempotency key was used for another request",
        about "The key is on record with another fingerprint: the earlier request with this key asked for something else.",
        advice "A new operation needs a new key. If this is a retry, send exactly what was sent the first time. A retry never helps.";
    InProgress "in-progress" CONFLICT Maybe 1 -
        by "gateway, layer, claims API",
        title "The first request with this key is still running",
        about "An earlier request or claim with the same identity is running and has no outcome yet. This one ran nothing.",
        advice "Send the same request with the same key again after `Retry-After`; it gets the outcome of the first one.";
    OutcomeUnknown "outcome-unknown" CONFLICT Maybe never -
        by "gateway, layer, claims API",
        title "The outcome of this operation is unknown",
        about "An earlier attempt ended without a known outcome: its process died, its lease ended, or the service did not answer. It may have taken effect, so it is not run again.",
        advice "Do not send the operation with a new key. Find out whether it took effect; an operator then settles or releases the record (`semel keys resolve`), and the same key works again.";
    TenantMissing "tenant-missing" UNAUTHORIZED No never "Bearer realm=\"semel\""
        by "gateway, layer",
        title "The request names no tenant",
        about "The route ties each request to a tenant, and the credential or header that names the tenant is missing, repeated or cannot be verified.",
        advice "Send the credential or header that `WWW-Authenticate` and `detail` name, once.";
    KeysUnavailable "keys-unavailable" SERVICE_UNAVAILABLE No 5 -
        by "gateway, layer",
        title "The keys that tokens are checked with cannot be loaded",
        about "The issuer's key set was never loaded, so no token can be checked.",
        advice "Send the same request again later. Operators: the log names the key set and why it could not be loaded.";
    StoreUnavailable "store-unavailable" SERVICE_UNAVAILABLE No 1 -
        by "gateway, layer, claims API, admin, webhooks",
        title "The store is unavailable",
        about "The store with the records did not answer. Without it nothing is run; a change that was asked for over the API may have been made all the same, and `ran` says `maybe` then.",
        advice "Send the same request with the same key again after `Retry-After`. Operators: look at `/readyz` and at the log.";
    UpstreamUnreachable "upstream-unreachable" BAD_GATEWAY No 1 -
        by "gateway, layer",
        title "The service cannot be reached",
        about "No connection to the service behind the gateway could be made, or the request was never handed to one. The claim is released.",
        advice "Send the same request with the same key again after `Retry-After`.";
    UpstreamFailed "upstream-failed" BAD_GATEWAY Maybe never -
        by "gateway, layer",
        title "The service broke off its answer",
        about "The service closed the connection or broke the protocol after the request was handed to it. A guarded operation is on record as unknown.",
        advice "Do not use a new key. Send the same request with the same key: the route's policy for unknown outcomes decides what happens.";
    UpstreamTimeout "upstream-timeout" GATEWAY_TIMEOUT Maybe never -
        by "gateway, layer",
        title "The service did not answer in time",
        about "The service got the request and did not answer within the route's timeout. A guarded operation is on record as unknown.",
        advice "Do not use a new key. Send the same request with the same key: the route's policy for unknown outcomes decides what happens.";
    BodyTooLarge "body-too-large" PAYLOAD_TOO_LARGE No never -
        by "gateway, layer, claims API, admin, webhooks",
        title "The request body is too large",
        about "The request body is above the limit that `detail` names.",
        advice "Send a smaller body, or raise the limit in the configuration. A retry does not help.";
    BodyTimeout "body-timeout" REQUEST_TIMEOUT No never -
        by "gateway, layer, claims API, admin, webhooks",
        title "The request body did not arrive in time",
        about "The request body stopped arriving, or arrived too slowly. If it was streamed to the service, `ran` says `maybe`.",
        advice "Send the whole request again with the same key.";
    BodyBroken "body-broken" BAD_REQUEST No never -
        by "gateway, layer, claims API, admin, webhooks",
        title "The request body broke off",
        about "The request body could not be read to its end. If it was streamed to the service, `ran` says `maybe`.",
        advice "Send the whole request again with the same key.";
    BodyNotKept "body-not-kept" OK Yes never -
        by "gateway, layer",
        title "The response body of this operation was not kept",
        about "A replay of an operation that is done, with its status: its response body was above the cap or was not to be kept, so length and digest stand in its place.",
        advice "Take the operation as done. Read the result from the service itself if it is needed.";
    BadRequest "bad-request" BAD_REQUEST No never -
        by "gateway, layer",
        title "The request is ambiguous or malformed",
        about "The gateway and the service behind it could read the request differently (framing, host, path, method, a JSON-RPC message), so it is not forwarded.",
        advice "Correct the request as `detail` says.";
    Overloaded "overloaded" SERVICE_UNAVAILABLE No 1 -
        by "gateway, claims API, admin, webhooks",
        title "Too many requests are in flight",
        about "A configured limit of this process was reached.",
        advice "Send the same request with the same key again after `Retry-After`, with jitter. Operators: see the limits in the configuration.";
    RateLimited "rate-limited" TOO_MANY_REQUESTS No 1 -
        by "gateway, layer, claims API, webhooks",
        title "The tenant brings more than its limit allows",
        about "The tenant has sent more requests, or more keys that were not on record, than its limit allows; the member `limit` names which (`requests`, `new_keys`). Nothing was claimed and nothing was stored.",
        advice "Send the same request with the same key again after `Retry-After`, with jitter. While only `new_keys` is used up, keys that are on record still get their outcomes. Operators: see `limits.tenant` in the configuration.";
    QuotaExceeded "quota-exceeded" TOO_MANY_REQUESTS No 60 -
        by "gateway, layer, claims API, webhooks",
        title "The tenant has stored as much as its quota allows",
        about "The outcomes and messages of this tenant took more bytes than its quota allows. Nothing was claimed and nothing was stored.",
        advice "Send the same request with the same key again after `Retry-After`. Keys that are on record still get their outcomes. Operators: see `limits.tenant` in the configuration.";
    LeaseLost "lease-lost" CONFLICT Maybe never -
        by "claims API",
        title "The lease of this claim is lost",
        about "A renewal, release or mark came under a claim that is no longer live. Nothing was changed; what the run did until then may have taken effect.",
        advice "Stop the run if that is possible, and look the record up to see what stands.";
    LateOutcome "late-outcome" CONFLICT Yes never -
        by "claims API",
        title "The outcome came after the lease was lost",
        about "An outcome came under a claim that is no longer live. It is kept in the history for the audit and never served.",
        advice "Do not send it again. Look the record up to see which outcome counts, and undo the effect if another run has had it too.";
    DecisionRefused "decision-refused" CONFLICT No never -
        by "admin",
        title "The decision does not fit the state of the record",
        about "A decision or an act of an operator does not fit the state of the record or message, the record has a newer claim, or the consumer's policy forbids it. Nothing was changed.",
        advice "Look at the record or message again, and decide anew.";
    InvalidInput "invalid-input" BAD_REQUEST No never -
        by "gateway, layer, claims API, admin",
        title "The input of this API call is not valid",
        about "A field or a parameter of an API call is missing, unknown, repeated or out of its range; the member `field` names it.",
        advice "Correct the call as `detail` says; `/api/v1/openapi.json` describes every field of the admin port. The gateway sends this where outcomes are fetched by key.";
    NotFound "not-found" NOT_FOUND No never -
        by "gateway, layer, claims API, admin, webhooks",
        title "There is no such record, message or address",
        about "The store has no record, message or claim of this name, or the port has nothing at this path. Where callers fetch outcomes by key, another tenant's operation is answered like one that does not exist.",
        advice "Check the identity (tenant, scope, key, fence) or the path.";
    MethodNotAllowed "method-not-allowed" METHOD_NOT_ALLOWED No never -
        by "gateway, layer, claims API, admin, webhooks",
        title "The path does not take this method",
        about "The path exists, but not with this method.",
        advice "Use a method that the header `Allow` names.";
    MediaType "media-type" UNSUPPORTED_MEDIA_TYPE No never -
        by "claims API, admin",
        title "The body must be application/json",
        about "A call that may change something came without `Content-Type: application/json`. Web pages of other origins cannot send that header unasked.",
        advice "Send `Content-Type: application/json`.";
    Unauthorized "unauthorized" UNAUTHORIZED No never "Bearer realm=\"semel\""
        by "claims API, admin",
        title "The token is missing, wrong or expired",
        about "The admin port has tokens, and the request shows none of them, or one that has expired.",
        advice "Send `Authorization: Bearer TOKEN` with the value of `admin.token` or of one of `admin.tokens`. `semel token new` makes one.";
    Forbidden "forbidden" FORBIDDEN No never -
        by "claims API, admin",
        title "The token does not allow this call",
        about "The token is known, but its role does not include this call, or it is a token for claims and the call names another tenant or a scope outside its prefixes. Nothing was looked up: the answer is the same whether there is such a record or not.",
        advice "Use a token with the role that `detail` names, or for that tenant and scope. Operators: `semel token list` shows what each token allows.";
    HostRefused "host-refused" FORBIDDEN No never -
        by "claims API, admin",
        title "The admin port does not answer to this host name",
        about "The admin port has no token, and the header `Host` names something else than localhost or an IP address. That stops web pages that make their own name resolve to this machine.",
        advice "Ask for localhost or an IP address, or set `admin.token`.";
    MessageIdMissing "message-id-missing" BAD_REQUEST No never -
        by "webhooks",
        title "The message has no id",
        about "The message has no id in the place where the consumer's rule looks for it. Nothing was stored.",
        advice "Send the message with an id that is the same for every delivery of it, or correct the consumer's rule.";
    MessageSequenceMissing "message-sequence-missing" BAD_REQUEST No never -
        by "webhooks",
        title "The message has no key or no sequence",
        about "The consumer keeps messages in the order of their sequence, and this one lacks its key or its sequence. Nothing was stored.",
        advice "Send key and sequence, or correct the consumer's rule.";
    MessageInvalid "message-invalid" BAD_REQUEST No never -
        by "webhooks",
        title "The message is not valid",
        about "The message cannot be read by the consumer's rule, or breaks a limit. Nothing was stored.",
        advice "Correct the message as `detail` says.";
    SignatureInvalid "signature-invalid" UNAUTHORIZED No never "Signature realm=\"semel\""
        by "webhooks",
        title "The signature is missing, wrong or too old",
        about "The consumer checks a signature over the raw body, and this one does not hold. Nothing was stored.",
        advice "Check the secret, the signed time and that no proxy changes the body.";
    ConsumerUnknown "consumer-unknown" NOT_FOUND No never -
        by "webhooks",
        title "There is no such consumer",
        about "No consumer of this name takes messages on this port. Nothing was stored.",
        advice "Post to `/inbox/NAME` with the name of a consumer that has a webhook in the configuration.";
    BacklogFull "backlog-full" SERVICE_UNAVAILABLE No 30 -
        by "webhooks",
        title "The backlog of the consumer is full",
        about "The consumer has as many messages waiting as its configuration allows. Nothing was stored.",
        advice "Send the message again after `Retry-After`: the backlog empties as handlers catch up.";
    Internal "internal" INTERNAL_SERVER_ERROR Maybe never -
        by "gateway, layer, claims API, admin, webhooks",
        title "Semel failed internally",
        about "An invariant of Semel does not hold: a bug.",
        advice "Report it with the log of the process. Do not use a new key for the same operation.";
}
