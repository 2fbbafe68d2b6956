//! nginx as a plain proxy: found, configured, started.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use semel_core::{Error, Kind, Result};

use super::child::{Child, Ending};
use crate::machine::io;

/// Names the program, if it is not where programs usually are.
const PROGRAM: &str = "SEMEL_BENCH_NGINX";
/// Servers are often installed where only the administrator's search path leads.
const MORE_DIRS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Starts it between `listen` and `upstream`; all its files are in `dir`.
pub(super) async fn start(listen: SocketAddr, upstream: SocketAddr, dir: &Path) -> Result<Child> {
    let program = find()?;
    let config = dir.join("nginx.conf");
    std::fs::write(&config, text(listen, upstream, dir)).map_err(io("configuring nginx"))?;
    let command = [
        program.into_os_string(),
        "-p".into(),
        dir.into(),
        "-c".into(),
        config.into(),
    ];
    // Its workers outlive a master that is killed.
    Child::start("nginx", &command.into(), Ending::Terminate, listen, dir).await
}

fn find() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_in(std::env::var_os(PROGRAM), &path).ok_or_else(|| {
        Error::new(
            Kind::Unavailable,
            format!(
                "nginx is what the gateway is compared to, and it is not installed\n\
                 install it (apt-get install nginx-light, brew install nginx), or name the program in {PROGRAM}"
            ),
        )
    })
}

fn find_in(named: Option<OsString>, path: &OsString) -> Option<PathBuf> {
    let searched = || {
        let more = MORE_DIRS.iter().map(PathBuf::from);
        let mut dirs = std::env::split_paths(path).chain(more);
        dirs.find_map(|dir| Some(dir.join("nginx")).filter(|file| file.is_file()))
    };
    match named {
        Some(named) => Some(PathBuf::from(named)).filter(|file| file.is_file()),
        None => searched(),
    }
}

/// Plain, and as fast as a plain one gets: connections are kept on both sides and never given up for
/// their age, which the defaults would do every thousand requests.
fn text(listen: SocketAddr, upstream: SocketAddr, dir: &Path) -> String {
    let dir = dir.display();
    format!(
        r#"daemon off;
worker_processes auto;
pid "{dir}/nginx.pid";
error_log stderr crit;
events {{
    worker_connections 4096;
}}
http {{
    access_log off;
    client_body_temp_path "{dir}/nginx-body";
    proxy_temp_path "{dir}/nginx-proxy";
    fastcgi_temp_path "{dir}/nginx-fastcgi";
    uwsgi_temp_path "{dir}/nginx-uwsgi";
    scgi_temp_path "{dir}/nginx-scgi";
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    upstream service {{
        server {upstream};
        keepalive 1024;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {listen} reuseport;
        location / {{
            proxy_pass http://service;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_keeps_every_file_and_port_private() {
        let of = |text: &str| text.parse().unwrap();
        let text = text(
            of("127.0.0.1:81"),
            of("127.0.0.1:82"),
            Path::new("/tmp/a b"),
        );
        assert!(text.contains("listen 127.0.0.1:81 reuseport;"), "{text}");
        assert!(text.contains("server 127.0.0.1:82;"), "{text}");
        assert_eq!(text.matches("\"/tmp/a b/nginx").count(), 6, "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }

    #[test]
    fn the_named_program_comes_before_the_search_path() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("nginx");
        std::fs::write(&program, "").unwrap();
        let path = dir.path().as_os_str().to_owned();
        assert_eq!(find_in(None, &path), Some(program.clone()));
        let named = Some(program.clone().into_os_string());
        assert_eq!(find_in(named, &OsString::new()), Some(program));
        assert_eq!(find_in(Some("no/such/file".into()), &path), None);
    }
}
