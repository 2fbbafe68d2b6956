use semel_core::Verdict;

use super::*;

fn outcome(body: &'static str) -> Outcome {
    let fields = [
        ("content-type", "application/json"),
        ("etag", "\"v1\""),
        ("x-secret", "s3cret"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.into()));
    Outcome {
        verdict: Verdict::Succeeded,
        status: 201,
        headers: Headers::new(fields.to_vec()).unwrap(),
        body: Body::Kept(body.into()),
    }
}

fn names(outcome: &Outcome) -> Vec<String> {
    let names = outcome.headers.iter().map(|(name, _)| name.to_owned());
    names.collect()
}

fn redact(path: &str, header: &'static str) -> Stored {
    Stored {
        without: vec![path.parse().unwrap()],
        without_headers: vec![HeaderName::from_static(header)],
        ..Stored::default()
    }
}

#[test]
fn what_is_taken_out_is_named_and_what_describes_the_exact_body_goes_too() {
    let stored = redact("$.card", "x-secret").of(outcome(r#"{"card":"4111","n":1}"#));
    let body = stored.body.kept().unwrap();
    assert_eq!(body, r#"{"card":"[redacted]","n":1}"#);
    assert_eq!(names(&stored), ["semel-redacted", "content-type"]);
    assert_eq!(stored.headers.iter().next().unwrap().1, "body, headers");
}

#[test]
fn a_body_in_which_nothing_can_be_found_for_certain_is_not_kept() {
    let stored = redact("$.card", "x-none").of(outcome("card 4111"));
    assert_eq!(stored.body.kept(), None);
    assert_eq!(stored.body.len(), 9);
    assert_eq!(names(&stored), ["content-type", "x-secret"]);
}

#[test]
fn what_has_nothing_to_take_out_stays_as_it_is() {
    let whole = outcome(r#"{"n": 1}"#);
    let stored = redact("$.card", "x-none").of(whole.clone());
    assert_eq!((stored.body, stored.headers), (whole.body, whole.headers));
}

#[test]
fn contents_are_all_the_head_or_the_status() {
    let of = |contents| {
        let stored = Stored {
            contents,
            ..Stored::default()
        };
        let stored = stored.of(outcome("{}"));
        (
            stored.status,
            names(&stored).len(),
            stored.body.kept().is_some(),
        )
    };
    assert_eq!(of(Contents::Full), (201, 3, true));
    assert_eq!(of(Contents::Head), (201, 3, false));
    assert_eq!(of(Contents::Status), (201, 0, false));
}
