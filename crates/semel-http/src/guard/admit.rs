//! Finds out which operation a request means. Nothing runs here.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use http_body_util::Either;
use semel_core::{Fingerprint, Identity, Key, Tenant};

use super::answer::{Admitted, Asked, Kept, no_room_to_answer};
use super::spool::{Read, Spooled, spool};
use super::{Admission, Begun, Echo, Guard, Inner};
use crate::body::{AnyBody, Body};
use crate::event::{Answered, Event, What};
use crate::fingerprint::{By, UsualReading};
use crate::key::{self, Found, Whole};
use crate::mcp;
use crate::problem::{Problem, Type};
use crate::rules::{Missing, Mode, Rules};
use crate::tenant;
use crate::trace;

impl Guard {
    /// Finds out which operation a request means, and reads its body if that is needed. `params` are
    /// what the route's pattern found in the path.
    pub async fn admit<B>(&self, request: Request<B>, params: &[(String, String)]) -> Admission<B>
    where
        B: AnyBody,
    {
        let (parts, body) = request.into_parts();
        match self.0.rules.mode {
            // Boxed, so that guarded requests do not carry the room for it around.
            Mode::Observe => Box::pin(self.0.observer.admit(&self.0, parts, body, params)).await,
            Mode::Enforce => {
                let began = Begun::now(&parts.extensions);
                let mut echo = Echo::of(self.0.rules.profile, &parts.headers);
                let decided = match self.0.rules.mcp {
                    None => self.decide(parts, body, params, (&began, &echo)).await,
                    // Boxed for the same reason.
                    Some(_) => {
                        Box::pin(self.decide_call(parts, body, params, (&began, &mut echo))).await
                    }
                };
                decided.unwrap_or_else(|problem| {
                    Admission::Refused(self.0.refuse(problem, None, &began, &echo))
                })
            }
        }
    }

    async fn decide<B>(
        &self,
        parts: Parts,
        body: B,
        params: &[(String, String)],
        (began, echo): (&Begun, &Echo),
    ) -> Result<Admission<B>, Problem>
    where
        B: AnyBody,
    {
        let rules = &self.0.rules;
        let in_head = self.0.or_by_rule(key::find_in_head(rules, &parts))?;
        if in_head == Found::Missing {
            return Ok(self.pass(parts, Either::Left(body), began));
        }
        let tenant = self.0.tenant(&parts).await?;
        self.0.within_rate(&tenant)?;
        if !self.0.budgets.memory.takes_responses() {
            return Err(no_room_to_answer());
        }
        let spooled = self.0.whole(&parts, body).await?;
        let found = match in_head {
            Found::NeedsBody => {
                let whole = Whole {
                    parts: &parts,
                    params,
                    body: &spooled.bytes,
                };
                self.0.or_by_rule(key::find(rules, &whole).await)?
            }
            found => found,
        };
        if found == Found::Missing {
            return Ok(self.pass(parts, Either::Right(spooled.into()), began));
        }
        let fingerprint = rules.fingerprint_of(&parts, &spooled.bytes).await;
        let key = self
            .0
            .key(found, fingerprint, &parts, &spooled.bytes)
            .await?;
        let identity = Identity::new(tenant, rules.scope.clone(), key);
        let operation = self.0.once.operation(identity, fingerprint);
        let ticket = self.0.ticket(&operation).await?;
        Ok(Admission::Guarded(Admitted {
            guard: self.clone(),
            operation: operation.about(rules.describe.about(&parts)),
            asked: Asked::new(parts, spooled),
            fingerprint,
            echo: echo.clone(),
            began: began.clone(),
            kept: Kept::default(),
            ticket,
        }))
    }

    pub(super) fn pass<B>(
        &self,
        parts: Parts,
        body: Either<B, Body>,
        began: &Begun,
    ) -> Admission<B> {
        self.0.saw(None, What::Passed, 0, began);
        Admission::Pass(Request::from_parts(parts, body))
    }
}

impl Inner {
    /// All of a body, or why it is refused.
    pub(super) async fn whole<B: AnyBody>(&self, parts: &Parts, body: B) -> Result<Read, Problem> {
        match spool(self, parts, body).await? {
            Spooled::Whole(read) => Ok(read),
            Spooled::TooLarge(_) => Err(too_large(self.rules.request_bytes_max)),
            Spooled::TooSlow(_) => Err(too_slow(&self.rules)),
            Spooled::NoRoom(room, _) => Err(room.problem()),
        }
    }

    /// What was found, or what the route says about a request without a key; `Missing` then means that
    /// it passes.
    pub(super) fn or_by_rule(&self, found: semel_core::Result<Found>) -> Result<Found, Problem> {
        match found {
            Ok(Found::Missing) => match self.rules.missing {
                Missing::Pass => Ok(Found::Missing),
                Missing::Derive => Ok(Found::Derive),
                Missing::Require => Err(Problem::new(
                    Type::KeyMissing,
                    format!(
                        "this operation needs a key in {}, nothing ran",
                        self.places()
                    ),
                )),
            },
            Ok(found) => Ok(found),
            Err(error) => Err(Problem::new(Type::KeyInvalid, error.to_string())),
        }
    }

    fn places(&self) -> String {
        let place = |source: &key::Source| match source {
            key::Source::Header(name) => format!("the header {name}"),
            key::Source::Body(path) => format!("the body at {path}"),
            key::Source::Query(name) => format!("the query parameter {name}"),
            key::Source::Template(_) => "the fields that make its natural key".to_owned(),
            key::Source::Derive => "the request itself".to_owned(),
        };
        let places: Vec<_> = self.rules.key.iter().map(place).collect();
        places.join(" or ")
    }

    pub(crate) async fn tenant(&self, parts: &Parts) -> Result<Tenant, Problem> {
        let prepared = self.rules.tenant.prepare(&parts.headers).await;
        prepared.map_err(|error| {
            let detail = format!("{error}, nothing ran");
            Problem::new(Type::KeysUnavailable, detail)
        })?;
        let tenant = self.rules.tenant.find(&parts.headers);
        tenant.map_err(|error| {
            Problem::new(Type::TenantMissing, format!("{error}, nothing ran"))
                .header(WWW_AUTHENTICATE, self.rules.tenant.challenge())
        })
    }

    /// The key that was found, or one that is derived from the request.
    pub(crate) async fn key(
        &self,
        found: Found,
        fingerprint: Fingerprint,
        parts: &Parts,
        body: &Bytes,
    ) -> Result<Key, Problem> {
        if let Found::Key(key) = found {
            return Ok(key);
        }
        // Equal requests of two people who cannot be told apart must not become one operation.
        let anonymous = matches!(self.rules.tenant, tenant::Source::Caller)
            && !parts.headers.contains_key(AUTHORIZATION);
        if anonymous {
            let why = "a request without a key must name its sender in Authorization, nothing ran";
            return Err(Problem::new(Type::TenantMissing, why));
        }
        let usual = parts.extensions.get::<UsualReading>();
        let usual = usual.map(|reading| reading.of(parts));
        let head = &self.rules.fingerprint_head;
        let content = match (&self.rules.fingerprint, usual) {
            // What is not compared still tells one request from another.
            (By::Off, usual) => {
                let parts = usual.as_ref().unwrap_or(parts);
                By::CanonicalJson.of(head, parts, body).await
            }
            (by, Some(usual)) => by.of(head, &usual, body).await,
            (_, None) => fingerprint,
        };
        Ok(content.derive_key(&self.rules.scope.to_string()))
    }

    /// A refusal in the route's own words.
    pub(crate) fn refuse(
        &self,
        problem: Problem,
        identity: Option<&Identity>,
        began: &Begun,
        echo: &Echo,
    ) -> Response<Body> {
        let what = What::Refused(problem.kind());
        let problem = self.rules.profile.dress(problem);
        let status = problem.code().as_u16();
        let mut response = match self.rules.mcp {
            None => problem.into_response(),
            Some(_) => mcp::refusal(problem, echo.call.as_ref()),
        };
        self.echo(identity, echo, &mut response);
        self.saw(identity, what, status, began);
        response
    }

    /// Says the key, for profiles that do, and what else they repeat.
    pub(super) fn echo(
        &self,
        identity: Option<&Identity>,
        echo: &Echo,
        response: &mut Response<Body>,
    ) {
        echo.repeat(response);
        let key = identity.and_then(|identity| HeaderValue::from_str(identity.key().as_str()).ok());
        if let Some((name, key)) = self.rules.profile.echo().zip(key) {
            response.headers_mut().insert(name, key);
        }
    }

    pub(crate) fn saw(&self, identity: Option<&Identity>, what: What, status: u16, began: &Begun) {
        began.span.record(|span| {
            span.set("semel.outcome", what.name());
            if let Some(identity) = identity {
                trace::about(span, identity);
            }
        });
        self.watch.saw(&Event {
            scope: &self.rules.scope,
            identity,
            what,
            status,
            took: began.at.elapsed(),
        });
    }

    pub(super) fn saw_upstream(&self, answered: Answered, took: Duration) {
        self.watch.saw_upstream(&self.rules.scope, answered, took);
    }
}

fn too_slow(rules: &Rules) -> Problem {
    let (limit, rate) = (rules.body_timeout, rules.body_pace.bytes_per_second);
    Problem::new(
        Type::BodyTimeout,
        format!(
            "the request body did not arrive within {limit:?} at {rate} bytes a second, nothing ran"
        ),
    )
}

pub(super) fn too_large(max: usize) -> Problem {
    Problem::new(
        Type::BodyTooLarge,
        format!("a request body of at most {max} bytes is accepted here, nothing ran"),
    )
}
