//! Erasing the contents of archived records.

use semel_core::protocol;
use semel_core::store::{Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{Fence, Identity, Result};

use crate::engine::{Asked, Engine, Loaded};
use crate::records;
use crate::reply;
use crate::script::Call;

impl Engine {
    /// Decides about the archived record of a claim, if only the archive still has it. It is there for good and does not
    /// change but by this.
    pub(crate) async fn resolve_archived(&self, request: &ResolveRequest) -> Result<ResolveAnswer> {
        let Resolution::EraseContents = request.resolution else {
            return Ok(ResolveAnswer::Refused);
        };
        let identity = &request.claim.identity;
        let mut asked = Asked::until(self.link.deadline());
        asked.is_archived = true;
        let Some(current) = self.archived(identity, request.claim.fence, asked).await? else {
            return Ok(ResolveAnswer::Refused);
        };
        let step = protocol::resolve(current.record(), request, current.now);
        if step.answer == ResolveAnswer::Resolved {
            // The archived record is still what was read, or another erasure was faster.
            self.apply(identity, &current, &step, asked).await?;
        }
        Ok(step.answer)
    }

    async fn archived(
        &self,
        identity: &Identity,
        fence: Fence,
        asked: Asked,
    ) -> Result<Option<Loaded>> {
        let bucket = self.keys.bucket(identity);
        let key = self.keys.archives(bucket) + &records::fence_text(fence, bucket);
        let read = Call::plain("GET").keys([key]);
        let found = reply::bytes(self.link.call(read, asked.deadline).await?)?;
        let stored = found
            .map(|bytes| records::decode_found(bytes, bucket))
            .transpose()?;
        let stored = stored.filter(|stored| stored.record.identity == *identity);
        let now = semel_core::Clock::now(self.clock.as_ref());
        Ok(stored.map(|stored| Loaded {
            stored: Some(stored),
            now,
        }))
    }
}
