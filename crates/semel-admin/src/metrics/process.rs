//! The process itself: its configuration, its certificates, the tokens that it takes, its read cache.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::Timestamp;
use semel_http::tenant::jwks;

type Seconds = Gauge<f64, AtomicU64>;
type Number = Gauge<u64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AtPort {
    port: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByToken {
    token: String,
}

/// How often the read cache was asked: hits and misses.
type CacheLook = Box<dyn Fn() -> (u64, u64) + Send + Sync>;
/// When a certificate ends, in Unix time; `None` if it cannot be told.
type CertificateLook = Box<dyn Fn() -> Option<i64> + Send + Sync>;

pub(super) struct Process {
    reloads: Family<ByResult, Counter>,
    /// Whether the last reload took the file over; true before the first.
    current: Number,
    loaded: Seconds,
    certificates: Family<AtPort, Seconds>,
    tokens: Family<ByToken, Seconds>,
    cache: Family<ByResult, Counter>,
    jwks: Family<ByResult, Counter>,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    cache: Option<CacheLook>,
    certificates: BTreeMap<&'static str, CertificateLook>,
    tokens: BTreeMap<String, f64>,
}

impl Process {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let process = Self {
            reloads: Family::default(),
            current: Number::default(),
            loaded: Seconds::default(),
            certificates: Family::default(),
            tokens: Family::default(),
            cache: Family::default(),
            jwks: Family::default(),
            watched: Mutex::default(),
        };
        process.current.set(1);
        registry.register(
            "semel_reloads",
            "Reloads of the configuration, by result: ok, failed",
            process.reloads.clone(),
        );
        registry.register(
            "semel_reload_ok",
            "Whether the last reload of the configuration succeeded; 0 while the process runs with an older file than the one on disk",
            process.current.clone(),
        );
        registry.register(
            "semel_configuration_loaded_timestamp_seconds",
            "When the configuration in force was loaded, in Unix time; 0 for a process without one",
            process.loaded.clone(),
        );
        registry.register(
            "semel_certificate_expiry_timestamp_seconds",
            "When the certificate of a port ends, in Unix time",
            process.certificates.clone(),
        );
        registry.register(
            "semel_token_expiry_timestamp_seconds",
            "When a token of the admin side ends, in Unix time; only of tokens that end",
            process.tokens.clone(),
        );
        registry.register(
            "semel_cache_lookups",
            "Claims that looked into the read cache of settled records, by result: hit, miss",
            process.cache.clone(),
        );
        registry.register(
            "semel_jwks_loads",
            "Loads of the public keys of issuers of tokens, by result: ok, failed; keys that are known stay in use for a day",
            process.jwks.clone(),
        );
        process
    }

    /// The configuration in force was loaded at this moment.
    pub(super) fn loaded(&self, now: Timestamp) {
        self.current.set(1);
        self.loaded.set(seconds(now));
    }

    pub(super) fn reloaded(&self, result: Result<Timestamp, ()>) {
        let name = if result.is_ok() { "ok" } else { "failed" };
        self.reloads.get_or_create(&ByResult { result: name }).inc();
        match result {
            Ok(now) => self.loaded(now),
            Err(()) => drop(self.current.set(0)),
        }
    }

    pub(super) fn watch_cache(&self, look: CacheLook) {
        self.watched().cache = Some(look);
    }

    pub(super) fn watch_certificate(&self, port: &'static str, look: CertificateLook) {
        self.watched().certificates.insert(port, look);
    }

    /// These tokens end at these moments, and no others.
    pub(super) fn set_tokens(&self, ends: impl Iterator<Item = (String, Timestamp)>) {
        let ends = ends.map(|(name, at)| (name, seconds(at))).collect();
        self.watched().tokens = ends;
        self.tokens.clear();
    }

    /// When the certificate of each port ends.
    pub(super) fn certificates(&self) -> Vec<(&'static str, f64)> {
        let watched = self.watched();
        let ends = watched.certificates.iter();
        ends.filter_map(|(port, look)| Some((*port, look()? as f64)))
            .collect()
    }

    /// When each token ends that does.
    pub(super) fn tokens(&self) -> Vec<(String, f64)> {
        let watched = self.watched();
        watched
            .tokens
            .iter()
            .map(|(name, at)| (name.clone(), *at))
            .collect()
    }

    /// Whether the last reload took the file over.
    pub(super) fn is_current(&self) -> bool {
        self.current.get() == 1
    }

    pub(super) fn refresh(&self) {
        for (port, at) in self.certificates() {
            self.certificates.get_or_create(&AtPort { port }).set(at);
        }
        for (token, at) in self.tokens() {
            self.tokens.get_or_create(&ByToken { token }).set(at);
        }
        self.show_jwks(jwks::loads());
        if let Some(look) = &self.watched().cache {
            let (hits, misses) = look();
            for (result, count) in [("hit", hits), ("miss", misses)] {
                let counter = self.cache.get_or_create(&ByResult { result });
                counter.inner().store(count, Ordering::Relaxed);
            }
        }
    }

    /// Shows how often keys of issuers were loaded, and how often they could not be; nothing where no token was ever checked.
    pub(super) fn show_jwks(&self, (loaded, failed): (u64, u64)) {
        for (result, count) in [("ok", loaded), ("failed", failed)] {
            if loaded + failed > 0 {
                let counter = self.jwks.get_or_create(&ByResult { result });
                counter.inner().store(count, Ordering::Relaxed);
            }
        }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millis() as f64 / 1e3
}
