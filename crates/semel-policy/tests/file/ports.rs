//! What every port has: an address or a socket, a certificate, an access log.

use std::path::Path;

use semel_policy::File;
use semel_policy::file::{AccessLog, Admin};

use super::parse;

#[test]
fn a_port_may_be_a_unix_socket_beside_the_file() {
    let text = "admin: { listen: 'unix:admin.sock' }\ngateway: { listen: 'unix:/run/g.sock' }\ninbox: { listen: 'unix:i.sock' }";
    let file = File::parse("/etc/semel/semel.yaml", text, []).unwrap();
    assert!(
        matches!(&file.admin, Admin::On { listen, .. } if listen.to_string() == "unix:/etc/semel/admin.sock")
    );
    assert_eq!(file.gateway.unwrap().listen.to_string(), "unix:/run/g.sock");
    assert_eq!(file.inbox.listen.to_string(), "unix:/etc/semel/i.sock");
    assert!(file.inbox.listen.is_local());
    assert!(parse("gateway: { listen: 'unix:' }").is_err());
}

#[test]
fn certificates_lie_beside_the_file_on_every_port() {
    let tls = "tls: { certificate: c.pem, key: k.pem, client_ca: ca.pem }";
    let text = format!("admin: {{ {tls} }}\ngateway: {{ {tls} }}\ninbox: {{ {tls} }}");
    let file = File::parse("/etc/semel/semel.yaml", &text, []).unwrap();
    let Admin::On { tls: admin, .. } = file.admin else {
        panic!("it is served");
    };
    for tls in [admin, file.gateway.unwrap().tls, file.inbox.tls] {
        let tls = tls.unwrap();
        let client_ca = tls.client_ca.unwrap();
        assert_eq!(client_ca.0, Path::new("/etc/semel/ca.pem"));
        assert_eq!(tls.key.0, Path::new("/etc/semel/k.pem"));
    }
}

#[test]
fn the_access_log_is_off_a_word_or_a_sample() {
    let access_log = |written: &str| {
        let text = format!("gateway: {{ {written} }}");
        parse(&text).unwrap().gateway.unwrap().access_log
    };
    assert_eq!(access_log(""), AccessLog::Off);
    assert_eq!(access_log("access_log: errors"), AccessLog::Errors);
    assert_eq!(access_log("access_log: all"), AccessLog::All);
    match access_log("access_log: { sample: 0.01 }") {
        AccessLog::Sample(share) => assert!((share.get() - 0.01).abs() < 1e-9),
        other => panic!("{other:?}"),
    }
    for wrong in ["some", "{ sample: 0 }", "{ sample: 1.5 }", "{ sample: x }"] {
        let text = format!("gateway: {{ access_log: {wrong} }}");
        let said = parse(&text).unwrap_err().to_string();
        assert!(said.contains("gateway.access_log"), "{said}");
    }
}

#[test]
fn cookies_go_over_tls_only_where_a_proxy_ends_it() {
    let is_secure = |text: &str| match parse(text).unwrap().admin {
        Admin::On { secure_cookies, .. } => secure_cookies,
        Admin::Off => panic!("the admin side is on"),
    };
    assert!(!is_secure("admin: { listen: '127.0.0.1:7071' }"));
    assert!(is_secure("admin: { secure_cookies: true }"));
    assert!(parse("admin: { secure_cookies: 7 }").is_err());
}

#[test]
fn one_stays_signed_in_for_eight_hours_or_as_the_file_says() {
    let session = |text: &str| match parse(text).unwrap().admin {
        Admin::On { session, .. } => session.as_secs(),
        Admin::Off => panic!("the admin side is on"),
    };
    assert_eq!(session("log: { level: info }"), 8 * 60 * 60);
    assert_eq!(session("admin: { session: 30m }"), 30 * 60);
    let said = parse("admin: { session: 5s }").unwrap_err().to_string();
    assert!(
        said.contains("admin.session: expected a duration from 1m to 30d"),
        "{said}"
    );
}
