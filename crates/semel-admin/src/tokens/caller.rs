//! The token of a request, as handlers see it.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use semel_core::Identity;
use semel_core::identity::PART_BYTES_MAX;
use semel_core::store::Actor;
use semel_http::problem::{Problem, Type};

use super::role::{Needs, Role};
use super::token::{Grant, Token};
use crate::input::{self, Input, refuse_field};
use crate::refused::Refused;
use crate::router::Shared;

/// What stands in front of names that came without a token. No token's name has a colon, so none of them passes for a token's.
const NO_TOKEN: &str = "no-token:";
/// The most bytes of such a name.
pub(crate) const UNCHECKED_BYTES_MAX: usize = PART_BYTES_MAX - NO_TOKEN.len();

/// The caller of a request that passed the gate.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// The admin side has no tokens, and a program of this machine calls.
    Local,
    /// The holder of this token.
    Token(Arc<Token>),
}

impl Caller {
    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Local => Role::Admin,
            Self::Token(token) => token.role(),
        }
    }

    /// The name that logs and the audit show.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Local => None,
            Self::Token(token) => Some(token.name().as_str()),
        }
    }

    /// Refuses what its role does not allow.
    pub(crate) fn must(&self, needs: Needs) -> Result<(), Refused> {
        match needs.allows(self.role()) {
            true => Ok(()),
            false => {
                let (role, needed) = (self.role(), needs.shown());
                Err(self.forbidden(format!(
                    "the token has the role {role}, and this needs {needed}"
                )))
            }
        }
    }

    /// Refuses an identity that is out of its reach, before anything is looked up: the answer is the same whether there is a record or
    /// not.
    pub(crate) fn must_reach(&self, identity: &Identity) -> Result<(), Refused> {
        let reaches = match self {
            Self::Local => true,
            Self::Token(token) => match token.grant() {
                Grant::Claims(reach) => reach.covers(identity),
                Grant::Read | Grant::Operate | Grant::Admin => true,
            },
        };
        match reaches {
            true => Ok(()),
            false => {
                let detail = "the token is for another tenant or for other scopes";
                Err(self.forbidden(detail.to_owned()))
            }
        }
    }

    /// Who decides, for the audit. The name of a token always stands first, so that its holder can say on whose behalf it acts and cannot
    /// pass for another. Where there are no tokens, the name is marked as one that nothing has checked.
    pub(crate) fn actor(&self, by: Option<Actor>) -> Result<Actor, Refused> {
        let named = match (self.name(), by) {
            (None, Some(by)) => format!("{NO_TOKEN}{}", by.as_str()),
            (None, None) => {
                let why = "expected who decides, found nothing; only a token has a name to take";
                return Err(refuse_field("by", why));
            }
            (Some(name), None) => name.to_owned(),
            (Some(name), Some(by)) if by.as_str() == name => name.to_owned(),
            (Some(name), Some(by)) => format!("{name}/{}", by.as_str()),
        };
        Actor::new(named).map_err(|error| refuse_field("by", &error.to_string()))
    }

    fn forbidden(&self, detail: String) -> Refused {
        tracing::warn!(target: "semel::admin", token = self.name(), "forbidden: {detail}");
        Problem::new(Type::Forbidden, detail).into()
    }

    /// What the gate left with the request. A route that was reached without it refuses.
    fn of(parts: &Parts) -> Result<&Self, Refused> {
        parts.extensions.get().ok_or_else(|| {
            Problem::new(Type::Unauthorized, "the request did not pass the gate").into()
        })
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refused> {
        Self::of(parts).cloned()
    }
}

/// What every route passes once its path and method are known, before its body is read.
pub(crate) async fn admit(State(needs): State<Needs>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let admitted = match needs {
        Needs::Nothing => Ok(()),
        _ => Caller::of(&parts).and_then(|caller| caller.must(needs)),
    };
    match admitted {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refused) => refused.into_response(),
    }
}

/// Input that names the operation which it is about.
pub(crate) trait About {
    /// That operation.
    fn identity(&self) -> Identity;
}

/// The body of a call of the claims API, about an operation that is within the caller's reach.
pub(crate) struct Reached<T>(pub(crate) input::Json<T>);

impl<T: Input + About> FromRequest<Shared> for Reached<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Refused> {
        let (parts, body) = request.into_parts();
        let caller = Caller::of(&parts)?.clone();
        let input = input::Json::<T>::from_request(Request::from_parts(parts, body), app).await?;
        caller.must_reach(&input.value.identity())?;
        Ok(Self(input))
    }
}
