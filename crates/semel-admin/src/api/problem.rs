//! How refusals look, for the API's description.

use utoipa::ToSchema;

/// A refusal (RFC 9457, `application/problem+json`). Some types have more members than these.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what semel_http::Problem writes")]
pub(crate) struct Problem {
    /// What is wrong, by name: `urn:semel:problem:NAME`. A name never changes its meaning.
    #[schema(
        example = "urn:semel:problem:in-progress",
        pattern = "^urn:semel:problem:[a-z-]+$"
    )]
    r#type: String,
    /// The same for every problem of this type.
    title: String,
    /// The status of the response.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong this time.
    detail: String,
    /// Whether the operation took effect.
    ran: Ran,
}

/// Whether the operation took effect, as far as the answer knows.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what semel_http::Problem writes")]
enum Ran {
    /// This request ran nothing and changed nothing.
    No,
    /// The operation may have taken effect, by this request or by an earlier one.
    Maybe,
    /// The operation took effect.
    Yes,
}
