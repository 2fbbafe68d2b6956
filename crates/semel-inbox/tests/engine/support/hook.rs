//! A webhook of an engine, and a client.

use std::net::SocketAddr;
use std::sync::Arc;

use semel_inbox::{Consumer, Done, Failure, Running, Webhook, handler_fn};
use tokio::sync::Semaphore;

use super::Rig;

/// An engine with one webhook, and a client.
pub(crate) struct Hook {
    pub(crate) running: Option<Running>,
    pub(crate) addr: SocketAddr,
    pub(crate) gate: Arc<Semaphore>,
}

impl Hook {
    /// The handler fails for good if the payload says so, and waits for the gate if it says that.
    pub(crate) async fn start(rig: &Rig, policy: Consumer, webhook: Webhook) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let waits = gate.clone();
        let handler = handler_fn(move |ctx| {
            let waits = waits.clone();
            async move {
                let payload = String::from_utf8_lossy(ctx.message().payload()).into_owned();
                if payload.contains("bad") {
                    return Err(Failure::terminal("bad"));
                }
                if payload.contains("slow") {
                    waits.acquire().await?.forget();
                }
                Ok(Done::new())
            }
        });
        let engine = rig.engine().consumer(policy, handler).build().unwrap();
        let running = engine.start();
        let router = running.router(vec![webhook]).unwrap();
        let mut hook = Self::serve(running, router).await;
        hook.gate = gate;
        hook
    }

    pub(crate) async fn serve(running: Running, router: axum::Router) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            running: Some(running),
            addr,
            gate: Arc::new(Semaphore::new(0)),
        }
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Told {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(format!("http://{}{path}", self.addr));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let response = request.body(body.to_owned()).send().await.unwrap();
        let status = response.status().as_u16();
        let retry_after = response.headers().contains_key("retry-after");
        let state = response.headers().get("semel-state");
        let state = state.map_or(String::new(), |state| state.to_str().unwrap().to_owned());
        let head = response.headers().clone();
        let body = response.bytes().await.unwrap();
        let told = Told {
            status,
            retry_after,
            state,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        told.check_problem(&head);
        told
    }

    pub(crate) async fn stop(mut self) {
        self.running.take().unwrap().shutdown().await;
    }
}

#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) retry_after: bool,
    /// What `Semel-State` says.
    pub(crate) state: String,
    pub(crate) body: serde_json::Value,
}

impl Told {
    /// What every problem of every port has.
    fn check_problem(&self, head: &http::HeaderMap) {
        if self.status < 400 {
            return;
        }
        assert_eq!(head["content-type"], "application/problem+json", "{self:?}");
        let link = head["link"].to_str().unwrap();
        let page = format!("/docs/problems/{}.md>; rel=\"describedby\"", self.problem());
        assert!(link.ends_with(&page), "{link} {self:?}");
        assert!(self.body["ran"].is_string(), "{self:?}");
        let challenged = head.contains_key("www-authenticate");
        assert_eq!(challenged, self.status == 401, "{self:?}");
    }

    pub(crate) fn problem(&self) -> &str {
        let kind = self.body["type"].as_str().unwrap_or_default();
        kind.strip_prefix("urn:semel:problem:").unwrap_or_default()
    }
}
