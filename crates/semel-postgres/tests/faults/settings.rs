//! Settings that go along with the connections of a store.

use crate::support::Schema;
use crate::support::verbs::granted;

/// What a store's own statements see of the named settings.
async fn seen_by(schema: &Schema, url: &str, names: &[&str]) -> Vec<String> {
    let store = schema.config_at(url).connect().await.unwrap();
    let (s, client) = (&schema.name, schema.client().await);
    client
        .batch_execute(&format!(
            "CREATE TABLE IF NOT EXISTS {s}.seen (name text, setting text); \
             CREATE OR REPLACE FUNCTION {s}.see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN \
                 DELETE FROM {s}.seen; INSERT INTO {s}.seen SELECT name, setting FROM pg_settings; RETURN NEW; END'; \
             CREATE OR REPLACE TRIGGER see BEFORE INSERT ON {s}.semel_records FOR EACH ROW EXECUTE FUNCTION {s}.see()"
        ))
        .await
        .unwrap();
    granted(&store, url).await;
    let ask = format!("SELECT setting FROM {s}.seen WHERE name = $1");
    let mut seen = Vec::new();
    for name in names {
        seen.push(client.query_one(&ask, &[name]).await.unwrap().get(0));
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_of_the_url_come_on_top_of_the_stores_own() {
    let schema = Schema::new();
    let names = [
        "statement_timeout",
        "plan_cache_mode",
        "enable_seqscan",
        "work_mem",
    ];
    let at = |parameters: &str| format!("{}?timeout=7s{parameters}", schema.url);
    for (parameters, expected) in [
        ("", ["7000", "force_generic_plan", "off", "4096"]),
        (
            "&options=-c%20work_mem%3D8MB",
            ["7000", "force_generic_plan", "off", "8192"],
        ),
        (
            "&options=-c%20statement_timeout%3D9s%20-c%20work_mem%3D8MB",
            ["9000", "force_generic_plan", "off", "8192"],
        ),
    ] {
        let seen = seen_by(&schema, &at(parameters), &names).await;
        assert_eq!(seen, expected, "{parameters}");
    }
}
