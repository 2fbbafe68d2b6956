//! The service as a process: started, killed, and started again.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use semel_core::{Error, Kind, Result};

/// A running service process; killed when dropped.
#[derive(Debug)]
pub(super) struct Service {
    options: Vec<OsString>,
    child: Child,
    address: SocketAddr,
}

impl Service {
    /// Starts this very program as the service, with these options, and waits until it listens.
    pub(super) async fn start(options: Vec<OsString>) -> Result<Self> {
        let (child, address) = spawned(options.clone()).await?;
        Ok(Self {
            options,
            child,
            address,
        })
    }

    /// Where it listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the process with SIGKILL and starts another on the same data.
    pub(super) async fn kill_and_restart(&mut self) -> Result<()> {
        self.kill();
        (self.child, self.address) = spawned(self.options.clone()).await?;
        Ok(())
    }

    fn kill(&mut self) {
        // It may be dead already, which is what was wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The service may wait for its port: on a thread that may wait, too.
async fn spawned(options: Vec<OsString>) -> Result<(Child, SocketAddr)> {
    let spawning = tokio::task::spawn_blocking(move || spawn(&options));
    spawning.await.map_err(|error| {
        Error::new(Kind::Internal, "the demo's service was not started").caused_by(error)
    })?
}

fn spawn(options: &[OsString]) -> Result<(Child, SocketAddr)> {
    let failed =
        |e| Error::new(Kind::Unavailable, "the demo's service does not start").caused_by(e);
    let program = std::env::current_exe().map_err(failed)?;
    // The service ends when its standard input does, so that it never outlives the demo.
    let mut child = Command::new(program)
        .arg("demo-service")
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout)
            .read_line(&mut line)
            .map_err(failed)?;
    }
    match line.trim().parse() {
        Ok(address) => Ok((child, address)),
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            let message = format!("the demo's service must say where it listens, said {line:?}");
            Err(Error::new(Kind::Unavailable, message))
        }
    }
}
