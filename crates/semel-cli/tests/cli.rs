//! The binary as people and scripts meet it: its words, its JSON, its refusals and its exit codes.
mod support;
use support::Fixture;

#[test]
fn tmp() {
    let f = Fixture::filled();
    for line in [
        "keys list",
        "keys list --limit 2 --state unknown",
        "keys list --tenant nobody",
        "keys list --json --limit 1",
        "keys list --state archived",
        "keys show refund-7 --scope refunds@2 --tenant acme",
        "keys show refund-7 --scope refunds@2 --tenant acme --body",
        "keys show refund-7 --scope refunds@2 --tenant acme --json",
        "keys show refund-7 --scope refunds@2 --tenant acme --json --body",
        "keys show order-1 --scope payments",
        "keys show order-2 --scope payments --tenant acme",
        "keys show order-2 --scope payments --tenant acme --body",
        "keys show order-4 --scope payments",
        "keys show order-4 --scope payments --json",
        "keys show order-404 --scope payments",
        "stats",
        "stats --json",
        "check",
        "check --json",
        "keys release order-1 --scope payments",
        "keys purge order-3 --scope payments",
        "keys purge order-1 --scope payments",
        "keys release order-3 --scope payments",
        "keys show order-3 --scope payments",
        "keys show order-3 --scope payments --json",
        "keys resolve order-2 --scope payments --tenant acme --late --retention 7d",
        "keys show order-2 --scope payments --tenant acme",
        "keys resolve order-4 --scope payments --succeeded --status 201 --body hi --header A:b",
        "keys purge order-4 --scope payments --yes --by bob",
        "keys purge --expired",
        "keys purge --expired --json",
        "keys list --state archived",
        "--help",
        "keys resolve --help",
        "keys purge",
        "check --store sqlite:nix.db",
        "stats --store postgres://u:p@h/db",
        "stats --store semel.db",
    ] {
        eprintln!("$ semel {line}");
        eprintln!("{}\n", f.semel(line).shown());
    }
    eprintln!(
        "{}",
        f.run(&["keys", "show", "order 5", "--scope", "payments"])
            .shown()
    );
    eprintln!(
        "{}",
        f.run(&["keys", "release", "order 5", "--scope", "payments"])
            .shown()
    );
}
