//! What annotated functions must not be, and what their authors are told.
//!
//! All messages are those of the attribute, none the compiler's, so that they hold for every version of it.
//! `TRYBUILD=overwrite cargo test -p semel-macros --test fail` writes them anew.

#[test]
fn mistakes_are_compile_errors_that_say_what_was_expected() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}
