//! Four books about the same orders, and whether they agree.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use crate::feed::Sales;
use crate::provider::Statement;

/// Orders and their cents, as one of the parties knows them.
type Book = BTreeMap<String, u64>;

/// Compares the books; the table to print, or what does not agree.
pub(crate) fn reconcile(
    database: &Path,
    sales: &Sales,
    statement: &Statement,
    kills: u32,
) -> Result<String, Box<dyn Error>> {
    let connection = Connection::open(database)?;
    let noted = book(&connection, "SELECT order_id, cents FROM orders")?;
    let projected = book(
        &connection,
        "SELECT order_id, cents FROM totals WHERE version = 3",
    )?;
    let mut charged = Book::new();
    for charge in &statement.charges {
        if charged.insert(charge.order.clone(), charge.cents).is_some() {
            return Err(format!("{} was charged twice", charge.order).into());
        }
    }
    let (sold, cents) = (
        sales.orders.load(Ordering::SeqCst),
        sales.cents.load(Ordering::SeqCst),
    );
    let mut table = format!(
        "times the pipeline was killed (SIGKILL)   {kills:>12}\n\
         messages that the shop sent               {:>12}\n\
         … taken and known before                  {:>12}\n\
         calls to the payment provider             {:>12}\n\
         … that charged and whose answer was lost  {:>12}\n\n\
         book                        orders          amount\n",
        sales.sent.load(Ordering::SeqCst),
        sales.duplicates.load(Ordering::SeqCst),
        statement.calls,
        statement.answers_lost,
    );
    table += &line("sold by the shop", sold, cents);
    for (name, book) in [
        ("noted by the pipeline", &noted),
        ("projected by version", &projected),
        ("charged by the provider", &charged),
    ] {
        table += &line(name, book.len() as u64, book.values().sum());
    }
    let agree = noted == projected
        && noted == charged
        && noted.len() as u64 == sold
        && noted.values().sum::<u64>() == cents;
    match agree {
        true => Ok(table + "\nThe books agree to the cent."),
        false => Err(format!("the books do not agree\n\n{table}").into()),
    }
}

fn book(connection: &Connection, sql: &str) -> rusqlite::Result<Book> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn line(name: &str, orders: u64, cents: u64) -> String {
    format!(
        "{name:<26}{orders:>8}{:>13}.{:02}\n",
        cents / 100,
        cents % 100
    )
}
