//! The access log.

use std::io::Write;
use std::sync::{Arc, Mutex};

use semel_listen::{AccessLog, Settings};
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{get, start};

/// Lines that were logged by the thread of one test.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What is logged while these paths are asked for, line by line.
fn logged(access_log: AccessLog, paths: &[&str]) -> Vec<String> {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let running = start(Settings {
                access_log,
                ..Settings::default()
            });
            for path in paths {
                get(running.connect().await, path).await;
            }
            running.drained().await;
        });
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let lines = text.lines().filter(|line| line.contains("semel::access"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_line_says_what_was_asked_and_answered_and_no_secret() {
    let lines = logged(AccessLog::All, &["/orders/7?token=s3cret"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    for said in [
        "port=\"test\"",
        "peer=127.0.0.1",
        "method=\"GET\"",
        "path=\"/orders/7\"",
        "version=HTTP/1.1",
        "status=200",
        "bytes=9",
        "took_us=",
        "whole=true",
    ] {
        assert!(lines[0].contains(said), "{said} in {}", lines[0]);
    }
    assert!(
        !lines[0].contains("s3cret") && !lines[0].contains("Host"),
        "{}",
        lines[0]
    );
}

#[test]
fn only_what_is_asked_for_is_logged() {
    let paths = ["/a", "/problem", "/b", "/broken"];
    assert!(logged(AccessLog::Off, &paths).is_empty());
    assert_eq!(logged(AccessLog::All, &paths).len(), 4);
    assert_eq!(logged(AccessLog::Sample(0.5), &paths).len(), 2);
    let errors = logged(AccessLog::Errors, &paths);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(
        errors[0].contains("/problem") && errors[1].contains("/broken"),
        "{errors:?}"
    );
}
