//! Reads the entries of a Cargo manifest, as far as the rules need them.
//!
//! It knows tables, dotted keys, comments and values that span lines. It does not
//! know multi-line strings, and cargo itself has already refused what is malformed.

/// One `key = value`, with the table it is in put before its key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) path: Vec<String>,
    pub(super) value: String,
}

/// All entries in order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut table = Vec::new();
    let mut open = 0_isize;
    for (line, content) in (1..).zip(text.lines()) {
        let content = without_comment(content).trim();
        if open > 0 {
            if let Some(last) = entries.last_mut() {
                last.value.push_str(content);
            }
            open += brackets(content);
        } else if content.starts_with('[') {
            table = key_parts(content.trim_matches(['[', ']']));
        } else if let Some((key, value)) = split_entry(content) {
            let mut path = table.clone();
            path.extend(key_parts(key));
            open = brackets(value);
            let value = value.trim().to_owned();
            entries.push(Entry { line, path, value });
        }
    }
    entries
}

fn without_comment(line: &str) -> &str {
    let end = unquoted(line).find(|(_, c)| *c == '#');
    end.map_or(line, |(at, _)| &line[..at])
}

fn split_entry(line: &str) -> Option<(&str, &str)> {
    let (at, _) = unquoted(line).find(|(_, c)| *c == '=')?;
    Some((&line[..at], &line[at + 1..]))
}

fn brackets(text: &str) -> isize {
    unquoted(text)
        .map(|(_, c)| match c {
            '[' | '{' => 1,
            ']' | '}' => -1,
            _ => 0,
        })
        .sum()
}

/// Splits a dotted key; a part in quotes may hold dots itself.
fn key_parts(key: &str) -> Vec<String> {
    let mut dots: Vec<usize> = unquoted(key)
        .filter(|(_, c)| *c == '.')
        .map(|(at, _)| at)
        .collect();
    dots.push(key.len());
    let mut begin = 0;
    dots.into_iter()
        .map(|dot| {
            let part = key[begin..dot].trim().trim_matches(['"', '\'']);
            begin = dot + 1;
            part.to_owned()
        })
        .collect()
}

/// The characters that are not inside of a string.
fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    text.char_indices().filter(move |(_, c)| {
        match quote {
            Some(open) if open == *c => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(*c),
            None => return true,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_know_their_table_line_and_value() {
        let text = "# top\nname = \"a # b\" # c\n\n[target.'cfg(a.b)'.dependencies]\n\
                    x.workspace = true\ny = { version = \"1\", features = [\n  \"f\",\n] }\n\
                    [[bin]]\nz = 1\n";
        let found: Vec<_> = entries(text)
            .into_iter()
            .map(|entry| (entry.line, entry.path.join("|"), entry.value))
            .collect();
        let expected = [
            (2, "name", "\"a # b\""),
            (5, "target|cfg(a.b)|dependencies|x|workspace", "true"),
            (
                6,
                "target|cfg(a.b)|dependencies|y",
                "{ version = \"1\", features = [\"f\",] }",
            ),
            (10, "bin|z", "1"),
        ];
        let expected =
            expected.map(|(line, path, value)| (line, path.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }
}
