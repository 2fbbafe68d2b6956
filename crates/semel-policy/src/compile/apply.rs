//! Settings laid over rules.

use http::HeaderName;
use semel_core::Retention;
use semel_core::duration::show;
use semel_http::key::{self, SOURCES_MAX, Sources};
use semel_http::rules::{self, Rules, StatusSet};
use semel_http::stored::REDACTIONS_MAX;
use semel_http::tenant;

use super::{fingerprint, jwt};
use crate::file::{KeySource, Missing, Mode, Settings, Tenant, Unknown};
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::Word;

impl Settings {
    /// Overrides what these settings name. Faults are relative to where the settings stand.
    pub(super) fn apply(&self, rules: &mut Rules) -> Result<(), Fault> {
        self.apply_identity(rules)?;
        self.apply_times(rules)?;
        self.apply_answers(rules);
        self.apply_stored(rules)
    }

    fn apply_identity(&self, rules: &mut Rules) -> Result<(), Fault> {
        if let Some(key) = &self.key {
            let sources = key.iter().map(key_source).collect();
            rules.key = Sources::new(sources).map_err(|_| {
                let found = key.len();
                let message = format!("expected 1 to {SOURCES_MAX} places, found {found}");
                Fault::said(Path::default().to("key"), message)
            })?;
        }
        if let Some(tenant) = &self.tenant {
            rules.tenant = tenant_source(tenant)?;
        }
        if let Some(bytes) = self.key_bytes_max {
            rules.key_bytes_max = bytes.0.0;
        }
        if let Some(missing) = self.missing {
            rules.missing = missing.into();
        }
        if let Some(fingerprint) = &self.fingerprint {
            fingerprint::apply(fingerprint, rules)?;
        }
        Ok(())
    }

    fn apply_times(&self, rules: &mut Rules) -> Result<(), Fault> {
        if let Some(in_progress) = self.in_progress {
            rules.in_progress = in_progress.busy(rules.in_progress);
        }
        if let Some(lease) = self.lease {
            rules.lease = lease.0;
        }
        if let Some(timeout) = self.timeout {
            rules.timeout = timeout.0;
        }
        if let Some(retention) = self.retention {
            let kept = match retention.archive {
                true => Retention::archive_after(retention.keep),
                false => Retention::delete_after(retention.keep),
            };
            rules.retention = kept.map_err(|_| {
                let found = show(retention.keep);
                let message = format!("expected a duration from 1ms to ten years, found {found}");
                Fault::said(Path::default().to("retention"), message)
            })?;
        }
        Ok(())
    }

    fn apply_stored(&self, rules: &mut Rules) -> Result<(), Fault> {
        set(&mut rules.stored.contents, self.contents.map(Into::into));
        let Some(redact) = &self.redact else {
            return Ok(());
        };
        let body = redact.body.as_ref();
        let body = body.map(|paths| paths.iter().map(|path| path.0.clone()).collect());
        set(&mut rules.stored.without, body);
        let headers = redact.headers.as_ref();
        let headers = headers.map(|names| names.iter().map(header).collect());
        set(&mut rules.stored.without_headers, headers);
        for (name, found) in [
            ("body", rules.stored.without.len()),
            ("headers", rules.stored.without_headers.len()),
        ] {
            if found > REDACTIONS_MAX {
                let message = format!("expected at most {REDACTIONS_MAX}, found {found}");
                return Err(Fault::said(Path::default().to("redact").to(name), message));
            }
        }
        Ok(())
    }

    fn apply_answers(&self, rules: &mut Rules) {
        if let Some(keep) = &self.keep {
            set(
                &mut rules.keep.statuses,
                keep.statuses.as_deref().map(union),
            );
            let release = keep.release.as_deref().map(union);
            // One who says which answers release says all of it.
            let conditional = keep.release_with_retry_after.as_deref().map(union);
            let none = || release.as_ref().map(|_| StatusSet::default());
            let conditional = conditional.or_else(none);
            set(&mut rules.keep.release_with_retry_after, conditional);
            set(&mut rules.keep.release, release);
        }
        if let Some(unknown) = &self.unknown {
            rules.unknown = match unknown {
                // Who asks is not known here; until it is, nobody runs it again.
                Unknown::Hold | Unknown::Reconcile(_) => rules::Unknown::Hold,
                Unknown::Rerun => rules::Unknown::Rerun,
            };
        }
        if let Some(replay) = self.replay {
            set(&mut rules.replay_cookies, replay.cookies);
            set(&mut rules.tell_expiry, replay.expires);
        }
        set(&mut rules.mode, self.mode.map(Into::into));
        set(&mut rules.describe, self.describe.map(Into::into));
        set(
            &mut rules.request_bytes_max,
            self.request_bytes.map(|size| size.0.0),
        );
        set(
            &mut rules.response_bytes_max,
            self.response_bytes.map(|size| size.0.0),
        );
    }
}

/// Overrides a rule if there is a setting for it.
pub(super) fn set<T>(rule: &mut T, setting: Option<T>) {
    if let Some(setting) = setting {
        *rule = setting;
    }
}

/// A copy: `Word` is how the file writes it, the rules take what it means.
fn header(name: &Word<HeaderName>) -> HeaderName {
    name.0.clone()
}

fn key_source(source: &KeySource) -> key::Source {
    match source {
        KeySource::Header(name) => key::Source::Header(header(name)),
        KeySource::Body(path) => key::Source::Body(path.0.clone()),
        KeySource::Query(name) => key::Source::Query(name.0.0.clone()),
        KeySource::Template(template) => key::Source::Template(template.0.clone()),
        KeySource::Derive => key::Source::Derive,
    }
}

fn tenant_source(tenant: &Tenant) -> Result<tenant::Source, Fault> {
    Ok(match tenant {
        Tenant::Caller => tenant::Source::Caller,
        Tenant::Header(name) => tenant::Source::Header(header(name)),
        Tenant::ApiKey(name) => tenant::Source::ApiKey(header(name)),
        Tenant::Bearer => tenant::Source::Bearer,
        Tenant::Public => tenant::Source::Public,
        Tenant::JwtClaim(claim) => {
            let at: Path = ["tenant", "jwt_claim"].into_iter().collect();
            let jwt = jwt::compile(claim).map_err(|fault| fault.under(&at))?;
            tenant::Source::Jwt(Box::new(jwt))
        }
    })
}

fn union(sets: &[Word<StatusSet>]) -> StatusSet {
    let patterns = sets.iter().flat_map(|set| set.patterns());
    StatusSet::new(patterns.copied().collect())
}

impl From<Missing> for rules::Missing {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Require => Self::Require,
            Missing::Pass => Self::Pass,
            Missing::Derive => Self::Derive,
        }
    }
}

impl From<Mode> for rules::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Enforce => Self::Enforce,
            Mode::Observe => Self::Observe,
        }
    }
}
