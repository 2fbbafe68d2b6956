//! The store of one case, with the inbox and a table of the user's own beside it.

mod postgres;
mod sqlite;

use std::path::PathBuf;
use std::sync::Arc;

use semel_core::inbox::{
    Action, Arrivals, Detail, Inbox, Operation, Plan, Receipt, Selection, State,
};
use semel_core::store::Actor;
use semel_core::{Identity, Key};
use semel_inbox::{Ctx, Done, Failure};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::workshop::eventually;

/// Fails with what to do if there is no server to test with.
pub(crate) fn check_server() {
    drop(postgres::url());
}

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// The name in the test's report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// Where a store is, for all processes of a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum StoreAddress {
    Sqlite { file: PathBuf },
    Postgres { url: String, schema: String },
}

/// What a handler does last in its own transaction, before the commit. An error rolls it back.
pub(crate) type BeforeCommit = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

impl StoreAddress {
    /// The inbox, as any process opens it.
    pub(crate) async fn open(&self) -> Arc<dyn Inbox> {
        match self {
            Self::Sqlite { file } => sqlite::open(file),
            Self::Postgres { url, schema } => postgres::open(url, schema).await,
        }
    }

    /// Writes a row and the message's end in one transaction. A replay replaces the row it finds.
    pub(crate) async fn apply(
        &self,
        ctx: &Ctx,
        before_commit: BeforeCommit,
    ) -> Result<Done, Failure> {
        match self {
            Self::Sqlite { file } => sqlite::apply(file.clone(), ctx.clone(), before_commit).await,
            Self::Postgres { url, schema } => {
                postgres::apply(url, schema, ctx, before_commit).await
            }
        }
    }

    /// The messages that rows were written for, counted by whoever looks into the database.
    pub(crate) async fn rows(&self) -> Vec<String> {
        match self {
            Self::Sqlite { file } => sqlite::rows(file),
            Self::Postgres { url, schema } => postgres::rows(url, schema).await,
        }
    }
}

/// A store that only one case uses.
pub(crate) struct Stage {
    pub(crate) place: StoreAddress,
    pub(crate) inbox: Arc<dyn Inbox>,
    _dir: TempDir,
}

impl Stage {
    /// A fresh store; `number` is no other case's.
    pub(crate) async fn set(kind: Kind, number: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = match kind {
            Kind::Sqlite => StoreAddress::Sqlite {
                file: dir.path().join("semel.db"),
            },
            Kind::Postgres => StoreAddress::Postgres {
                url: postgres::url(),
                schema: format!("windows_{}_{number}", std::process::id()),
            },
        };
        let inbox = place.open().await;
        match &place {
            StoreAddress::Sqlite { file } => sqlite::prepare(file),
            StoreAddress::Postgres { url, schema } => postgres::prepare(url, schema).await,
        }
        Self {
            place,
            inbox,
            _dir: dir,
        }
    }

    /// Removes what would outlive the process.
    pub(crate) async fn clear(place: &StoreAddress) {
        if let StoreAddress::Postgres { url, schema } = place {
            postgres::remove(url, schema).await;
        }
    }

    /// Receives one message.
    pub(crate) async fn receive(
        &self,
        plan: &Plan,
        message: semel_core::inbox::Message,
    ) -> Receipt {
        let arrivals = Arrivals {
            plan: plan.clone(),
            messages: vec![message],
            positions: Vec::new(),
        };
        self.inbox.receive(arrivals).await.unwrap()[0]
    }

    /// All that is known of a message.
    pub(crate) async fn detail(&self, message: &Identity) -> Option<Detail> {
        self.inbox.message(message.clone()).await.unwrap()
    }

    /// Waits until a message is in this state.
    pub(crate) async fn until(&self, message: &Identity, state: State) -> Detail {
        let look = async || {
            let detail = self.detail(message).await;
            detail.filter(|detail| detail.entry.state == state)
        };
        eventually(&format!("{message} is {}", state.name()), look).await
    }

    /// Waits until nothing is left to do.
    pub(crate) async fn rest(&self) {
        let look = async || {
            let counts = self.inbox.counts().await.unwrap();
            let pending: u64 = counts.iter().map(|counts| counts.pending()).sum();
            (pending == 0).then_some(())
        };
        eventually("nothing is left to do", look).await;
    }

    /// Does something with one message by hand.
    pub(crate) async fn operate(&self, plan: &Plan, id: &str, action: Action) {
        let operation = Operation {
            plan: plan.clone(),
            select: Selection {
                ids: vec![Key::new(id).unwrap()],
                ..Selection::default()
            },
            action,
            by: Actor::new("ada").unwrap(),
            reason: None,
            verb: "by hand",
            dry_run: false,
            edit: None,
        };
        let report = self.inbox.operate(operation).await.unwrap();
        assert_eq!(report.changed, 1, "{report:?}");
    }
}
