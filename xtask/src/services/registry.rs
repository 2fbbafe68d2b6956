//! What tests can ask for. A new server or tool is a file of its own and a line here.

use crate::error::{Error, Result};

use super::apps::Apps;
use super::nginx::Nginx;
use super::pgbouncer::PgBouncer;
use super::postgres::{Postgres, PostgresPrograms};
use super::python::{MCP, SCHEMATHESIS, STRIPE};
use super::redis::{Redis, RedisCluster};
use super::service::Service;
use super::tool::Tool;

const ALL: &[Need] = &[
    Need::Server(&Postgres),
    Need::Server(&Redis),
    Need::Server(&RedisCluster),
    Need::Tool(&STRIPE),
    Need::Tool(&Apps),
    Need::Tool(&Nginx),
    Need::Tool(&PgBouncer),
    Need::Tool(&PostgresPrograms),
    Need::Tool(&SCHEMATHESIS),
    Need::Tool(&MCP),
];

/// Something that tests can ask for by its name.
#[derive(Clone, Copy)]
pub(super) enum Need {
    /// A process that is started and stopped.
    Server(&'static dyn Service),
    /// A program that is found or installed.
    Tool(&'static dyn Tool),
}

impl Need {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server(service) => service.name(),
            Self::Tool(tool) => tool.name(),
        }
    }
}

/// Everything, in the order in which it is started or installed.
pub(super) fn all() -> Vec<Need> {
    ALL.to_vec()
}

/// Only what runs and must be stopped.
pub(super) fn servers() -> impl Iterator<Item = &'static dyn Service> {
    ALL.iter().filter_map(|need| match need {
        Need::Server(service) => Some(*service),
        Need::Tool(_) => None,
    })
}

/// What has these names; no name means everything.
pub(super) fn named(names: &[String]) -> Result<Vec<Need>> {
    if names.is_empty() {
        return Ok(all());
    }
    names.iter().map(|name| find(name)).collect()
}

fn find(name: &str) -> Result<Need> {
    let found = ALL.iter().copied().find(|need| need.name() == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|need| need.name()).collect();
        let known = known.join(", ");
        Error::Usage(format!(
            "unknown service `{name}`, expected one of: {known}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_all_and_an_unknown_name_lists_the_known_ones() {
        assert_eq!(named(&[]).unwrap().len(), ALL.len());
        assert_eq!(named(&["postgres".into()]).unwrap().len(), 1);
        let error = named(&["oracle".into()]).err();
        let known = "postgres, redis, redis-cluster, python, apps, nginx, pgbouncer, postgres-bin, schemathesis, mcp";
        assert!(matches!(error, Some(Error::Usage(why)) if why.ends_with(known)));
    }

    #[test]
    fn only_servers_are_stopped() {
        let stopped: Vec<&str> = servers().map(Service::name).collect();
        assert_eq!(stopped, ["postgres", "redis", "redis-cluster"]);
    }

    #[test]
    fn names_and_variables_are_used_once() {
        let variable = |need: Need| match need {
            Need::Server(service) => service.variable(),
            Need::Tool(tool) => tool.variable(),
        };
        let names: std::collections::BTreeSet<_> = all().into_iter().map(Need::name).collect();
        let variables: std::collections::BTreeSet<_> = all().into_iter().map(variable).collect();
        assert_eq!(names.len(), ALL.len());
        assert_eq!(variables.len(), ALL.len());
    }
}
