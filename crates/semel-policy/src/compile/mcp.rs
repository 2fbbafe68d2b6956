//! Routes whose requests are messages of the Model Context Protocol.

use http::Method;
use semel_core::Scope;
use semel_http::Rules;
use semel_http::fingerprint::By;
use semel_http::mcp::{self, Mcp, TOOL_BYTES_MAX, TOOLS_MAX, Tools};

use super::{CompiledRoute, Level};
use crate::file::{self, Route};
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::{Name, Word};

/// The scope of calls unless the route has one: `mcp:TOOL@1`.
const SCOPE: &str = "mcp@1";

/// What the nearest level says, if it says that requests are messages.
pub(super) fn compile(levels: &[Level<'_>]) -> Result<Option<Mcp>, Fault> {
    let mut nearest = levels.iter().rev();
    let nearest = nearest.find_map(|level| Some((level, level.settings.mcp.as_ref()?)));
    let Some((level, written)) = nearest.filter(|(_, written)| written.is_on) else {
        return Ok(None);
    };
    let at = level.path.to("mcp");
    let named = |names: &[Word<Name>], name: &str| self::names(names, || at.to(name));
    let tools = match (&written.tools, &written.except) {
        (None, None) => Tools::All,
        (Some(tools), None) => Tools::Only(named(tools, "tools")?),
        (None, Some(except)) => Tools::Except(named(except, "except")?),
        (Some(_), Some(_)) => {
            let message = "expected one of tools, except, found both";
            return Err(Fault::said(at, message));
        }
    };
    Ok(Some(Mcp {
        tools,
        tool_errors: match written.tool_errors {
            Some(file::ToolErrors::Release) => mcp::ToolErrors::Release,
            Some(file::ToolErrors::Keep) | None => mcp::ToolErrors::Keep,
        },
    }))
}

fn names(written: &[Word<Name>], path: impl Fn() -> Path) -> Result<Vec<String>, Fault> {
    if !(1..=TOOLS_MAX).contains(&written.len()) {
        let found = written.len();
        let message = format!("expected 1 to {TOOLS_MAX} tools, found {found}");
        return Err(Fault::said(path(), message));
    }
    let names: Vec<String> = written
        .iter()
        .map(|Word(Name(name))| name.clone())
        .collect();
    match names.iter().find(|name| name.len() > TOOL_BYTES_MAX) {
        Some(long) => {
            let found = long.len();
            let message =
                format!("expected a tool of at most {TOOL_BYTES_MAX} bytes, found {found}");
            Err(Fault::said(path(), message))
        }
        None => Ok(names),
    }
}

/// Messages are posted; a route for them that says nothing is for POST alone.
pub(super) fn methods(route: &Route, levels: &[Level<'_>]) -> Result<Vec<Method>, Fault> {
    let written = route.matches.methods.as_deref().unwrap_or_default();
    match written.iter().all(|method| *method == file::Method::Post) {
        true => Ok(vec![Method::POST]),
        false => {
            let path = levels.last().map(|level| level.path.to("match"));
            let message = "expected POST alone, because messages of this protocol are posted";
            Err(Fault::said(path.unwrap_or_default().to("methods"), message))
        }
    }
}

pub(super) fn default_scope() -> Scope {
    SCOPE.parse().expect("a short scope is valid")
}

/// Checks what rules for messages say otherwise.
pub(super) fn check(rules: &Rules, levels: &[Level<'_>]) -> Result<(), Fault> {
    if rules.mcp.is_none() {
        return Ok(());
    }
    let at = |name: &str| {
        levels
            .last()
            .map(|level| level.path.to(name))
            .unwrap_or_default()
    };
    if rules.fingerprint == By::Raw {
        let message =
            "expected another fingerprint than raw, because every message has an id of its own";
        return Err(Fault::said(at("fingerprint"), message));
    }
    let name_bytes_max = semel_core::identity::PART_BYTES_MAX - TOOL_BYTES_MAX - 1;
    let found = rules.scope.name().len();
    if found > name_bytes_max {
        let message = format!(
            "expected a scope of at most {name_bytes_max} bytes, because the name of a tool follows, found {found}"
        );
        return Err(Fault::said(at("scope"), message));
    }
    Ok(())
}

/// Two servers with one default scope would share the keys of tools with one name.
pub(super) fn no_scope_twice(
    routes: &[Route],
    compiled: &[Vec<CompiledRoute>],
) -> Result<(), Fault> {
    let is_default = |index: &usize| {
        let is_mcp = |one: &CompiledRoute| one.rules.mcp.is_some();
        routes[*index].scope.is_none() && compiled[*index].iter().any(is_mcp)
    };
    match (0..routes.len()).filter(is_default).nth(1) {
        Some(second) => {
            let message = "expected a scope, because another route has the default scope of MCP";
            Err(Fault::said(Path::default().to(second), message))
        }
        None => Ok(()),
    }
}
