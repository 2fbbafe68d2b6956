//! What the file says about any port, as what the listener takes; and what a listener says about itself.

use semel_admin::{Beside, Health, Metrics};
use semel_listen::{AccessLog, Address, Handle, Tls};
use semel_policy::file;
use semel_policy::value::Listen;

pub(crate) fn address(listen: &Listen) -> Address {
    match listen {
        Listen::Tcp(address) => Address::Tcp(*address),
        Listen::Unix(path) => Address::Unix(path.clone()),
    }
}

pub(super) fn tls(section: &file::Tls) -> Tls {
    Tls {
        certificate: section.certificate.0.clone(),
        key: section.key.0.clone(),
        client_ca: section.client_ca.as_ref().map(|ca| ca.0.clone()),
    }
}

pub(super) fn access_log(which: file::AccessLog) -> AccessLog {
    match which {
        file::AccessLog::Off => AccessLog::Off,
        file::AccessLog::Errors => AccessLog::Errors,
        file::AccessLog::All => AccessLog::All,
        file::AccessLog::Sample(share) => AccessLog::Sample(share.get()),
    }
}

/// What the file lets count for readiness.
pub(super) fn readiness(admin: &file::Admin) -> Beside {
    let file::Admin::On { readiness, .. } = admin else {
        return Beside::default();
    };
    Beside {
        sweep: readiness.contains(&file::Beside::Sweep),
        sources: readiness.contains(&file::Beside::Sources),
        upstreams: readiness.contains(&file::Beside::Upstreams),
    }
}

/// Shows a port in metrics, and in readiness once a certificate of it is not used.
pub(super) fn show(port: &'static str, handle: &Handle, metrics: &Metrics, health: &Health) {
    let load = handle.clone();
    metrics.watch_port(port, move || load.load());
    let certificate = handle.clone();
    metrics.watch_certificate(port, move || certificate.certificate_expiry());
    let (mut refused, health) = (handle.refused_certificate(), health.clone());
    let name = match port {
        "gateway" => "gateway-certificate",
        "inbox" => "inbox-certificate",
        _ => "admin-certificate",
    };
    tokio::spawn(async move {
        // The part appears with the first certificate that is not used.
        while refused.changed().await.is_ok() {
            let part = health.part(name);
            if refused.borrow_and_update().is_some() {
                // The log names the file; every caller can read readiness.
                part.ready_but("the new certificate is not used, the old one stays");
            }
        }
    });
}
