//! A service that speaks SQS in the words of a test, for what a real server does not say.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// A service that answers calls of these names with these bodies, and any other with one that names a queue without attributes.
/// A call whose body is empty is never answered.
pub(crate) struct Service {
    pub(crate) endpoint: String,
    asked: Arc<Mutex<Vec<String>>>,
    serving: AbortHandle,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Service {
    pub(crate) async fn new(answers: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (known, queue) = (asked.clone(), format!(r#"{{"QueueUrl":"{endpoint}/1/q"}}"#));
        let answers: Vec<(String, String)> = answers
            .iter()
            .map(|(name, body)| {
                (
                    format!("x-amz-target: amazonsqs.{name}\r\n").to_ascii_lowercase(),
                    (*body).to_owned(),
                )
            })
            .collect();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (known, queue, answers) = (known.clone(), queue.clone(), answers.clone());
                tokio::spawn(async move { answer(stream, &known, &queue, &answers).await });
            }
        });
        Self {
            endpoint,
            asked,
            serving: serving.abort_handle(),
        }
    }

    /// The requests that came so far, as they were written.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The URL of a queue of this name, with these options.
    pub(crate) fn url(&self, queue: &str, options: &str) -> String {
        format!(
            "sqs://eu-central-1/{queue}?endpoint={}&credentials=none&{options}",
            self.endpoint
        )
    }
}

/// Answers one request, and ends the connection.
async fn answer(
    mut stream: TcpStream,
    known: &Mutex<Vec<String>>,
    queue: &str,
    answers: &[(String, String)],
) {
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut part).await.unwrap_or_default();
        request.extend_from_slice(&part[..count]);
        // All requests end with the only object in them.
        if count == 0 || request.ends_with(b"}") {
            break;
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let lower = request.to_ascii_lowercase();
    known.lock().unwrap().push(request);
    let mut found = answers.iter().filter(|(name, _)| lower.contains(name));
    let body = found.next().map_or(queue, |(_, body)| body);
    if body.is_empty() {
        return std::future::pending().await;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // A caller that has gone does not wait for it.
    let _ = stream.write_all(answer.as_bytes()).await;
}
