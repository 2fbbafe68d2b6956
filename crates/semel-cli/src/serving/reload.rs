//! A process at work, which takes a changed file over at SIGHUP.
//!
//! Everything that can fail comes first and changes nothing: a file that is wrong, or that cannot be served, is reported and leaves all as it
//! was. What is taken over: limits, routes, consumers, targets of intents, alerts, the admin side's tokens and the log level. What needs a restart
//! is named key by key.

use semel_admin::{Current, Policies, Tokens};
use semel_gateway::Handle as GatewayHandle;
use semel_policy::{File, file};
use tokio::signal::unix::Signal;
use tokio::sync::watch::Receiver;

use super::inbox::Messages;
use super::logs::Logs;
use super::{Process, Source, alerts, ended, fixed, gateway, listening, notify, policies_of};
use crate::error::Result;
use crate::stores::must_not_be_sealed;

/// The parts of a process that a reload changes.
pub(super) struct Live<'a> {
    pub(super) process: &'a Process,
    pub(super) source: Source,
    /// The file as it was at the start, which decides what needs a restart.
    pub(super) started_with: File,
    pub(super) store_is_named: bool,
    pub(super) gateway: Option<GatewayHandle>,
    pub(super) admin: Option<semel_admin::Handle>,
    pub(super) policies: Current<Policies>,
    pub(super) messages: Messages,
    pub(super) logs: Logs,
}

/// What came of a file that was not refused.
enum Reloaded {
    Done,
    /// The process was asked to end before the file was looked at.
    CutShort,
}

impl Live<'_> {
    /// Takes the file anew at every SIGHUP until the end has come; gives what then has to end.
    pub(super) async fn run(mut self, hangups: Option<Signal>, ending: Receiver<bool>) -> Messages {
        let Some(mut hangups) = hangups else {
            tracing::error!("cannot listen for SIGHUP, the file will not be read again");
            ended(ending).await;
            return self.messages;
        };
        loop {
            tokio::select! {
                () = ended(ending.clone()) => return self.messages,
                received = hangups.recv() => if received.is_none() {
                    ended(ending).await;
                    return self.messages;
                },
            }
            notify::reloading();
            let reloaded = self.reload(&ending).await;
            if !matches!(reloaded, Ok(Reloaded::CutShort)) {
                notify::reloaded(reloaded.is_ok());
            }
            match reloaded {
                Ok(Reloaded::CutShort) => {
                    tracing::info!("the configuration was not read again, the process ends");
                }
                Ok(Reloaded::Done) => {
                    let now = self.process.opened.now();
                    self.process.watchers.metrics().reloaded(Ok(now));
                    tracing::info!("the configuration was read again");
                }
                Err(error) => {
                    self.process.watchers.metrics().reloaded(Err(()));
                    self.process.refused();
                    let why = error.message();
                    tracing::error!(why, "the new configuration is not used, the old one stays");
                }
            }
        }
    }

    async fn reload(&mut self, ending: &Receiver<bool>) -> Result<Reloaded> {
        // At most two engines at once: the last one that was replaced has drained before the next is.
        tokio::select! {
            () = ended(ending.clone()) => return Ok(Reloaded::CutShort),
            () = self.messages.drained() => {}
        }
        let file = self.source.load()?;
        let policies = policies_of(&file, &self.source)?;
        let tokens = self.tokens(&file)?;
        let alerts = alerts::settings(&file)?;
        let gateway = self.gateway_config(&file)?;
        let limits = super::tenant_limits(&file)?;
        let keks = super::keks(&file)?;
        if keks.is_empty() {
            must_not_be_sealed(&self.process.opened.keys()).await?;
        }
        let prepared = self.messages.prepare(self.process, &file).await?;
        if let (Some(handle), Some(config)) = (&self.gateway, gateway) {
            handle.reload(&config).map_err(gateway::error)?;
        }
        self.messages
            .take(self.process, &file, prepared, ending.clone())?;
        if let (Some(admin), Some(tokens)) = (&self.admin, tokens) {
            admin.set_tokens(tokens)?;
        }
        self.policies.set(policies.clone());
        self.process.alerts.set(alerts);
        self.logs.set_level(file.log.level);
        self.process.quotas.set(limits);
        self.process.opened.keys().set(keks)?;
        let counts = listening::readiness(&file.admin);
        self.process.health.count(counts);
        self.process.memory.set_max(file.limits.buffered_bytes.0.0);
        let keys = fixed::changed(&self.started_with, &file, self.store_is_named);
        self.process.explain(&file, &self.source, keys.clone());
        if !keys.is_empty() {
            let keys = keys.join(", ");
            tracing::warn!(
                keys,
                "these settings have changed and need a restart; until then the old ones hold"
            );
        }
        self.process.tell_unserved(&policies).await;
        Ok(Reloaded::Done)
    }

    /// The tokens of the new file, if the admin side is served and can have them.
    fn tokens(&self, file: &File) -> Result<Option<Tokens>> {
        let (Some(admin), file::Admin::On { .. }) = (&self.admin, &file.admin) else {
            return Ok(None);
        };
        let tokens = super::tokens(&file.admin)?;
        admin.check_tokens(&tokens)?;
        Ok(Some(tokens))
    }

    /// What the gateway takes: all but its address, which it keeps.
    fn gateway_config(&self, file: &File) -> Result<Option<semel_gateway::Config>> {
        let (Some(_), Some(section)) = (&self.gateway, &file.gateway) else {
            return Ok(None);
        };
        let mut config = gateway::config(section)?;
        config.tracer = self.process.tracer.clone();
        if let Some(started) = &self.started_with.gateway {
            config.listen = listening::address(&started.listen);
        }
        Ok(Some(config))
    }
}
