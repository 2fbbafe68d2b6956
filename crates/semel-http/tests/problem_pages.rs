//! The pages under `docs/problems/` are what the catalogue says. `cargo xtask docs` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use semel_http::problem::{Ran, Type};

/// Set by `cargo xtask docs`.
const WRITE: &str = "SEMEL_WRITE_DOCS";
const NOTE: &str =
    "<!-- Written by `cargo xtask docs` from crates/semel-http/src/problem/catalogue.rs. -->\n";
const INDEX: &str = "\
# Problems

Every refusal of every port (gateway, layer, claims API, admin, webhooks) is `application/problem+json` (RFC 9457):

```json
{
  \"type\": \"urn:semel:problem:in-progress\",
  \"title\": \"The first request with this key is still running\",
  \"status\": 409,
  \"detail\": \"the first request with this key has no outcome yet, ask again later\",
  \"ran\": \"maybe\"
}
```

- `type` never changes its meaning: decide by it. `title` and `detail` are for people. Some types have more members.
- `ran` says whether the operation took effect. `no`: this request ran nothing and changed nothing. `maybe`: the operation may
  have taken effect, by this request or by an earlier one with the same key. `yes`: it took effect.
- `Retry-After` is there if the same request is worth sending again. Keep the key.
- `Link: <URL>; rel=\"describedby\"` leads to the page about the type, one of those below.
- 401 has `WWW-Authenticate`. 405 has `Allow`.
- A vendor profile (`profile: stripe`) may change the status and adds the members that the vendor's clients read.

";

fn dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/problems")
}

fn ran(ran: Ran) -> &'static str {
    match ran {
        Ran::No => "no: this request ran nothing and changed nothing",
        Ran::Maybe => {
            "maybe: the operation may have taken effect, by this request or by an earlier one"
        }
        Ran::Yes => "yes: the operation took effect",
    }
}

fn retry(kind: Type) -> String {
    match kind.retry_after() {
        Some(wait) => format!("{} s, unless the occurrence says otherwise", wait.as_secs()),
        None => "none".to_owned(),
    }
}

fn page(kind: Type) -> String {
    let mut page = format!("# `{}`: {}\n\n{NOTE}\n", kind.name(), kind.title());
    let rows = [
        ("type", format!("`urn:semel:problem:{}`", kind.name())),
        ("status", kind.status().to_string()),
        ("sent by", kind.sent_by().to_owned()),
        ("`ran`", ran(kind.ran()).to_owned()),
        ("`Retry-After`", retry(kind)),
    ];
    page.push_str("| | |\n|---|---|\n");
    for (name, value) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {name} | {value} |");
    }
    if let Some(challenge) = kind.challenge() {
        let _ = writeln!(page, "| `WWW-Authenticate` | `{challenge}` |");
    }
    let (about, advice) = (kind.about(), kind.advice());
    let _ = write!(
        page,
        "\n**When.** {about}\n\n**What to do.** {advice}\n\n[All problems](README.md)\n"
    );
    page
}

fn index() -> String {
    let mut index = format!(
        "{INDEX}{NOTE}\n| problem | status | ran | sent by | title |\n|---|---|---|---|---|\n"
    );
    for kind in Type::ALL {
        let (name, status, ran) = (kind.name(), kind.status().as_u16(), kind.ran().name());
        let (by, title) = (kind.sent_by(), kind.title());
        let _ = writeln!(
            index,
            "| [`{name}`]({name}.md) | {status} | {ran} | {by} | {title} |"
        );
    }
    index
}

fn pages() -> BTreeMap<String, String> {
    let one = |kind: &Type| (format!("{}.md", kind.name()), page(*kind));
    let mut pages: BTreeMap<_, _> = Type::ALL.iter().map(one).collect();
    pages.insert("README.md".to_owned(), index());
    pages
}

#[test]
fn every_problem_has_its_page_and_no_page_is_stale() {
    let (dir, pages) = (dir(), pages());
    if std::env::var_os(WRITE).is_some() {
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        for (name, text) in &pages {
            fs::write(dir.join(name), text).unwrap();
        }
    }
    let found: BTreeMap<String, String> = fs::read_dir(&dir)
        .unwrap_or_else(|error| panic!("docs/problems: {error}; run `cargo xtask docs`"))
        .map(|entry| {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), text)
        })
        .collect();
    for name in pages.keys().chain(found.keys()) {
        assert!(
            pages.get(name) == found.get(name),
            "docs/problems/{name} is not what the catalogue says; run `cargo xtask docs`"
        );
    }
}
