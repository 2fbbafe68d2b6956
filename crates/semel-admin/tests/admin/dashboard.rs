//! The dashboard as a browser meets it: sessions, forms, headers, live updates.

use std::net::SocketAddr;

use semel_admin::{Config, Grant, Reach, Secret, Token, Tokens};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::{Response, raw};
use crate::server::Server;

const READER: &str = "reader-reader-reader";

fn token(name: &str, secret: &str, grant: Grant) -> Token {
    let secret = Secret::new(secret).unwrap();
    Token::new(name.parse().unwrap(), secret, grant).unwrap()
}

fn tokens() -> Tokens {
    let reach = Reach {
        tenant: None,
        scopes: vec!["*".parse().unwrap()],
    };
    let claims = token("service", "claims-claims-claims", Grant::Claims(reach));
    Tokens::new([token("rita", READER, Grant::Read), claims]).unwrap()
}

async fn guarded() -> Server {
    let config = Config {
        tokens: tokens(),
        ..Config::default()
    };
    Server::start_with(config, |store| store).await
}

/// A browser: it keeps cookies and says what it accepts.
struct Browser {
    address: SocketAddr,
    cookies: Vec<(String, String)>,
}

impl Browser {
    fn at(server: &Server) -> Self {
        Self {
            address: server.address,
            cookies: Vec::new(),
        }
    }

    fn headers(&self) -> String {
        let cookies = self.cookies.iter();
        let cookies: Vec<_> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let cookies = cookies.join("; ");
        let host = self.address;
        format!("Host: {host}\r\nAccept: text/html,*/*\r\nCookie: {cookies}\r\n")
    }

    async fn get(&mut self, path: &str) -> Response {
        let headers = self.headers();
        let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        let response = raw(self.address, request.as_bytes()).await;
        self.keep(&response);
        response
    }

    /// Posts a form with more header lines.
    async fn post(&mut self, path: &str, form: &str, more: &str) -> Response {
        let (headers, length) = (self.headers(), form.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nConnection: close\r\n{headers}{more}Content-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {length}\r\n\r\n{form}"
        );
        let response = raw(self.address, request.as_bytes()).await;
        self.keep(&response);
        response
    }

    fn keep(&mut self, response: &Response) {
        for line in response.head.lines() {
            let Some(set) = line.strip_prefix("set-cookie: ") else {
                continue;
            };
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !set.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    /// Signs in with a token, from the page with the form.
    async fn sign_in(&mut self, secret: &str) -> Response {
        let page = self.get("/sign-in?next=%2F%3Fa%3D1").await;
        let form = format!(
            "form_token={}&next=%2F%3Fa%3D1&token={secret}",
            form_token(&page)
        );
        self.post("/sign-in", &form, "").await
    }
}

/// The token of a page's first form.
fn form_token(page: &Response) -> String {
    let (_, rest) = page
        .body
        .split_once("name=\"form_token\" value=\"")
        .unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_browser_without_a_session_signs_in_and_comes_back() {
    let server = guarded().await;
    let mut browser = Browser::at(&server);
    let sent = browser.get("/?a=1").await;
    assert_eq!(
        (sent.status, sent.header("location")),
        (303, Some("/sign-in?next=%2F%3Fa%3D1"))
    );
    let wrong = browser.sign_in("no-such-token").await;
    assert_eq!(wrong.status, 403);
    assert!(wrong.body.contains("There is no such token."), "{wrong:?}");
    let claims = browser.sign_in("claims-claims-claims").await;
    assert_eq!(claims.status, 403);
    assert_eq!(browser.get("/").await.status, 303, "still outside");

    let signed_in = browser.sign_in(READER).await;
    assert_eq!(
        (signed_in.status, signed_in.header("location")),
        (303, Some("/?a=1"))
    );
    let cookie = signed_in.header("set-cookie").unwrap();
    for attribute in ["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=28800"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let page = browser.get("/?a=1").await;
    assert_eq!(page.status, 200);
    assert!(
        page.body.contains("<strong>rita</strong> · read"),
        "{}",
        page.body
    );
    let api = browser.get("/api/v1/stats").await;
    assert_eq!(api.status, 401, "a cookie opens pages and nothing else");
    for closed in ["/metrics", "/api/v1/openapi.json"] {
        let link = format!("href=\"{closed}\"");
        assert!(!page.body.contains(&link), "{closed} is no link");
    }
}

#[tokio::test]
async fn behind_a_proxy_that_ends_tls_cookies_are_for_tls() {
    let config = Config {
        tokens: tokens(),
        secure_cookies: true,
        ..Config::default()
    };
    let server = Server::start_with(config, |store| store).await;
    let mut browser = Browser::at(&server);
    let signed_in = browser.sign_in(READER).await;
    assert_eq!(signed_in.status, 303);
    let cookie = signed_in.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-semel-session-"), "{cookie}");
    assert!(cookie.contains("; Secure"), "{cookie}");
    assert_eq!(browser.get("/").await.status, 200);
}

#[tokio::test]
async fn wrong_attempts_keep_no_operator_out() {
    let server = guarded().await;
    let mut operator = Browser::at(&server);
    let page = operator.get("/sign-in").await;
    let mut guesses = Vec::new();
    for _ in 0..40 {
        let mut guesser = Browser {
            address: operator.address,
            cookies: operator.cookies.clone(),
        };
        let form = format!("form_token={}&token=wrong", form_token(&page));
        guesses.push(tokio::spawn(async move {
            guesser.post("/sign-in", &form, "").await.status
        }));
    }
    let form = format!("form_token={}&token={READER}", form_token(&page));
    let signed_in = operator.post("/sign-in", &form, "").await;
    assert_eq!(signed_in.status, 303);
    let waiting = guesses.iter().filter(|guess| !guess.is_finished()).count();
    assert!(waiting > 20, "{waiting} of 40 guesses wait still");
    for guess in guesses {
        guess.abort();
    }
}

#[tokio::test]
async fn signing_out_ends_the_session_and_takes_its_form() {
    let server = guarded().await;
    let mut browser = Browser::at(&server);
    browser.sign_in(READER).await;
    let page = browser.get("/").await;
    let token = form_token(&page);
    let own = format!("Origin: http://{}\r\n", server.address);
    for (form, more) in [
        (String::new(), own.as_str()),
        (format!("form_token={}", "0".repeat(64)), &own),
        (
            format!("form_token={token}"),
            "Origin: http://evil.example\r\n",
        ),
        (format!("form_token={token}"), "Origin: null\r\n"),
        (
            format!("form_token={token}"),
            "Sec-Fetch-Site: cross-site\r\n",
        ),
    ] {
        let refused = browser.post("/sign-out", &form, more).await;
        assert_eq!(refused.status, 403, "{form} {more}");
        assert_eq!(browser.get("/").await.status, 200, "still signed in");
    }
    let kept = browser.cookies.clone();
    let form = format!("form_token={token}");
    let signed_out = browser.post("/sign-out", &form, &own).await;
    assert_eq!(
        (signed_out.status, signed_out.header("location")),
        (303, Some("/sign-in"))
    );
    assert_eq!(browser.get("/").await.status, 303);
    browser.cookies = kept;
    assert_eq!(
        browser.get("/").await.status,
        303,
        "the old cookie opens nothing"
    );
}

#[tokio::test]
async fn a_stream_ends_with_the_session_that_opened_it() {
    let server = guarded().await;
    let mut browser = Browser::at(&server);
    browser.sign_in(READER).await;
    let page = browser.get("/").await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let headers = browser.headers();
    let request = format!("GET /live?page=%2F HTTP/1.1\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = String::new();
    read_until(&mut stream, &mut received, "event: live").await;
    let own = format!("Origin: http://{}\r\n", server.address);
    let form = format!("form_token={}", form_token(&page));
    assert_eq!(browser.post("/sign-out", &form, &own).await.status, 303);
    read_until(&mut stream, &mut received, "event: over").await;
    // The chunk that ends the answer.
    read_until(&mut stream, &mut received, "\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn a_session_is_as_good_as_its_token() {
    let server = guarded().await;
    let mut browser = Browser::at(&server);
    browser.sign_in(READER).await;
    let raised = Tokens::new([token("rita", READER, Grant::Operate)]).unwrap();
    server.handle.set_tokens(raised).unwrap();
    let page = browser.get("/").await;
    assert!(
        page.body.contains("<strong>rita</strong> · operate"),
        "{}",
        page.body
    );
    let removed = Tokens::new([token("ada", "another-secret-here", Grant::Read)]).unwrap();
    server.handle.set_tokens(removed).unwrap();
    assert_eq!(browser.get("/").await.status, 303);

    server.handle.set_tokens(tokens()).unwrap();
    assert_eq!(browser.get("/").await.status, 303, "ended for good");
    browser.sign_in(READER).await;
    assert_eq!(browser.get("/").await.status, 200);
    server.wait(8 * 3_600);
    assert_eq!(browser.get("/").await.status, 303, "it lasts eight hours");
}

#[tokio::test]
async fn pages_take_bearer_tokens_and_programs_get_problems() {
    let server = guarded().await;
    let get = |path: &'static str, headers: String| async move {
        crate::http::get_with(server.address, path, &headers).await
    };
    let bearer = |secret: &str| format!("Host: localhost\r\nAuthorization: Bearer {secret}\r\n");
    assert_eq!(get("/", bearer(READER)).await.status, 200);
    let claims = get("/", bearer("claims-claims-claims")).await;
    assert_eq!(
        (claims.status, claims.problem().as_str()),
        (403, "forbidden")
    );
    assert_eq!(get("/", bearer("wrong")).await.problem(), "unauthorized");
    let none = get("/live?page=/", "Host: localhost\r\n".to_owned()).await;
    assert_eq!(none.problem(), "unauthorized");
}

#[tokio::test]
async fn every_answer_keeps_strangers_out() {
    let server = guarded().await;
    let mut browser = Browser::at(&server);
    browser.sign_in(READER).await;
    for path in ["/", "/sign-in", "/assets/style.css", "/live?page=/nowhere"] {
        let answer = browser.get(path).await;
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        let is_asset = path.starts_with("/assets/");
        let kept = answer.header("cache-control").unwrap();
        assert_eq!(kept != "no-store", is_asset, "{path}: {kept}");
        assert!(
            !answer.body.contains("style=\"") && !answer.body.contains("onclick"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_page_is_sent_again_when_it_changes() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = "GET /live?page=%2F HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = String::new();
    read_until(&mut stream, &mut received, "event: live").await;
    assert!(
        received.contains("content-type: text/event-stream"),
        "{received}"
    );
    server.health.part("gateway").not_ready("<draining>");
    read_until(&mut stream, &mut received, "&lt;draining&gt;").await;
    server.stop().await;
}

#[tokio::test]
async fn streams_are_bounded_and_end_with_the_process() {
    let server = Server::start().await;
    let mut streams = Vec::new();
    let request = "GET /live?page=%2F HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for _ in 0..32 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut stream, &mut String::new(), "event: live").await;
        streams.push(stream);
    }
    let refused = server.get("/live?page=%2F").await;
    assert_eq!(
        (refused.status, refused.problem().as_str()),
        (503, "overloaded")
    );
    streams.pop();
    // The server sees that the stream ended when it writes to it next, or before.
    loop {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        if head == *b"HTTP/1.1 200" {
            break;
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_page_elsewhere_holds_no_streams() {
    let server = Server::start().await;
    for site in ["cross-site", "same-site"] {
        let headers = format!("Host: localhost\r\nSec-Fetch-Site: {site}\r\n");
        let refused = crate::http::get_with(server.address, "/live?page=%2F", &headers).await;
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (403, "forbidden"),
            "{site}"
        );
    }
    for site in ["same-origin", "none"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "GET /live?page=%2F HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: {site}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut stream, &mut String::new(), "event: live").await;
    }
}

async fn read_until(stream: &mut TcpStream, received: &mut String, wanted: &str) {
    let mut bytes = [0; 4_096];
    while !received.contains(wanted) {
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "{wanted} never came: {received}");
        received.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
}
