//! Rules for Rust sources: sizes, unfinished code, ignored tests, crate docs.

use super::finding::Finding;
use super::functions::{functions, line_of, test_module, words};
use super::source::Source;
use super::text_rules::markers;

const FILE_LINES_UNEASY: usize = 400;
const FILE_LINES_MAX: usize = 600;
const BODY_LINES_MAX: usize = 70;

const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Checks one Rust source.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let source = Source::read(text);
    let mut findings = Vec::new();
    if !is_test(path) {
        let measured = &source.code[..test_module(&source.code)];
        findings.extend(file_size(path, measured));
        findings.extend(function_sizes(path, measured));
    }
    findings.extend(unfinished(path, &source.code));
    findings.extend(ignored_tests(path, &source.code));
    findings.extend(ignored_examples(path, &source.comments));
    findings.extend(markers(path, source.comments.lines()));
    findings.extend(crate_doc(path, text));
    findings
}

/// Whole files of tests may be as long as their tables are.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests") || path.ends_with("/tests.rs")
}

fn file_size(path: &str, code: &str) -> Option<Finding> {
    let lines = code.lines().count();
    if lines > FILE_LINES_MAX {
        let message = format!("{lines} lines before the tests, at most {FILE_LINES_MAX}: split it");
        Some(Finding::new(path, lines, message))
    } else if lines > FILE_LINES_UNEASY {
        let message = format!("{lines} lines before the tests, more than {FILE_LINES_UNEASY}");
        Some(Finding::note(path, lines, message))
    } else {
        None
    }
}

fn function_sizes(path: &str, code: &str) -> Vec<Finding> {
    let all = functions(code).into_iter();
    all.filter(|function| function.body_lines > BODY_LINES_MAX)
        .map(|function| {
            let (name, lines) = (function.name, function.body_lines);
            let message =
                format!("the body of `{name}` has {lines} lines, at most {BODY_LINES_MAX}");
            Finding::new(path, function.line, message)
        })
        .collect()
}

fn unfinished(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in UNFINISHED {
        let calls = words(code, name).filter(|at| code[at + name.len()..].starts_with('!'));
        findings.extend(calls.map(|at| {
            let message = format!("`{name}!` does not belong in finished code");
            Finding::new(path, line_of(code, at), message)
        }));
    }
    findings
}

fn ignored_tests(path: &str, code: &str) -> Vec<Finding> {
    let is_attribute = |at: usize| {
        let line = &code[..at];
        let line = &line[line.rfind('\n').map_or(0, |newline| newline + 1)..];
        line.ends_with("#[") || line.contains("#[cfg_attr(")
    };
    words(code, "ignore")
        .filter(|at| is_attribute(*at))
        .map(|at| Finding::new(path, line_of(code, at), "ignored test: fix it or remove it"))
        .collect()
}

fn ignored_examples(path: &str, comments: &str) -> Vec<Finding> {
    let is_ignored = |line: &str| {
        let fence = line.trim_start().trim_start_matches(['/', '!', ' ']);
        let language = fence.strip_prefix("```").unwrap_or_default();
        language.split(',').any(|word| word.trim() == "ignore")
    };
    (1..)
        .zip(comments.lines())
        .filter(|(_, line)| is_ignored(line))
        .map(|(line, _)| {
            let message = "ignored example: let it compile, or mark it `text`";
            Finding::new(path, line, message)
        })
        .collect()
}

fn crate_doc(path: &str, text: &str) -> Option<Finding> {
    let is_root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    (is_root && !text.starts_with("//!")).then(|| {
        Finding::new(
            path,
            1,
            "a crate begins with a `//!` that says what it is for",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;

    fn check_shown(path: &str, text: &str) -> Vec<String> {
        shown(&check(path, text))
    }

    #[test]
    fn unfinished_code_and_ignored_tests_are_found_outside_of_literals() {
        let marker = concat!("// FIX", "ME\nlet s = \"FIX", "ME\";\n");
        let table: &[(&str, &[&str])] = &[
            (
                "fn a() { todo!() }\n",
                &["1: `todo!` does not belong in finished code"],
            ),
            (
                "\nfn a() { dbg!(1); }\n",
                &["2: `dbg!` does not belong in finished code"],
            ),
            (
                "fn a() { f(\"todo!()\"); my_todo!(); todo(); } // dbg!(x)\n",
                &[],
            ),
            (
                "#[ignore = \"slow\"]\nfn a() {}\n",
                &["1: ignored test: fix it or remove it"],
            ),
            (
                "#[cfg_attr(unix, ignore)]\nfn a() {}\n",
                &["1: ignored test: fix it or remove it"],
            ),
            ("fn ignore() { ignore(#[x] 1) }\n", &[]),
            (
                "/// ```ignore\nfn a() {}\n",
                &["1: ignored example: let it compile, or mark it `text`"],
            ),
            ("/// ```rust,no_run\nfn a() {}\n", &[]),
            (
                marker,
                &[concat!(
                    "1: `FIX",
                    "ME` in a comment: do it, or open an issue"
                )],
            ),
        ];
        for (text, expected) in table {
            assert_eq!(check_shown("src/a.rs", text), *expected, "{text}");
        }
    }

    #[test]
    fn a_crate_begins_with_its_doc() {
        let expected = ["1: a crate begins with a `//!` that says what it is for"];
        assert_eq!(check_shown("c/src/lib.rs", "fn a() {}\n"), expected);
        assert_eq!(check_shown("c/src/main.rs", "\n//! Late.\n"), expected);
        assert!(check_shown("c/src/lib.rs", "//! Doc.\n").is_empty());
        assert!(check_shown("c/src/other.rs", "fn a() {}\n").is_empty());
    }

    #[test]
    fn files_are_measured_before_their_test_module() {
        let tests = "#[cfg(test)]\nmod tests {\n".to_owned() + &"//\n".repeat(900) + "}\n";
        let table: &[(&str, usize, &[&str])] = &[
            ("src/a.rs", 400, &[]),
            (
                "src/a.rs",
                401,
                &["401: note: 401 lines before the tests, more than 400"],
            ),
            (
                "src/a.rs",
                600,
                &["600: note: 600 lines before the tests, more than 400"],
            ),
            (
                "src/a.rs",
                601,
                &["601: 601 lines before the tests, at most 600: split it"],
            ),
            ("tests/a.rs", 601, &[]),
            ("src/tests.rs", 601, &[]),
        ];
        for (path, lines, expected) in table {
            let text = "//\n".repeat(*lines) + &tests;
            assert_eq!(check_shown(path, &text), *expected, "{path} {lines}");
        }
    }

    #[test]
    fn function_bodies_have_a_limit_outside_of_tests() {
        let body = |lines| format!("\nfn long() {{\n{}}}\n", "    f(\"{\");\n".repeat(lines));
        let expected = ["2: the body of `long` has 71 lines, at most 70"];
        assert_eq!(check_shown("src/a.rs", &body(71)), expected);
        assert!(check_shown("src/a.rs", &body(70)).is_empty());
        assert!(check_shown("c/tests/a.rs", &body(71)).is_empty());
        let in_tests = format!("#[cfg(test)]\nmod tests {{{}}}\n", body(71));
        assert!(check_shown("src/a.rs", &in_tests).is_empty());
    }
}
