//! The name that was probably meant.

/// The longest word that is compared, in characters.
const LENGTH_MAX: usize = 64;
/// The least that tells which word was begun, in characters.
const BEGINNING_MIN: usize = 3;

/// The one of `names` that begins with `word`, or is at most a typing mistake or two away.
pub fn closest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let word: Vec<char> = lower.chars().take(LENGTH_MAX).collect();
    let begun = |name: &&&str| word.len() >= BEGINNING_MIN && name.starts_with(&lower);
    if let Some(name) = names.iter().find(begun) {
        return Some(name);
    }
    let allowed = (word.len() / 3).clamp(1, 2);
    let near = names.iter().map(|name| (steps(&word, name), *name));
    let near = near.filter(|(distance, _)| *distance <= allowed);
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many characters must be put in, left out, replaced or swapped with their neighbour, whatever their case.
pub fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.to_lowercase().chars().collect();
    steps(&one, other)
}

fn steps(one: &[char], other: &str) -> usize {
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_is_recognised_and_another_word_is_not() {
        let names = ["listen", "lease", "retention", "key", "off"];
        for (word, expected) in [
            ("listn", Some("listen")),
            ("lsiten", Some("listen")),
            ("leese", Some("lease")),
            ("retentoin", Some("retention")),
            ("keys", Some("key")),
            ("of", Some("off")),
            ("LEASE", Some("lease")),
            ("reten", Some("retention")),
            ("colour", None),
            ("", None),
            ("abc", None),
        ] {
            assert_eq!(closest(word, &names), expected, "{word}");
        }
    }
}
