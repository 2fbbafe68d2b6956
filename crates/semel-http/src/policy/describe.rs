//! Rules as the policy says them.

use http::{HeaderName, Method};

use super::{
    Caller, Compared, Expiry, InProgress, Key, Messages, Place, ProblemKind, Responses,
    RoutePolicy, Terms, Unknown, names,
};
use crate::fingerprint::By;
use crate::host::HostPattern;
use crate::key::Source;
use crate::mcp::{Mcp, ToolErrors, Tools};
use crate::path::JsonPath;
use crate::problem::{Problem, Type};
use crate::rules::{self, Missing, Mode, Rules, StatusSet};
use crate::tenant;

/// A route, as its server has it.
#[derive(Debug, Clone, Copy)]
pub struct Stated<'a> {
    /// The methods it is for.
    pub methods: &'a [Method],
    /// The hosts it is for; none means any.
    pub hosts: &'a [HostPattern],
    /// The pattern of its paths.
    pub path: &'a str,
    /// What it decides by.
    pub rules: &'a Rules,
    /// Whether the service is asked about unknown outcomes, which rules that are not in use yet do not say.
    pub reconciles: bool,
}

impl Stated<'_> {
    pub(super) fn policy(self) -> RoutePolicy {
        let hosts = self.hosts.iter().map(ToString::to_string).collect();
        let terms = terms(self.rules, self.reconciles);
        RoutePolicy::new(self.methods, hosts, self.path, terms)
    }
}

fn terms(rules: &Rules, reconciles: bool) -> Terms {
    let unknown = unknown(rules, reconciles);
    Terms {
        mode: match rules.mode {
            Mode::Enforce => "enforce",
            Mode::Observe => "observe",
        },
        profile: rules.profile.name(),
        mcp: rules.mcp.as_ref().map(messages),
        key: key(rules),
        caller: caller(&rules.tenant),
        compared: compared(rules),
        expiry: Expiry {
            seconds: rules.retention.keep().as_secs(),
            announced: rules.tell_expiry,
        },
        responses: Responses {
            replayed: shown(&rules.keep.statuses),
            released: shown(&rules.keep.release),
            released_with_retry_after: shown(&rules.keep.release_with_retry_after),
            otherwise: "unknown",
        },
        in_progress: InProgress {
            wait_ms: u64::try_from(rules.in_progress.wait.as_millis()).unwrap_or(u64::MAX),
            status: rules.in_progress.status.status().as_u16(),
        },
        unknown,
        request_bytes_max: rules.request_bytes_max,
        problems: problems(rules, unknown),
    }
}

fn key(rules: &Rules) -> Key {
    let is_derived = rules.key.iter().any(|source| *source == Source::Derive);
    Key {
        required: rules.missing == Missing::Require,
        missing: match rules.missing {
            _ if is_derived => "derived",
            Missing::Require => "refused",
            Missing::Pass => "unguarded",
            Missing::Derive => "derived",
        },
        places: rules.key.iter().map(place).collect(),
        bytes_min: 1,
        bytes_max: rules.key_bytes_max,
        characters: "text without control characters; in a header bare or as a quoted string (RFC 9651)",
    }
}

fn place(source: &Source) -> Place {
    let (at, name) = match source {
        Source::Header(name) => ("header", Some(written(name))),
        Source::Query(name) => ("query", Some(name.clone())),
        Source::Body(path) => ("body", Some(path.as_str().to_owned())),
        Source::Template(template) => {
            let fields: Vec<_> = template.fields().collect();
            ("template", Some(fields.join(", ")))
        }
        Source::Derive => ("derived", None),
    };
    Place { at, name }
}

fn caller(source: &tenant::Source) -> Caller {
    let (by, header) = match source {
        tenant::Source::Caller => ("authorization", Some("Authorization".to_owned())),
        tenant::Source::Header(name) => ("header", Some(written(name))),
        tenant::Source::ApiKey(name) => ("api_key", Some(written(name))),
        tenant::Source::Bearer => ("bearer", Some("Authorization".to_owned())),
        tenant::Source::Jwt(_) => ("jwt", Some("Authorization".to_owned())),
        tenant::Source::Public => ("none", None),
    };
    Caller { by, header }
}

fn compared(rules: &Rules) -> Compared {
    let listed = |paths: &[JsonPath]| paths.iter().map(|path| path.as_str().to_owned()).collect();
    let (body, fields) = match &rules.fingerprint {
        By::CanonicalJson => ("canonical_json", Vec::new()),
        By::Raw => ("raw", Vec::new()),
        By::Fields(paths) => ("fields", listed(paths)),
        By::Exclude(paths) => ("exclude", listed(paths)),
        By::Off => ("nothing", Vec::new()),
    };
    let host = rules.fingerprint_head.authority.then_some("host");
    let parts = ["method", "path", "query"].into_iter().chain(host);
    let parts = parts.map(str::to_owned);
    let head = match rules.fingerprint {
        By::Off => Vec::new(),
        _ => parts
            .chain(names(&rules.fingerprint_head.headers))
            .collect(),
    };
    Compared { body, fields, head }
}

fn shown(set: &StatusSet) -> Vec<String> {
    set.patterns().iter().map(ToString::to_string).collect()
}

fn unknown(rules: &Rules, reconciles: bool) -> Unknown {
    let then = match &rules.unknown {
        rules::Unknown::Reconcile(_) => "reconcile",
        _ if reconciles => "reconcile",
        rules::Unknown::Hold => "hold",
        rules::Unknown::Rerun => "rerun",
    };
    let status = status(rules, Type::OutcomeUnknown);
    Unknown {
        then,
        status: (then != "rerun").then_some(status),
    }
}

fn status(rules: &Rules, kind: Type) -> u16 {
    let problem = rules.profile.dress(Problem::new(kind, ""));
    problem.code().as_u16()
}

/// The refusals that have to do with keys; those of every request, such as 503, are in the documentation.
fn problems(rules: &Rules, unknown: Unknown) -> Vec<ProblemKind> {
    let table = [
        (rules.missing == Missing::Require, Type::KeyMissing),
        (true, Type::KeyInvalid),
        (rules.mcp.is_some(), Type::BadRequest),
        (
            !matches!(rules.tenant, tenant::Source::Public),
            Type::TenantMissing,
        ),
        (true, Type::InProgress),
        (unknown.status.is_some(), Type::OutcomeUnknown),
        (true, Type::BodyTooLarge),
        (rules.fingerprint != By::Off, Type::KeyReused),
        (true, Type::StoreUnavailable),
    ];
    let kinds = table.into_iter().filter(|(holds, _)| *holds);
    kinds.map(|(_, kind)| problem(rules, kind)).collect()
}

fn problem(rules: &Rules, kind: Type) -> ProblemKind {
    ProblemKind {
        status: match kind {
            Type::InProgress => rules.in_progress.status.status().as_u16(),
            kind => status(rules, kind),
        },
        kind: format!("urn:semel:problem:{}", kind.name()),
        title: kind.title(),
        page: kind.page(),
    }
}

fn messages(mcp: &Mcp) -> Messages {
    let (tools, except) = match &mcp.tools {
        Tools::All => (Vec::new(), Vec::new()),
        Tools::Only(names) => (names.clone(), Vec::new()),
        Tools::Except(names) => (Vec::new(), names.clone()),
    };
    Messages {
        method: "tools/call",
        tools,
        except,
        tool_errors: match mcp.tool_errors {
            ToolErrors::Keep => "replayed",
            ToolErrors::Release => "released",
        },
    }
}

/// The name of a header as people write it: `Idempotency-Key`.
pub fn written(name: &HeaderName) -> String {
    let part = |part: &str| {
        let (first, rest) = part.split_at(part.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    let parts: Vec<_> = name.as_str().split('-').map(part).collect();
    parts.join("-")
}
