//! Finds functions and test modules in the code view of a Rust source.
//!
//! It counts brackets, which is reliable because literals and comments are blank.

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    /// The line of its name, from 1.
    pub(super) line: usize,
    /// How many lines lie between the braces of its body.
    pub(super) body_lines: usize,
}

/// Every function with a body, nested ones included.
pub(super) fn functions(code: &str) -> Vec<Function<'_>> {
    words(code, "fn")
        .filter_map(|at| function(code, at + "fn".len()))
        .collect()
}

/// Where the inline test module begins, or the end of the code.
pub(super) fn test_module(code: &str) -> usize {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    code.match_indices(ATTRIBUTE)
        .map(|(at, _)| at)
        .find(|at| opens_module(&code[at + ATTRIBUTE.len()..]))
        .unwrap_or(code.len())
}

/// The places where `word` stands on its own.
pub(super) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = code[..*at].chars().next_back();
            let after = code[at + word.len()..].chars().next();
            !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
        })
}

/// The line of a place in the text, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn function(code: &str, after_fn: usize) -> Option<Function<'_>> {
    let rest = &code[after_fn..];
    let begin = after_fn + (rest.len() - rest.trim_start().len());
    let name = &code[begin..];
    let end = name.find(|c: char| !c.is_alphanumeric() && !"_#$".contains(c))?;
    if end == 0 {
        // A function pointer type, which has no name.
        return None;
    }
    let open = begin + body_start(name)?;
    let close = open + closing_brace(&code[open..])?;
    Some(Function {
        name: &name[..end],
        line: line_of(code, begin),
        body_lines: code[open..close].matches('\n').count().saturating_sub(1),
    })
}

/// The brace that opens the body; nothing if a semicolon ends the signature first.
fn body_start(signature: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in signature.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            '{' if depth == 0 => return Some(at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn closing_brace(body: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            _ => continue,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Whether a module with a body follows, after further attributes.
fn opens_module(code: &str) -> bool {
    let mut rest = code.trim_start();
    while let Some(attribute) = rest.strip_prefix("#[") {
        let Some(end) = attribute.find("]\n") else {
            return false;
        };
        rest = attribute[end + 1..].trim_start();
    }
    let Some(module) = rest.strip_prefix("mod ") else {
        return false;
    };
    let opening = module.find(['{', ';']);
    opening.is_some_and(|at| module[at..].starts_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_measured_between_their_braces() {
        let code = "fn one() {}\n\
                    trait T { fn none(&self) -> [u8; 2]; }\n\
                    type P = fn(u8) -> u8;\n\
                    fn two(f: fn()) -> u8\nwhere\n    u8: Sized,\n{\n    1;\n    2\n}\n\
                    fn r#fn() {\n    fn inner() {\n    }\n}\n\
                    fn unclosed() {\n";
        let found: Vec<_> = functions(code)
            .into_iter()
            .map(|f| (f.name, f.line, f.body_lines))
            .collect();
        let expected = [
            ("one", 1, 0),
            ("two", 4, 2),
            ("r#fn", 11, 2),
            ("inner", 12, 0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_an_inline_test_module_ends_the_code() {
        let table = [
            ("a\n#[cfg(test)]\nmod tests {\n}\n", 2),
            ("#[cfg(test)]\nuse a;\n#[cfg(test)]\n#[x]\nmod t {}\n", 20),
            ("#[cfg(test)]\nmod tests;\nfn a() {}\n", 34),
            ("fn a() {}\n", 10),
        ];
        for (code, expected) in table {
            assert_eq!(test_module(code), expected, "{code}");
        }
    }
}
