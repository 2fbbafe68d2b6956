//! What tests can ask for. A new server or tool is a description and a line here.

use crate::error::{Error, Result};

use super::server::Server;
use super::servers::{KAFKA, NATS, POSTGRES, RABBITMQ, REDIS, REDIS_CLUSTER, SQS};
use super::tool::Tool;
use super::tools::{
    APPS, BROWSER, CLIENTS, GROFF, HELM, KAFKA_JAVA, MCP, NGINX, OTLP, PGBOUNCER, POSTGRES_BIN,
    PROMETHEUS, SCHEMATHESIS, STRIPE, SYSTEMD,
};

const ALL: &[Need] = &[
    Need::Server(&POSTGRES),
    Need::Server(&REDIS),
    Need::Server(&REDIS_CLUSTER),
    Need::Server(&KAFKA),
    Need::Server(&RABBITMQ),
    Need::Server(&NATS),
    Need::Server(&SQS),
    Need::Tool(&STRIPE),
    Need::Tool(&APPS),
    Need::Tool(&NGINX),
    Need::Tool(&PGBOUNCER),
    Need::Tool(&POSTGRES_BIN),
    Need::Tool(&PROMETHEUS),
    Need::Tool(&SCHEMATHESIS),
    Need::Tool(&MCP),
    Need::Tool(&CLIENTS),
    Need::Tool(&OTLP),
    Need::Tool(&KAFKA_JAVA),
    Need::Tool(&BROWSER),
    Need::Tool(&HELM),
    Need::Tool(&GROFF),
    Need::Tool(&SYSTEMD),
];

/// Something that tests can ask for by its name.
#[derive(Clone, Copy)]
pub(super) enum Need {
    /// Processes that are started and stopped.
    Server(&'static Server),
    /// A program that is found or installed.
    Tool(&'static Tool),
}

impl Need {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Server(server) => server.name,
            Self::Tool(tool) => tool.name,
        }
    }
}

/// Only what runs and must be stopped.
pub(super) fn servers() -> impl Iterator<Item = &'static Server> {
    ALL.iter().filter_map(|need| match need {
        Need::Server(server) => Some(*server),
        Need::Tool(_) => None,
    })
}

/// What has these names; no name means everything.
pub(super) fn named(names: &[String]) -> Result<Vec<Need>> {
    if names.is_empty() {
        return Ok(ALL.to_vec());
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
    use std::collections::BTreeSet;

    #[test]
    fn no_name_means_all_and_an_unknown_name_lists_the_known_ones() {
        assert_eq!(named(&[]).unwrap().len(), ALL.len());
        assert_eq!(named(&["postgres".into()]).unwrap().len(), 1);
        let error = named(&["oracle".into()]).err();
        let known = "postgres, redis, redis-cluster, kafka, rabbitmq, nats, sqs, python, apps, nginx, pgbouncer, \
                     postgres-bin, prometheus, schemathesis, mcp, clients, otlp, kafka-java, browser, helm, groff, systemd";
        assert!(matches!(error, Some(Error::Usage(why)) if why.ends_with(known)));
    }

    #[test]
    fn only_servers_are_stopped() {
        let stopped: Vec<&str> = servers().map(|server| server.name).collect();
        let expected = "postgres redis redis-cluster kafka rabbitmq nats sqs";
        assert_eq!(stopped.join(" "), expected);
    }

    #[test]
    fn names_and_variables_are_used_once() {
        let variable = |need: &Need| match need {
            Need::Server(server) => server.variable,
            Need::Tool(tool) => tool.variable,
        };
        let names: BTreeSet<_> = ALL.iter().map(|need| need.name()).collect();
        let variables: BTreeSet<_> = ALL.iter().map(variable).collect();
        assert_eq!((names.len(), variables.len()), (ALL.len(), ALL.len()));
    }
}
