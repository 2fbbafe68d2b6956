//! docs/inbox.md and docs/find-and-decide.md are true: their commands are understood.

use crate::fixture::Fixture;

const PAGES: [&str; 2] = [
    include_str!("../../../../../docs/inbox.md"),
    include_str!("../../../../../docs/find-and-decide.md"),
];

/// The words of a command, without its comment; quoted words are one.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap();
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn the_commands_of_the_documentation_are_understood() {
    let blocks = PAGES
        .iter()
        .flat_map(|page| page.split("\n```").skip(1).step_by(2));
    let commands = blocks.filter_map(|block| block.strip_prefix("sh\n"));
    let lines: Vec<&str> = commands.flat_map(str::lines).collect();
    assert!(lines.len() > 15, "{lines:?}");
    for line in lines {
        let (_, command) = line.split_once("semel ").unwrap();
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = Fixture::configured().run(&words);
        assert_ne!(ran.code, 2, "{line}: {ran:?}");
    }
}
