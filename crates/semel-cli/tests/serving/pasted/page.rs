//! A page of the documentation as blocks to paste, and what it says that they print.
//!
//! A block that opens with ```` ```sh ```` is pasted. A ```` ```text ```` block right after it, with nothing but blank lines between,
//! is what it prints: each line is printed in that order, other lines may stand between them, and `[…]` stands for any text.

/// What a line of stated output leaves open.
const ANYTHING: &str = "[…]";

/// One block to paste.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The line of the page that its first command is on.
    pub(crate) line: usize,
    pub(crate) commands: String,
    /// What the page says that it prints, line by line.
    pub(crate) stated: Vec<String>,
}

/// The blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // Whether the next block could be what the last one prints.
    let mut follows = false;
    let mut lines = (1..).zip(page.lines());
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            follows &= line.is_empty();
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line);
        let inside: Vec<&str> = inside.take_while(|line| *line != "```").collect();
        match (language, blocks.last_mut().filter(|_| follows)) {
            ("sh", _) => blocks.push(Block {
                line: at + 1,
                commands: inside.join("\n"),
                stated: Vec::new(),
            }),
            ("text", Some(last)) => last.stated = inside.into_iter().map(str::to_owned).collect(),
            _ => {}
        }
        follows = language == "sh";
    }
    blocks
}

/// The first stated line that is not among the printed ones, in order.
pub(crate) fn missing<'a>(stated: &'a [String], printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines();
    stated
        .iter()
        .map(String::as_str)
        .filter(|line| !line.trim().is_empty())
        .find(|line| !printed.by_ref().any(|printed| matches(line, printed)))
}

fn matches(stated: &str, printed: &str) -> bool {
    let mut rest = printed.trim();
    let mut parts = stated.trim().split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else {
        return false;
    };
    rest = after;
    let mut open = false;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        open = part.is_empty();
    }
    open || rest.is_empty()
}

#[test]
fn blocks_are_found_with_what_they_print() {
    let page = "# A\n```sh\na\nb\n```\n\n```text\nc\n```\ntext\n```text\nd\n```\n```sh\ne\n```\nx\n```text\nf\n```\n";
    let block = |line, commands: &str, stated: &[&str]| Block {
        line,
        commands: commands.to_owned(),
        stated: stated.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(
        blocks(page),
        [block(3, "a\nb", &["c"]), block(15, "e", &[])]
    );
}

#[test]
fn stated_lines_are_printed_in_order_with_anything_where_the_page_leaves_it_open() {
    let table: &[(&[&str], &str, Option<&str>)] = &[
        (&["a", "c"], "a\nb\nc\n", None),
        (&["c", "a"], "a\nb\nc\n", Some("a")),
        (&["HTTP/1.1 201 Created"], "HTTP/1.1 201 Created\r\n", None),
        (&["at […] by […]"], "at noon by me", None),
        (&["at […]"], "by noon", Some("at […]")),
        (&["[…]end"], "the end.", Some("[…]end")),
        (&["", "a"], "a", None),
        (&["a"], "", Some("a")),
    ];
    for (stated, printed, expected) in table {
        let stated: Vec<String> = stated.iter().map(ToString::to_string).collect();
        assert_eq!(missing(&stated, printed), *expected, "{stated:?}");
    }
}
