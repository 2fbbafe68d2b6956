//! Where records live, and what they survive there.

use crate::value::{Address, Engine, StoreUrl};

/// Sentences about the store; without one in the file, about the default.
pub(super) fn describe(store: Option<&StoreUrl>) -> Vec<String> {
    match store {
        None => one("sqlite:semel.db", Engine::Sqlite),
        Some(StoreUrl::One(address)) => one(&address.to_string(), address.engine()),
        Some(StoreUrl::Hybrid { claims, outcomes }) => hybrid(claims, outcomes),
    }
}

fn one(shown: &str, engine: Engine) -> Vec<String> {
    let mut lines = vec![format!("records are kept in {shown}")];
    lines.extend(survives(engine).map(indented));
    lines
}

fn hybrid(claims: &Address, outcomes: &Address) -> Vec<String> {
    let forgets = match claims.engine() {
        Engine::RedisCluster => "if a node of it forgets",
        _ => "if it forgets",
    };
    let mut lines = vec![
        format!("claims are kept in {claims}"),
        indented(&format!(
            "{forgets}, what was running then can run again; semel check tells how durable it is"
        )),
        format!("outcomes are kept in {outcomes}"),
        indented("what is settled stays settled, whatever becomes of the claims"),
    ];
    lines.extend(survives(outcomes.engine()).map(indented));
    lines
}

/// What records survive in a store of this kind, and who can share them.
fn survives(engine: Engine) -> Option<&'static str> {
    match engine {
        Engine::Sqlite => Some(
            "they survive kills and power cuts, not the loss of the disk; processes of this machine share them",
        ),
        Engine::Postgres => Some(
            "they survive what the database's commits survive; every process that reaches it shares them",
        ),
        Engine::Redis | Engine::RedisCluster => Some(
            "they survive what the server's log and replicas survive, and semel check tells what that is; \
             what they lose can run again",
        ),
        Engine::Mysql | Engine::DynamoDb => None,
    }
}

fn indented(line: &str) -> String {
    format!("  {line}")
}
