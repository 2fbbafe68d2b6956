//! The service `redis`: one server.

use std::path::PathBuf;

use crate::error::{Error, Result};

use super::super::endpoint::{Endpoint, password, user};
use super::super::service::{Service, Status};
use super::super::setting::Setting;
use super::super::slot::Place;
use super::super::{home, port, secret};
use super::node::{self, Node};
use super::wire::{self, Login};

/// The service `redis`.
pub(in super::super) struct Redis;

impl Service for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_REDIS_URL"
    }

    fn answers(&self, address: &str) -> Result<()> {
        let login = Login {
            user: user(address),
            password: password(address),
        };
        wire::ask(&endpoint(address)?, login, &["PING"]).map(drop)
    }

    fn status(&self, place: &Place) -> Status {
        if !place.exists() {
            return Status::Down;
        }
        let Some((node, address)) = recorded(place) else {
            return Status::Broken("an earlier start did not finish".into());
        };
        if node.process().is_none() {
            return Status::Broken("its process is gone".into());
        }
        match self.answers(&address) {
            Ok(()) => Status::Up(address),
            Err(error) => Status::Broken(error.to_string()),
        }
    }

    fn processes(&self, place: &Place) -> Vec<u32> {
        let node = recorded(place).map(|(node, _)| node);
        node.and_then(|node| node.process()).into_iter().collect()
    }

    fn up(&self, place: &Place, settings: &[Setting]) -> Result<String> {
        node::find_or_install()?;
        stop(place)?;
        // A server that is started again keeps its address, which shells may hold.
        let earlier = place.address();
        let earlier = earlier.as_deref();
        let secret = match earlier.and_then(password) {
            Some(secret) => secret.to_owned(),
            None => secret::password()?,
        };
        let port = port::free(earlier.and_then(|url| Some(endpoint(url).ok()?.port)))?;
        home::remove(place)?;
        let account = node::account()?;
        let dir = home::create(place, account)?;
        let node = Node { dir, port, secret };
        // Recorded first, so that a server that starts too late is also found.
        let address = format!("redis://:{}@127.0.0.1:{port}/0", node.secret);
        place.record_address(&address)?;
        node.configure(account, settings)?;
        node.start(account)?;
        Ok(address)
    }

    fn restart(&self, place: &Place) -> Result<String> {
        let (node, address) =
            recorded(place).ok_or_else(|| Error::failed("there is no redis that was started"))?;
        node.kill()?;
        node.start(node::account()?)?;
        Ok(address)
    }

    fn down(&self, place: &Place) -> Result<()> {
        stop(place)?;
        home::remove(place)?;
        place.forget()
    }
}

/// The server that was started in `place`, and its address.
fn recorded(place: &Place) -> Option<(Node, String)> {
    let address = place.address()?;
    let node = of_address(place.home()?, &address)?;
    Some((node, address))
}

fn of_address(dir: PathBuf, address: &str) -> Option<Node> {
    Some(Node {
        dir,
        port: endpoint(address).ok()?.port,
        secret: password(address)?.to_owned(),
    })
}

/// Its data is about to be removed, so it need not save any.
fn stop(place: &Place) -> Result<()> {
    recorded(place).map_or(Ok(()), |(node, _)| node.kill())
}

fn endpoint(url: &str) -> Result<Endpoint> {
    Endpoint::parse(url, &["redis"], 6379)
}
