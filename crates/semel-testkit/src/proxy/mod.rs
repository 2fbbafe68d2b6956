//! A TCP proxy on loopback that misbehaves on demand: connections are cut in the middle of a reply,
//! replies are lost, bytes stand still, connections are refused.
//!
//! ```
//! use semel_testkit::proxy::Proxy;
//!
//! # async fn example(server: std::net::SocketAddr) {
//! let proxy = Proxy::start(server).await;
//! // A store connects to `proxy.addr()` and is warm. From here on, on every open connection:
//! proxy.cut_after(0); // the server does what it is asked next, and its answer is lost
//! # }
//! ```
//!
//! Rules are in force when the call that makes them returns: no byte that the server sends later is
//! treated by the rules before. The proxy understands no protocol. A server that tells its clients
//! other addresses, such as a node of a cluster, leads them past it.

mod link;
mod rules;

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use link::Link;
use rules::Rules;

/// What a proxy has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections that were handed on, closed ones included.
    pub connections: usize,
    /// Connections that are open now.
    pub open: usize,
    /// Connections that were closed at once.
    pub refused: usize,
    /// Connections that the proxy cut.
    pub cut: usize,
    /// Bytes of the server that never reached a client.
    pub swallowed: usize,
}

/// A running proxy; it ends, and every connection through it, when dropped.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    target: watch::Sender<SocketAddr>,
    rules: watch::Sender<Rules>,
    counts: watch::Sender<Counts>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// A proxy in front of `target` that lets everything through.
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port on loopback is free");
        let addr = listener
            .local_addr()
            .expect("a bound listener has an address");
        let (target, led_to) = watch::channel(target);
        let (rules, obeyed) = watch::channel(Rules::default());
        let (counts, _) = watch::channel(Counts::default());
        let accepting = tokio::spawn(accept(listener, led_to, obeyed, counts.clone()));
        Self {
            addr,
            target,
            rules,
            counts,
            accepting,
        }
    }

    /// Where clients connect to.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Leads new connections to `target`; open ones stay where they are, as after a change in the DNS.
    pub fn lead_to(&self, target: SocketAddr) {
        self.target.send_replace(target);
    }

    /// Cuts every open connection, now.
    pub fn cut_all(&self) {
        let born = self.counts().connections;
        self.rules.send_modify(|rules| rules.cut_before = born);
    }

    /// Cuts each open connection once, in the middle of what the server sends: `bytes_from_server`
    /// more bytes pass, and the first byte beyond them ends the connection. With 0 the next request is
    /// served and its answer is lost. Connections that are opened later are left alone.
    pub fn cut_after(&self, bytes_from_server: usize) {
        let born = self.counts().connections;
        self.rules
            .send_modify(|rules| rules.limit(born, bytes_from_server));
    }

    /// Lets requests through and swallows every reply, on new connections too, until
    /// [`Proxy::resume`]: the server does what it is asked, and nobody hears of it.
    pub fn hold_replies(&self) {
        self.rules.send_modify(|rules| rules.holding = true);
    }

    /// Lets no byte pass in either direction, until [`Proxy::resume`].
    pub fn stall(&self) {
        self.rules.send_modify(|rules| rules.stalled = true);
    }

    /// Lets everything pass again. Connections that have lost a reply meanwhile are cut, because what
    /// follows would be taken for it; a cut that [`Proxy::cut_after`] has prepared is called off.
    pub fn resume(&self) {
        self.rules.send_modify(Rules::let_pass);
    }

    /// Whether new connections are accepted and closed at once; open ones go on.
    pub fn refuse(&self, refused: bool) {
        self.rules.send_modify(|rules| rules.refusing = refused);
    }

    /// What has been seen so far.
    pub fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Waits until the counts are as `wanted` says.
    pub async fn until(&self, wanted: impl FnMut(&Counts) -> bool) -> Counts {
        let mut counts = self.counts.subscribe();
        let reached = counts.wait_for(wanted).await;
        *reached.expect("the proxy itself keeps the counts")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Connections end with the rules that they obey.
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    target: watch::Receiver<SocketAddr>,
    rules: watch::Receiver<Rules>,
    counts: watch::Sender<Counts>,
) {
    loop {
        // A connection that failed before it was accepted is its client's loss.
        let Ok((client, _)) = listener.accept().await else {
            continue;
        };
        if rules.borrow().refusing {
            counts.send_modify(|counts| counts.refused += 1);
            continue;
        }
        let mut number = 0;
        counts.send_modify(|counts| {
            number = counts.connections;
            counts.connections += 1;
            counts.open += 1;
        });
        let link = Link::new(number, rules.clone(), counts.clone());
        let target = *target.borrow();
        tokio::spawn(async move {
            if let Ok(server) = TcpStream::connect(target).await {
                link.run(client, server).await;
            }
        });
    }
}
