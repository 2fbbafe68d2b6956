//! The example as its reader runs it, for a few seconds.

use std::process::Command;

#[test]
fn the_books_of_two_shops_with_the_same_order_ids_agree_to_the_cent_after_a_storm_of_kills() {
    let run = Command::new(env!("CARGO_BIN_EXE_order-pipeline"))
        .args(["--seconds", "6"])
        .output()
        .expect("the example can be started");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    assert!(
        said.contains("The books of both shops agree to the cent."),
        "{said}"
    );
    for shop in ["shop north", "shop south"] {
        assert!(said.contains(shop), "{said}");
    }
}
