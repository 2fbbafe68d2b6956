//! A server on a loopback socket that plays one step of its script per connection.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::reply::Reply;
use super::seen::Seen;

/// What the server does with one connection.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Reads the request and answers.
    Answer(Reply),
    /// Closes the connection without reading.
    HangUp,
    /// Reads the request, which may have taken effect, and closes the connection.
    ReadAndHangUp,
    /// Reads the request and answers never; ends when the client does.
    Silence,
}

impl From<Reply> for Step {
    fn from(reply: Reply) -> Self {
        Self::Answer(reply)
    }
}

/// The server; it stops when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    stage: Arc<Stage>,
    task: JoinHandle<()>,
}

/// What the connections share.
struct Stage {
    state: Mutex<State>,
    read: Notify,
}

/// The last step of the script repeats, so that a try too many is seen, not stuck.
struct State {
    script: VecDeque<Step>,
    seen: Vec<Seen>,
}

impl State {
    fn next(&mut self) -> Step {
        match self.script.len() {
            1 => self.script[0].clone(),
            _ => self.script.pop_front().unwrap(),
        }
    }
}

impl Stage {
    /// Takes the next step for a connection that has not been read, if it is to stay so.
    fn hangs_up(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        let hangs_up = matches!(state.script[0], Step::HangUp);
        if hangs_up {
            state.next();
        }
        hangs_up
    }

    /// Writes the request down and takes the next step for it.
    fn enter(&self, seen: Seen) -> Step {
        let mut state = self.state.lock().unwrap();
        state.seen.push(seen);
        self.read.notify_one();
        state.next()
    }
}

impl Server {
    /// A server that plays `script` and repeats its last step.
    pub(crate) async fn start<S: Into<Step>>(script: impl IntoIterator<Item = S>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Mutex::new(State {
            script: script.into_iter().map(Into::into).collect(),
            seen: Vec::new(),
        });
        let read = Notify::new();
        let stage = Arc::new(Stage { state, read });
        let task = tokio::spawn(serve(listener, Arc::clone(&stage)));
        Self {
            address,
            stage,
            task,
        }
    }

    /// A URL that this server answers.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/payments?a=1", self.address)
    }

    /// The requests that were read so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.stage.state.lock().unwrap().seen.clone()
    }

    /// Waits until one more request has been read.
    pub(crate) async fn reached(&self) {
        self.stage.read.notified().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, stage: Arc<Stage>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        if !stage.hangs_up() {
            tokio::spawn(play(stream, Arc::clone(&stage)));
        }
    }
}

async fn play(mut stream: TcpStream, stage: Arc<Stage>) {
    let Some(seen) = Seen::read(&mut stream).await else {
        return;
    };
    match stage.enter(seen) {
        Step::Answer(reply) => {
            // A client that has read enough may be gone before the end.
            let _ = stream.write_all(&reply.to_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Step::Silence => drop(stream.read_u8().await),
        Step::HangUp | Step::ReadAndHangUp => {}
    }
}
