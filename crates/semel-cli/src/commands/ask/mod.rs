//! Asks the admin side of a running process; `trust` says whose certificate it may show.

mod trust;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use semel_policy::File;
use semel_policy::file::Admin;
use semel_policy::value::{Listen, Secret, Text};
use serde::de::DeserializeOwned;

use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, text};
pub(in crate::commands) use trust::Trust;

/// How long a process may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer, in bytes: much more than a process that counts within its limits has to say.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The token, where the file has none, or only digests.
const TOKEN: &str = "SEMEL_ADMIN_TOKEN";

/// Where the admin side of a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum Address {
    Url(String, Trust),
    Unix(PathBuf),
}

impl Address {
    /// The same, where the authorities in a file vouch for it, if one is named.
    fn vouched_for(self, ca: Option<&Path>) -> Self {
        match (self, ca) {
            (Self::Url(url, _), Some(ca)) => Self::Url(url, Trust::Authorities(ca.to_owned())),
            (address, _) => address,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url, _) => f.write_str(url),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The processes that are meant, and the token for them. The authorities in the file `ca` vouch for them, if it is named.
pub(in crate::commands) fn whom(
    said: &[String],
    ca: Option<&Path>,
    config: &ConfigArg,
) -> Result<(Vec<Address>, Option<Secret>)> {
    let file = match config.source(Vec::new()).load() {
        // A process that is named can be asked even while the file is broken, which is when people ask.
        Err(error) if !said.is_empty() => {
            output::note(&format!(
                "the configuration file is not used: {}",
                error.message()
            ));
            File::default()
        }
        loaded => loaded?,
    };
    let token = match std::env::var(TOKEN) {
        Ok(token) if !token.is_empty() => Secret::parse(&token).ok(),
        _ => of_file(&file.admin),
    };
    let addresses = match said {
        [] => vec![configured(&file.admin)?.vouched_for(ca)],
        said => {
            let own = configured(&file.admin).ok();
            let one = |said: &String| Ok(own_or(read(said)?, own.as_ref()).vouched_for(ca));
            said.iter().map(one).collect::<Result<_>>()?
        }
    };
    Ok((addresses, token))
}

/// The file's own admin side is known by its certificate, also where it is named.
fn own_or(said: Address, own: Option<&Address>) -> Address {
    match (&said, own) {
        (Address::Url(url, _), Some(own @ Address::Url(known, _))) if url == known => own.clone(),
        _ => said,
    }
}

fn of_file(admin: &Admin) -> Option<Secret> {
    match admin {
        Admin::On { token, .. } => token.clone(),
        Admin::Off => None,
    }
}

fn configured(admin: &Admin) -> Result<Address> {
    let bad = |message: &str| {
        Error::new(Exit::Configuration, message)
            .hint("name the admin side of the process on the command line")
    };
    let Admin::On { listen, tls, .. } = admin else {
        return Err(bad(
            "admin is off in the configuration file: a process that it starts cannot be asked",
        ));
    };
    match listen {
        Listen::Unix(path) => Ok(Address::Unix(path.clone())),
        Listen::Tcp(address) if address.port() == 0 => Err(bad(
            "admin.listen has port 0 in the configuration file: the port is chosen when the process starts",
        )),
        Listen::Tcp(address) => {
            let address = reachable(*address);
            match tls {
                None => Ok(Address::Url(format!("http://{address}"), Trust::Machine)),
                Some(tls) if tls.client_ca.is_some() => Err(bad(
                    "the admin side of the configuration file wants certificates of its clients (admin.tls.client_ca), and this command has none",
                )),
                Some(tls) => {
                    let trust = Trust::Certificate(tls.certificate.0.clone());
                    Ok(Address::Url(format!("https://{address}"), trust))
                }
            }
        }
    }
}

/// Who listens on all addresses is reached on this machine's own.
const fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// Reads what the command line says.
fn read(said: &str) -> Result<Address> {
    if let Some(path) = said.strip_prefix("unix:") {
        return Ok(Address::Unix(path.into()));
    }
    let url = match said.contains("://") {
        true => said.trim_end_matches('/').to_owned(),
        false => format!("http://{said}"),
    };
    let uri = url.parse::<http::Uri>().ok();
    let is_meant = uri.is_some_and(|uri| {
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        is_http && is_bare && uri.host().is_some_and(|host| !host.is_empty())
    });
    match is_meant {
        true => Ok(Address::Url(url, Trust::Machine)),
        false => {
            let message = format!(
                "expected HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:PATH, found {said:?}"
            );
            Err(Error::new(Exit::Usage, message))
        }
    }
}

/// What the admin side has at `path`, where it has something.
pub(in crate::commands) async fn json<T: DeserializeOwned>(
    address: &Address,
    path: &str,
    token: Option<&Secret>,
) -> Result<Option<T>> {
    let (status, body) = get(address, path, token).await?;
    match status {
        200 => serde_json::from_slice(&body).map(Some).map_err(|error| {
            let message =
                format!("{address} does not answer as an admin side of this Semel: {error}");
            Error::refused(message)
        }),
        404 => Ok(None),
        _ => Err(unanswered(address, status, &body)),
    }
}

/// What the admin side has at `path`; `absent` says what a process does that has nothing there.
pub(in crate::commands) async fn must<T: DeserializeOwned>(
    address: &Address,
    (path, absent): (&str, &str),
    token: Option<&Secret>,
) -> Result<T> {
    json(address, path, token).await?.ok_or_else(|| {
        Error::refused(format!(
            "the process at {address} {absent}, or is no admin side of Semel"
        ))
    })
}

/// Why an admin side does not answer what it was asked.
pub(in crate::commands) fn unanswered(address: &Address, status: u16, body: &[u8]) -> Error {
    match status {
        401 | 403 => Error::refused(format!(
            "the admin side at {address} refuses the token (status {status})"
        ))
        .hint(format!(
            "set {TOKEN}, or admin.token in the configuration file"
        )),
        _ => Error::refused(format!(
            "the admin side at {address} answers with status {status}: {}",
            said(body)
        )),
    }
}

/// The status and the body of what is at `path`.
pub(in crate::commands) async fn get(
    address: &Address,
    path: &str,
    token: Option<&Secret>,
) -> Result<(u16, Vec<u8>)> {
    send(address, path, token, None, PATIENCE).await
}

/// The status and the answer to JSON that is posted to `path`; the process may take so long.
pub(in crate::commands) async fn post(
    address: &Address,
    path: &str,
    token: Option<&Secret>,
    body: &serde_json::Value,
    patience: Duration,
) -> Result<(u16, Vec<u8>)> {
    send(address, path, token, Some(body), patience).await
}

async fn send(
    address: &Address,
    path: &str,
    token: Option<&Secret>,
    json: Option<&serde_json::Value>,
    patience: Duration,
) -> Result<(u16, Vec<u8>)> {
    let away = |error: String| {
        let message = format!("the admin side at {address} does not answer: {error}");
        Error::new(Exit::Unavailable, message)
            .hint("is a process running there? another can be named on the command line; with admin: off it has none")
    };
    let (builder, base) = match address {
        Address::Url(url, trust) => {
            let builder = semel_inbox::client_builder();
            let builder = match trust.client()? {
                Some(tls) => builder.tls_backend_preconfigured(tls),
                None => builder,
            };
            (builder, url.as_str())
        }
        Address::Unix(path) => {
            let builder = semel_inbox::client_builder().unix_socket(path.as_path());
            (builder, "http://localhost")
        }
    };
    let client = builder.timeout(patience).build();
    let client =
        client.map_err(|error| Error::refused(format!("cannot ask over HTTP: {error}")))?;
    let url = format!("{base}{path}");
    let mut request = match json {
        None => client.get(url),
        Some(json) => client
            .post(url)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(json.to_string()),
    };
    if let Some(token) = token {
        request = request.bearer_auth(token.expose());
    }
    let mut response = request.send().await.map_err(|error| away(reason(&error)))?;
    let (status, mut body) = (response.status().as_u16(), Vec::new());
    while let Some(piece) = response
        .chunk()
        .await
        .map_err(|error| away(reason(&error)))?
    {
        body.extend_from_slice(&piece);
        if body.len() > ANSWER_BYTES_MAX {
            let limit = text::bytes(ANSWER_BYTES_MAX as u64);
            return Err(Error::refused(format!(
                "{address} answers with more than {limit}"
            )));
        }
    }
    Ok((status, body))
}

/// The root cause, which stands at the end.
fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    text::printable(&cause.to_string())
}

/// What a problem says about the case at hand.
pub(in crate::commands) fn detail(body: &[u8]) -> Option<String> {
    let problem: serde_json::Value = serde_json::from_slice(body).ok()?;
    problem["detail"].as_str().map(text::printable)
}

/// What a problem says about itself.
fn said(body: &[u8]) -> String {
    let problem = serde_json::from_slice::<serde_json::Value>(body).ok();
    let title = problem
        .as_ref()
        .and_then(|problem| problem["title"].as_str());
    text::printable(title.unwrap_or("no reason is given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_side_is_named_by_address_url_or_socket() {
        for (said, url) in [
            ("127.0.0.1:7071", "http://127.0.0.1:7071"),
            ("localhost:7071", "http://localhost:7071"),
            ("https://ops.internal/", "https://ops.internal"),
        ] {
            let expected = Address::Url(url.to_owned(), Trust::Machine);
            assert_eq!(read(said).unwrap(), expected, "{said}");
        }
        let socket = read("unix:/run/semel.sock").unwrap();
        assert_eq!(socket, Address::Unix("/run/semel.sock".into()));
        for said in ["", "ftp://a", "http://a/api/v1", "http://", "a b"] {
            let error = read(said).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage, "{said}");
        }
    }

    #[test]
    fn the_admin_side_of_the_file_is_known_by_its_certificate() {
        let admin = |tls: &str| {
            let text =
                format!("admin: {{ listen: '[::]:7071', token: a-long-enough-token, {tls} }}");
            File::parse("/etc/semel.yaml", &text, []).unwrap().admin
        };
        let own = configured(&admin("tls: { certificate: /a.pem, key: /a.key }")).unwrap();
        let known = Trust::Certificate("/a.pem".into());
        assert_eq!(own, Address::Url("https://[::1]:7071".to_owned(), known));
        assert_eq!(own_or(read("https://[::1]:7071").unwrap(), Some(&own)), own);
        let other = read("https://[::1]:7072").unwrap();
        assert_eq!(own_or(other.clone(), Some(&own)), other);
        let vouched = Address::Url(
            "https://[::1]:7071".to_owned(),
            Trust::Authorities("/ca.pem".into()),
        );
        assert_eq!(own.vouched_for(Some(Path::new("/ca.pem"))), vouched);
        let tls = "tls: { certificate: /a.pem, key: /a.key, client_ca: /ca.pem }";
        let error = configured(&admin(tls)).unwrap_err();
        assert!(error.message().contains("admin.tls.client_ca"), "{error:?}");
    }

    #[test]
    fn a_wildcard_is_reached_on_this_machine() {
        for (listen, reached) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("10.0.0.1:1", "10.0.0.1:1"),
        ] {
            let reachable = reachable(listen.parse().unwrap());
            assert_eq!(reachable.to_string(), reached);
        }
    }
}
