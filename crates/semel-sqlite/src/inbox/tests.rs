//! The statements that must be quick at any size use the indexes that were made for them.

use rusqlite::{Connection, params_from_iter};
use semel_core::inbox::State;

use super::filter::{Filter, Source};

pub(crate) fn tables() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    crate::schema::migrate(&mut connection).unwrap();
    connection
}

pub(crate) fn plan(connection: &Connection, sql: &str, values: usize) -> String {
    let mut statement = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap();
    let values = params_from_iter(vec![1; values]);
    let lines = statement.query_map(values, |row| row.get(3)).unwrap();
    let lines: Vec<String> = lines.map(Result::unwrap).collect();
    lines.join("\n")
}

#[track_caller]
pub(crate) fn assert_uses(plan: &str, index: &str) {
    assert!(plan.contains(index), "{plan}");
    assert!(!plan.contains("SCAN"), "{plan}");
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
}

#[test]
fn claims_look_only_at_what_is_due() {
    let connection = tables();
    let found = plan(&connection, super::claim::CANDIDATES, 3);
    assert_uses(&found, "semel_work_ready (consumer=? AND due_ms<?)");
    let found = plan(&connection, super::claim::NEXT_DUE, 1);
    assert_uses(&found, "semel_work_ready (consumer=? AND due_ms>?)");
}

#[test]
fn places_in_lanes_are_found_by_steps_in_the_index() {
    let connection = tables();
    for (sql, values) in super::lanes::STATEMENTS {
        assert_uses(
            &plan(&connection, sql, values),
            "semel_work_lanes (consumer=? AND lane=?",
        );
    }
}

#[test]
fn dead_letters_are_listed_from_the_index_of_what_stands_still() {
    let connection = tables();
    let states = [State::FailedTerminal];
    let Source {
        tables,
        consumer,
        number,
    } = Source::of(&states);
    let filter = Filter::default().and(format!("{consumer} = ?"), 1_i64);
    let (conditions, _) = filter.and_states(&states).into_parts();
    let sql = format!("SELECT 1 FROM {tables} WHERE {conditions} ORDER BY {number} DESC LIMIT 10");
    assert_uses(
        &plan(&connection, &sql, 1),
        "semel_work_still (state=? AND consumer=?)",
    );
}

#[test]
fn a_message_is_found_by_its_key() {
    let connection = tables();
    let found = plan(&connection, super::rows::FIND, 3);
    assert_uses(
        &found,
        "semel_messages_by_key (consumer=? AND key=? AND tenant=?)",
    );
}
