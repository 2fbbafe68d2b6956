//! Four books about the orders of each shop, and whether they agree.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use crate::feed::{SHOPS, Sales};
use crate::provider::Statement;

/// Orders and their cents, as one of the parties knows them.
type Book = BTreeMap<String, u64>;

/// Compares the books of every shop; the table to print, or what does not agree.
pub(crate) fn reconcile(
    database: &Path,
    sales: &[Sales],
    statement: &Statement,
    kills: u32,
) -> Result<String, Box<dyn Error>> {
    let connection = Connection::open(database)?;
    let sum = |count: fn(&Sales) -> &AtomicU64| -> u64 {
        let counts = sales
            .iter()
            .map(|sales| count(sales).load(Ordering::SeqCst));
        counts.sum()
    };
    let mut table = format!(
        "times the pipeline was killed (SIGKILL)   {kills:>12}\n\
         messages that the shops sent              {:>12}\n\
         … taken and known before                  {:>12}\n\
         calls to the payment provider             {:>12}\n\
         … that charged and whose answer was lost  {:>12}\n",
        sum(|sales| &sales.sent),
        sum(|sales| &sales.duplicates),
        statement.calls,
        statement.answers_lost,
    );
    let mut agree = true;
    for (shop, sales) in SHOPS.iter().zip(sales) {
        let (said, agrees) = one_shop(&connection, shop, sales, statement)?;
        table += &said;
        agree &= agrees;
    }
    match agree {
        true => Ok(table + "\nThe books of both shops agree to the cent."),
        false => Err(format!("the books do not agree\n\n{table}").into()),
    }
}

/// The books of one shop, and whether they agree.
fn one_shop(
    connection: &Connection,
    shop: &str,
    sales: &Sales,
    statement: &Statement,
) -> Result<(String, bool), Box<dyn Error>> {
    let noted = "SELECT order_id, cents FROM orders WHERE order_id LIKE ?1 || '/%'";
    let noted = book(connection, noted, shop)?;
    let projected =
        "SELECT order_id, cents FROM totals WHERE version = 3 AND order_id LIKE ?1 || '/%'";
    let projected = book(connection, projected, shop)?;
    let mut charged = Book::new();
    for charge in statement
        .charges
        .iter()
        .filter(|charge| charge.shop == shop)
    {
        let order = format!("{shop}/{}", charge.order);
        if charged.insert(order, charge.cents).is_some() {
            return Err(format!("{} of {shop} was charged twice", charge.order).into());
        }
    }
    let sold = sales.orders.load(Ordering::SeqCst);
    let cents = sales.cents.load(Ordering::SeqCst);
    let mut table = format!("\nshop {shop:<21}  orders          amount\n");
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
    Ok((table, agree))
}

fn book(connection: &Connection, sql: &str, shop: &str) -> rusqlite::Result<Book> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([shop], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn line(name: &str, orders: u64, cents: u64) -> String {
    format!(
        "{name:<26}{orders:>8}{:>13}.{:02}\n",
        cents / 100,
        cents % 100
    )
}
