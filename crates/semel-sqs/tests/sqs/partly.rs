//! Calls of which a part is done, and calls without an answer.

use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_inbox::source::{Settle, Settled};
use semel_sqs::{SqsOutlet, SqsSource};
use semel_testkit::sources::taking::{settle, take};
use tokio::time::Instant;

use crate::common::message;
use crate::service::Service;

fn messages(count: usize) -> Vec<Outgoing> {
    let messages = (0..count).map(|number| message(number, None, Vec::new()));
    messages.collect()
}

fn failed(id: usize, code: &str, sender: bool) -> String {
    format!(r#"{{"Id":"{id}","Code":"{code}","SenderFault":{sender},"Message":"said"}}"#)
}

#[tokio::test]
async fn each_entry_of_a_call_is_judged_by_its_code() {
    let codes = [
        ("RequestThrottled", true),
        ("KmsThrottled", true),
        ("KmsAccessDenied", true),
        ("InvalidMessageContents", true),
        ("InternalError", false),
        ("ServiceUnavailable", false),
    ];
    let entries = codes.iter().enumerate();
    let entries = entries.map(|(at, (code, sender))| failed(at + 1, code, *sender));
    let body = format!(
        r#"{{"Successful":[{{"Id":"0","MessageId":"i","MD5OfMessageBody":"x"}}],"Failed":[{}]}}"#,
        entries.collect::<Vec<_>>().join(",")
    );
    let service = Service::new(&[("SendMessageBatch", body.as_str())]).await;
    let outlet = SqsOutlet::from_url(&service.url("q", "")).unwrap();
    let sent = outlet.send(messages(8)).await;
    assert!(
        matches!(
            sent[..],
            [
                Sent::Done(_),
                Sent::NotSent(_),
                Sent::NotSent(_),
                Sent::NotSent(_),
                Sent::Refused(_),
                Sent::Unknown(_),
                Sent::NotSent(_),
                Sent::Unknown(_),
            ]
        ),
        "{sent:?}"
    );
}

#[tokio::test]
async fn a_throttled_answer_is_possible_later_and_a_receipt_that_is_not_taken_is_gone() {
    let one =
        |id: usize| format!(r#"{{"MessageId":"m-{id}","ReceiptHandle":"r-{id}","Body":"x"}}"#);
    let received = format!(r#"{{"Messages":[{},{},{}]}}"#, one(0), one(1), one(2));
    let entries = [
        failed(0, "RequestThrottled", true),
        failed(1, "ReceiptHandleIsInvalid", true),
    ];
    let settled = format!(
        r#"{{"Successful":[{{"Id":"2"}}],"Failed":[{}]}}"#,
        entries.join(",")
    );
    let answers = [
        ("ReceiveMessage", received.as_str()),
        ("DeleteMessageBatch", settled.as_str()),
        ("ChangeMessageVisibilityBatch", settled.as_str()),
    ];
    let service = Service::new(&answers).await;
    let source = SqsSource::from_url(&service.url("q", "pollers=1"), "billing").unwrap();
    source.open(Vec::new()).await.unwrap();
    let found = take(&source, 3).await;
    for how in [Settle::Ack, Settle::Extend, Settle::Back(Duration::ZERO)] {
        let settled = settle(&source, &found, how).await;
        let expected = [Settled::Later, Settled::Gone, Settled::Done];
        assert_eq!(settled, expected, "{how:?}");
    }
}

#[tokio::test]
async fn after_a_call_without_an_answer_the_rest_is_not_sent() {
    let service = Service::new(&[("SendMessageBatch", "")]).await;
    let outlet = SqsOutlet::from_url(&service.url("q", "timeout=1s")).unwrap();
    let began = Instant::now();
    let sent = outlet.send(messages(35)).await;
    assert!(began.elapsed() < Duration::from_secs(3));
    let is_unknown: Vec<bool> = sent
        .iter()
        .map(|sent| matches!(sent, Sent::Unknown(_)))
        .collect();
    assert_eq!(
        is_unknown,
        [[true; 10].as_slice(), &[false; 25]].concat(),
        "{sent:?}"
    );
    assert!(
        sent[10..]
            .iter()
            .all(|sent| matches!(sent, Sent::NotSent(_)))
    );
}
