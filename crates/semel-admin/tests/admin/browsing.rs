//! A browser of a few lines: it keeps cookies, follows the redirect of a form, and fills in forms by what they contain.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::http::{Response, raw};

/// A browser at one server.
pub(crate) struct Browser {
    address: SocketAddr,
    cookies: BTreeMap<String, String>,
    /// What it says of itself in every request.
    more: String,
}

impl Browser {
    pub(crate) fn at(address: SocketAddr) -> Self {
        Self {
            address,
            cookies: BTreeMap::new(),
            more: String::new(),
        }
    }

    /// One that holds a token.
    pub(crate) fn with_token(address: SocketAddr, token: &str) -> Self {
        Self {
            more: format!("Authorization: Bearer {token}\r\n"),
            ..Self::at(address)
        }
    }

    /// The same browser with another header line in its requests.
    pub(crate) fn saying(mut self, line: &str) -> Self {
        self.more += line;
        self
    }

    /// Opens a page, which must be there.
    pub(crate) async fn open(&mut self, path: &str) -> String {
        let response = self.get(path).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.body
    }

    pub(crate) async fn get(&mut self, path: &str) -> Response {
        let head = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.head());
        self.send(&head).await
    }

    /// Fills in the form that contains `what` and posts it; fields that are named again are replaced.
    pub(crate) async fn submit(
        &mut self,
        page: &str,
        what: &str,
        fields: &[(&str, &str)],
    ) -> Response {
        let (action, mut all) = form(page, what);
        for (name, value) in fields {
            all.retain(|(known, _)| known != name);
            all.push(((*name).to_owned(), (*value).to_owned()));
        }
        let encode = |text: &str| {
            text.bytes()
                .map(|b| format!("%{b:02X}"))
                .collect::<String>()
        };
        let pairs = all
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let head = format!(
            "POST {action} HTTP/1.1\r\n{}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            self.head(),
            body.len()
        );
        self.send(&head).await
    }

    /// The same, and opens the page to which the answer leads.
    pub(crate) async fn confirm(
        &mut self,
        page: &str,
        what: &str,
        fields: &[(&str, &str)],
    ) -> String {
        let done = self.submit(page, what, fields).await;
        assert_eq!(done.status, 303, "{done:?}");
        let to = done.header("location").unwrap().to_owned();
        self.open(&to).await
    }

    fn head(&self) -> String {
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        format!(
            "Host: localhost\r\nConnection: close\r\nAccept: text/html\r\nCookie: {cookies}\r\n{}",
            self.more
        )
    }

    async fn send(&mut self, request: &str) -> Response {
        let response = raw(self.address, request.as_bytes()).await;
        for line in response.head.lines() {
            let Some(cookie) = line.strip_prefix("set-cookie: ") else {
                continue;
            };
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            match cookie.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        response
    }
}

/// Where the form that contains `what` posts to, and its fields as they stand.
fn form(page: &str, what: &str) -> (String, Vec<(String, String)>) {
    let mut forms = page
        .split("<form ")
        .skip(1)
        .map(|form| form.split("</form>").next().unwrap());
    let form = forms.find(|form| form.contains(what) && form.contains("method=\"post\""));
    let form = form.unwrap_or_else(|| panic!("no form with {what:?} in {page}"));
    let action = attribute(form, "action").expect("an action");
    let inputs = form
        .split("<input ")
        .skip(1)
        .map(|input| input.split('>').next().unwrap());
    let inputs = inputs.filter(|input| !input.contains("checkbox"));
    let mut fields: Vec<_> = inputs
        .filter_map(|input| {
            Some((
                attribute(input, "name")?,
                attribute(input, "value").unwrap_or_default(),
            ))
        })
        .collect();
    let areas = form.split("<textarea ").skip(1).filter_map(|area| {
        let (tag, rest) = area.split_once('>')?;
        let text = rest.split("</textarea>").next()?;
        let text = text.strip_prefix('\n').unwrap_or(text);
        Some((attribute(tag, "name")?, unescaped(text)))
    });
    fields.extend(areas);
    (action, fields)
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    Some(unescaped(rest.split('"').next()?))
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
