//! A serving process: the store, the doors that the file names, the admin side, and their end.
//!
//! - `source` brings file, environment and flags together.
//! - `logs` sets up logging; `watch` lets metrics, reports and logs see each request.
//! - `alerts` turns what the file says about alerts into what the admin side takes.
//! - `gateway` turns the file's section into a gateway, `inbox` the consumers and targets into an engine; `policies` is what
//!   operators' acts need of them.
//! - `listening` turns what the file says about a port into what the listener takes, `tokens` what it says about callers of the admin side.
//! - `traces` begins spans and has them sent.
//! - `reconcile` lets operators ask the reconcile URLs of the gateway's routes.
//! - `notify` speaks to the service manager.
//! - `signals` waits for the outside world; `reload` takes a changed file over, and `fixed` knows what it cannot take.
//! - `unserved` names messages that nothing runs.

mod alerts;
mod fixed;
mod gateway;
mod inbox;
mod listening;
mod logs;
mod notify;
mod policies;
mod reconcile;
mod reload;
mod signals;
mod source;
mod tokens;
mod traces;
mod unserved;
mod watch;

pub(crate) use inbox::{
    AtBroker, at_brokers, broker_group, broker_source, needs_inbox, rule, served,
};
pub(crate) use listening::address;
pub(crate) use policies::policies;
use policies::policies_of;
pub(crate) use source::{Flags, Setting, Source};
pub(crate) use tokens::{moment, tokens};
pub(crate) use unserved::unserved;

use std::sync::Arc;

use semel_admin::alerts::Board;
use semel_admin::{
    Admin, Configuration, Current, Health, InboxPart, Metered, Metrics, Parts, Policies,
    Reconciling, Upstream,
};
use semel_core::inbox::Inbox;
use semel_core::{Cached, Once, Tracer};
use semel_gateway::Gateway;
use semel_http::quota::Terms;
use semel_http::{Memory, Quotas};
use semel_policy::{File, file};
use semel_seal::Kek;
use tokio::sync::watch::Receiver;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::stores::{Opened, StoreArgs};
use inbox::Messages;
use reload::Live;
use traces::Traces;
use watch::{StoreWatch, Watchers};

/// How much of the settled records is kept in memory for duplicates that come soon.
const CACHE_BYTES: usize = 32 * 1024 * 1024;

/// Serves until the process is asked to end.
pub(crate) async fn run(source: Source, store: StoreArgs) -> Result<()> {
    run_until(source, store, std::future::pending(), || ()).await
}

/// The same, or until `end`. Asked a second time to end, the process does so at once; `cut_off` is called just before.
pub(crate) async fn run_until(
    source: Source,
    store: StoreArgs,
    end: impl Future<Output = ()> + Send + 'static,
    cut_off: impl FnOnce() + Send + 'static,
) -> Result<()> {
    let file = source.load()?;
    let logs = logs::begin(file.log);
    let store_is_named = store.is_named();
    let store = store.or(file.store.as_ref(), source.path().cloned());
    let store = store.with_keys_of(Some(&file));
    if needs_inbox(&file)? {
        store.must_have_inbox()?;
    }
    let traces = Traces::begin(&file)?;
    let process = Process::open(&store, &file.limits, &traces).await?;
    process.quotas.set(tenant_limits(&file)?);
    process.tell_of_servers().await?;
    let policies = Current::new(policies_of(&file, &source)?);
    process.health.count(listening::readiness(&file.admin));
    process.alerts.set(alerts::settings(&file)?);
    process.explain(&file, &source, Vec::new());
    let admin = process.admin(&file, &policies).await?;
    let gateway = process.gateway(&file)?;
    let (ending, hangups) = (signals::ending(end, cut_off), signals::hangups());
    let mut messages = Messages::default();
    let prepared = messages.prepare(&process, &file).await?;
    messages.take(&process, &file, prepared, ending.clone())?;
    if admin.is_none() && gateway.is_none() && !messages.is_running() {
        return Err(nothing_to_do());
    }
    process.tell_unserved(&policies.get()).await;
    tracing::info!(
        store = store.shown(),
        origin = store.origin(),
        "semel {} is up",
        env!("CARGO_PKG_VERSION")
    );
    notify::ready();
    let live = Live {
        process: &process,
        source,
        started_with: file,
        store_is_named,
        gateway: gateway.as_ref().map(Gateway::handle),
        admin: admin.as_ref().map(Admin::handle),
        policies,
        messages,
        logs,
    };
    let doors = async {
        let gateway = async {
            if let Some(gateway) = gateway {
                serve_gateway(gateway, &process.health, ending.clone()).await;
            }
        };
        let messages = async {
            let messages = live.run(hangups, ending.clone()).await;
            notify::stopping();
            messages.end(&process).await;
        };
        tokio::join!(gateway, messages);
    };
    serve_beside(admin, doors).await;
    traces.end().await;
    tracing::info!("semel ends");
    Ok(())
}

/// Serves the admin side, if there is one, while `doors` serve. It ends last, so that a drain can be watched.
async fn serve_beside(admin: Option<Admin>, doors: impl Future<Output = ()>) {
    let Some(admin) = admin else {
        return doors.await;
    };
    let (done, drained) = tokio::sync::oneshot::channel::<()>();
    let serving = async {
        doors.await;
        drop(done);
    };
    tokio::join!(serving, admin.serve(async { drop(drained.await) }));
}

fn nothing_to_do() -> Error {
    Error::new(
        Exit::Configuration,
        "there is nothing to serve: no gateway, no consumers, and admin is off",
    )
    .hint("name an upstream in the file's gateway section or consumers, or serve the admin side")
}

fn keks(file: &File) -> Result<Vec<Kek>> {
    file.keks()
        .map_err(|error| Error::new(Exit::Configuration, error.to_string()))
}

fn tenant_limits(file: &File) -> Result<Terms> {
    file.tenant_limits()
        .map_err(|error| Error::new(Exit::Configuration, error.to_string()))
}

/// Refuses a gateway section that the gateway would refuse.
pub(crate) fn check_gateway(file: &File) -> Result<()> {
    let section = file.gateway.as_ref();
    section.map_or(Ok(()), |section| gateway::config(section).map(drop))
}

async fn ended(mut ending: Receiver<bool>) {
    // The sender lives as long as the process.
    let _ = ending.wait_for(|ending| *ending).await;
}

async fn serve_gateway(gateway: Gateway, health: &Health, ending: Receiver<bool>) {
    let part = health.part("gateway");
    let drained = gateway
        .serve(async {
            ended(ending).await;
            part.not_ready("draining");
        })
        .await;
    if drained.cut_off > 0 || drained.not_recorded > 0 {
        tracing::warn!(
            requests = drained.cut_off,
            runs = drained.not_recorded,
            "the drain timeout ended: requests were cut off, outcomes of runs are not on record"
        );
    }
}

/// What all doors of the process share.
struct Process {
    once: Once,
    store: Metered,
    opened: Opened,
    health: Health,
    watchers: Watchers,
    /// Which alerts are judged, and how they stand.
    alerts: Board,
    /// What the process runs with, in words.
    configuration: Current<Configuration>,
    /// Whom operators ask about unknown outcomes.
    reconciling: Reconciling,
    /// The bytes of bodies that all doors hold together.
    memory: Memory,
    /// What each tenant may bring to all doors together.
    quotas: Quotas,
    /// What begins the spans of all doors.
    tracer: Tracer,
}

impl Process {
    async fn open(
        store: &StoreArgs,
        limits: &file::ProcessLimits,
        traces: &Traces,
    ) -> Result<Self> {
        let (metrics, health) = (Arc::new(Metrics::new()), Health::default());
        traces.show(&metrics);
        health.watch_sweeps(&metrics);
        let watch = Arc::new(StoreWatch {
            metrics: metrics.clone(),
            health: health.clone(),
        });
        let opened = store.open_serving(watch).await?;
        let cached = Cached::new(opened.store.clone(), CACHE_BYTES);
        let cached = Arc::new(cached);
        let cache = cached.clone();
        metrics.watch_cache(move || cache.lookups());
        metrics.configuration_loaded(opened.now());
        let measured = Metered::new(cached, metrics.clone());
        let memory = Memory::new(limits.buffered_bytes.0.0);
        for (name, budget) in memory.budgets() {
            metrics.watch_budget(name, budget);
        }
        let quotas = Quotas::new(Some(metrics.clone()));
        Ok(Self {
            once: Once::new(measured.clone()),
            store: measured,
            watchers: Watchers::new(metrics, opened.now()),
            opened,
            health,
            alerts: Board::default(),
            configuration: Current::default(),
            reconciling: Reconciling::default(),
            memory,
            quotas,
            tracer: traces.tracer.clone(),
        })
    }

    /// Keeps what this file does in words, for people who look.
    fn explain(&self, file: &File, source: &Source, needs_restart: Vec<&'static str>) {
        let path = source
            .path()
            .map(|path| path.as_path().display().to_string());
        self.configuration.set(Configuration {
            file: path.filter(|_| source.has_file()),
            loaded_at: Some(self.opened.now()),
            explained: semel_policy::explain(file),
            needs_restart,
            refused_at: None,
        });
    }

    /// Keeps that a newer file was refused.
    fn refused(&self) {
        let refused_at = Some(self.opened.now());
        self.configuration.set(Configuration {
            refused_at,
            ..self.configuration.get()
        });
        self.alerts.judge_soon();
    }

    /// What operators should know about the servers behind the store; one that cannot serve is an error.
    async fn tell_of_servers(&self) -> Result<()> {
        for note in self.opened.notes().await? {
            tracing::info!(target: "semel::store", "{note}");
        }
        Ok(())
    }

    /// The inbox, which what the file names needs.
    fn inbox(&self) -> Result<Arc<dyn Inbox>> {
        let inbox = self.opened.inbox.clone();
        inbox.ok_or_else(|| {
            let message = "the inbox needs SQLite or PostgreSQL, and the store is neither";
            Error::new(Exit::Configuration, message)
        })
    }

    /// Names messages that nothing runs.
    async fn tell_unserved(&self, policies: &Policies) {
        if let Some(inbox) = &self.opened.inbox {
            unserved::tell(&**inbox, policies).await;
        }
    }

    async fn admin(&self, file: &File, policies: &Current<Policies>) -> Result<Option<Admin>> {
        let file::Admin::On {
            listen,
            tls,
            access_log,
            session,
            secure_cookies,
            ..
        } = &file.admin
        else {
            return Ok(None);
        };
        let config = semel_admin::Config {
            listen: listening::address(listen),
            tokens: tokens(&file.admin)?,
            tls: tls.as_ref().map(listening::tls),
            access_log: listening::access_log(*access_log),
            session: *session,
            secure_cookies: *secure_cookies,
            ..semel_admin::Config::default()
        };
        let parts = Parts {
            store: self.store.clone(),
            health: self.health.clone(),
            clock: self.opened.clock.clone(),
            observations: Some(self.watchers.observations()),
            inbox: self.inbox_part(policies),
            configuration: self.configuration.clone(),
            alerts: self.alerts.clone(),
            reconciling: self.reconciling.clone(),
            memory: self.memory.clone(),
            quotas: self.quotas.clone(),
        };
        let admin = Admin::bind(&config, parts).await.map_err(|error| {
            let hint = "choose another address with --admin, or --admin off";
            Error::from(error)
                .when("cannot serve the admin side")
                .hint(hint)
        })?;
        self.show("admin", admin.handle().listener());
        tracing::info!(listen = %admin.address(), "the admin side serves");
        Ok(Some(admin))
    }

    /// What the admin side must know of messages; nothing if the store has no inbox.
    fn inbox_part(&self, policies: &Current<Policies>) -> Option<InboxPart> {
        let (inbox, policies) = (self.opened.inbox.clone(), policies.clone());
        inbox.map(|inbox| InboxPart { inbox, policies })
    }

    fn gateway(&self, file: &File) -> Result<Option<Gateway>> {
        let Some(section) = &file.gateway else {
            return Ok(None);
        };
        let mut config = gateway::config(section)?;
        config.memory = self.memory.clone();
        config.quotas = self.quotas.clone();
        config.tracer = self.tracer.clone();
        let watch = Arc::new(self.watchers.clone());
        let gateway = Gateway::bind(config, self.once.clone(), watch).map_err(gateway::error)?;
        for (name, budget) in gateway.handle().budgets().all() {
            self.watchers.metrics().watch_budget(name, budget);
        }
        self.show("gateway", gateway.handle().listener());
        self.reconciling
            .set(Arc::new(reconcile::Routes(gateway.handle())));
        let handle = gateway.handle();
        self.health.watch_upstreams(Box::new(move || {
            let upstreams = handle.upstreams().into_iter();
            upstreams
                .map(|(name, unreached)| Upstream { name, unreached })
                .collect()
        }));
        Ok(Some(gateway))
    }

    fn show(&self, port: &'static str, listener: &semel_listen::Handle) {
        listening::show(port, listener, &self.watchers.metrics(), &self.health);
    }
}
