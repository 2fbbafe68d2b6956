//! The sweep runs inside the write transaction every second: however large the tables are, it uses what was made for it.

use crate::inbox::sweep as inbox;
use crate::inbox::tests::{assert_uses, plan, tables};
use crate::{keep, sweep};

#[test]
fn each_part_of_the_sweep_reads_a_bounded_number_of_rows() {
    let connection = tables();
    for (sql, values, expected) in [
        (
            sweep::LEASES,
            3,
            "semel_leases USING INTEGER PRIMARY KEY (rowid<?)",
        ),
        (sweep::LEASED, 1, "l USING INTEGER PRIMARY KEY (rowid=?)"),
        (sweep::EXPIRED, 2, "semel_outcomes_by_expiry (expires_ms<?)"),
        (sweep::EVENTS, 3, "h USING INTEGER PRIMARY KEY (rowid>?)"),
        (keep::OLD_BARS, 2, "semel_bars_by_age (at_ms<?)"),
        (inbox::MESSAGES, 2, "m USING INTEGER PRIMARY KEY (rowid>?)"),
    ] {
        assert_uses(&plan(&connection, sql, values), expected);
    }
    // The only scan is of the first rows, as many as the limit says.
    let audit = plan(&connection, inbox::AUDIT, 2);
    assert_eq!(audit.matches("SCAN semel_audit").count(), 1, "{audit}");
    assert!(!audit.contains("TEMP B-TREE"), "{audit}");
}
