//! How refusals look, for the API's description.

use utoipa::ToSchema;

/// A refusal (RFC 9457, `application/problem+json`). Some types have more members than these.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what semel_http::Problem writes")]
pub(crate) struct Problem {
    /// What is wrong, by name: `urn:semel:problem:NAME`. A name never changes its meaning.
    #[schema(example = "urn:semel:problem:in-progress")]
    r#type: String,
    /// The same for every problem of this type.
    title: String,
    /// The status of the response.
    status: u16,
    /// What is wrong this time.
    detail: String,
}
