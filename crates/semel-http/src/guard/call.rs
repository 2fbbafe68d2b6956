//! Admits a message of the Model Context Protocol: calls of guarded tools are guarded, everything else passes.

use http::HeaderValue;
use http::header::ACCEPT_ENCODING;
use http::request::Parts;
use http_body_util::Either;
use semel_core::Identity;

use super::answer::{Admitted, Asked, Kept, no_room_to_answer};
use super::{Admission, Begun, Echo, Guard};
use crate::body::AnyBody;
use crate::key::{self, Found, Whole};
use crate::mcp::{Call, Mcp, Reading};
use crate::problem::{Problem, Type};

const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

impl Guard {
    /// The message tells what is asked for, so it is read before anything else is decided.
    pub(super) async fn decide_call<B>(
        &self,
        mut parts: Parts,
        body: B,
        params: &[(String, String)],
        (began, echo): (&Begun, &mut Echo),
    ) -> Result<Admission<B>, Problem>
    where
        B: AnyBody,
    {
        let (guard, rules) = (&self.0, &self.0.rules);
        let read = guard.whole(&parts, body).await?;
        let Some(call) = self.call(&parts, &read.bytes)? else {
            return Ok(self.pass(parts, Either::Right(read.into()), began));
        };
        echo.call = Some(call.id);
        let tenant = guard.tenant(&parts).await?;
        guard.within_rate(&tenant)?;
        if !guard.budgets.memory.takes_responses() {
            return Err(no_room_to_answer());
        }
        let whole = Whole {
            parts: &parts,
            params,
            body: &read.bytes,
        };
        let found = guard.or_by_rule(key::find(rules, &whole).await)?;
        if found == Found::Missing {
            return Ok(self.pass(parts, Either::Right(read.into()), began));
        }
        let compared = &call.compared;
        let fingerprint = rules.fingerprint_of(&parts, compared).await;
        let key = guard.key(found, fingerprint, &parts, compared).await?;
        let scope = Mcp::scope(&rules.scope, &call.tool).map_err(bad)?;
        // A compressed answer could be neither understood nor given another id.
        parts.headers.insert(ACCEPT_ENCODING, IDENTITY);
        let identity = Identity::new(tenant, scope, key);
        let operation = guard.once.operation(identity, fingerprint);
        let ticket = guard.ticket(&operation).await?;
        Ok(Admission::Guarded(Admitted {
            guard: self.clone(),
            operation: operation.about(rules.describe.about(&parts)),
            asked: Asked::new(parts, read),
            fingerprint,
            echo: echo.clone(),
            began: began.clone(),
            kept: Kept::default(),
            ticket,
        }))
    }

    /// The call that a message is, if it is one that is guarded.
    fn call(&self, parts: &Parts, body: &[u8]) -> Result<Option<Call>, Problem> {
        let Some(mcp) = &self.0.rules.mcp else {
            return Ok(None);
        };
        match mcp.read(&parts.headers, body).map_err(bad)? {
            Reading::Call(call) => Ok(Some(call)),
            Reading::Other => Ok(None),
        }
    }
}

fn bad(error: semel_core::Error) -> Problem {
    Problem::new(Type::BadRequest, format!("{error}; nothing ran"))
}
