//! Looks at a gateway's admin side as browsers and scrapers do.

use std::net::SocketAddr;

use semel_core::{Error, Kind, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::machine::io;

/// The pages that are open, each in a browser of its own.
pub(super) const PAGES: [&str; 4] = ["%2F", "%2Fkeys", "%2Funknown", "%2Fduplicates"];
/// The most of an answer that is kept.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Open pages, each kept up to date by the server; closed when dropped.
#[derive(Debug)]
pub(super) struct Browsers {
    _streams: JoinSet<()>,
}

impl Browsers {
    /// Opens each page, and waits until its first update has come.
    pub(super) async fn open(admin: SocketAddr) -> Result<Self> {
        let mut streams = JoinSet::new();
        for page in PAGES {
            let mut stream = get(admin, &format!("/live?page={page}")).await?;
            await_update(&mut stream, page).await?;
            // What a browser does with updates is not the gateway's cost.
            streams.spawn(async move {
                let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            });
        }
        Ok(Self { _streams: streams })
    }
}

async fn await_update(stream: &mut TcpStream, page: &str) -> Result<()> {
    let mut read = Vec::new();
    while !read.windows(12).any(|part| part == b"event: live\n") {
        let more = stream.read_buf(&mut read).await;
        if more.map_err(io("reading a page"))? == 0 || read.len() as u64 > ANSWER_BYTES_MAX {
            let message = format!("the dashboard must send updates of {page}, found none");
            return Err(Error::new(Kind::Unavailable, message));
        }
    }
    Ok(())
}

/// The sum of a counter's series whose labels contain `label`, from the metrics of a gateway.
pub(super) async fn counter(admin: SocketAddr, name: &str, label: &str) -> Result<f64> {
    let stream = get(admin, "/metrics").await?;
    let mut text = String::new();
    stream
        .take(ANSWER_BYTES_MAX)
        .read_to_string(&mut text)
        .await
        .map_err(io("reading metrics"))?;
    Ok(sum(&text, name, label))
}

fn sum(text: &str, name: &str, label: &str) -> f64 {
    let series = text.lines().filter_map(|line| line.strip_prefix(name));
    let values = series.filter_map(|rest| {
        let (labels, value) = rest.strip_prefix('{')?.rsplit_once("} ")?;
        labels.contains(label).then(|| value.parse::<f64>().ok())?
    });
    values.sum()
}

async fn get(admin: SocketAddr, path: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(admin)
        .await
        .map_err(io("connecting to the admin side"))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .map_err(io("asking the admin side"))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Answers every connection with the same text.
    async fn admin(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut read = Vec::new();
                while !read.ends_with(b"\r\n\r\n") {
                    stream.read_buf(&mut read).await.unwrap();
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        address
    }

    #[tokio::test]
    async fn a_page_is_open_once_an_update_has_come() {
        let live = admin("HTTP/1.1 200 OK\r\n\r\nevent: live\ndata: x\n\n").await;
        assert!(Browsers::open(live).await.is_ok());
        let refused = admin("HTTP/1.1 401 Unauthorized\r\n\r\n").await;
        let error = Browsers::open(refused).await.unwrap_err().to_string();
        assert!(error.contains("must send updates"), "{error}");
    }

    #[tokio::test]
    async fn series_of_a_counter_are_added_by_label() {
        let text = "HTTP/1.1 200 OK\r\n\r\n# TYPE a_total counter\na_total{x=\"1\",y=\"2\"} 3\na_total{x=\"1\",y=\"3\"} 4\n\
                    a_total{x=\"2\"} 9\na_total_more{x=\"1\"} 9\n";
        let admin = admin(text).await;
        assert_eq!(counter(admin, "a_total", "x=\"1\"").await.unwrap(), 7.0);
        assert_eq!(counter(admin, "a_total", "").await.unwrap(), 16.0);
        assert_eq!(counter(admin, "b_total", "").await.unwrap(), 0.0);
    }
}
