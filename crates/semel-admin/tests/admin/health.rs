//! Alive, ready, and the page for people.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use semel_admin::config::CONNECTIONS_MAX;
use semel_admin::{Config, Secret, Tokens, Upstream};
use semel_core::Store;
use semel_inbox::source::SourceView;
use semel_testkit::faulty::{Fault, Faulty};
use semel_testkit::gate::Gate;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::http::get_with;
use crate::server::Server;

const OFTEN: Duration = Duration::from_millis(20);

/// Readiness as soon as it has this status; how old the store's word is does not belong to a snapshot.
async fn readiness(server: &Server, status: u16) -> String {
    let asking = async {
        loop {
            let mut ready = server.get("/readyz").await;
            if ready.status == status {
                let mut json = ready.json();
                let store = json["parts"][0].as_object_mut().unwrap();
                assert!(store.remove("age_ms").unwrap().is_u64());
                ready.body = json.to_string();
                return ready.shown();
            }
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(60), asking);
    asked.await.expect("readiness to change")
}

#[tokio::test]
async fn readiness_names_the_store_when_it_is_away() {
    let (server, faulty) = Server::faulty_and_probed(OFTEN).await;
    assert_snapshot!(readiness(&server, 200).await, @r#"
    200
    {
      "parts": [
        {
          "name": "store",
          "ready": true
        }
      ],
      "ready": true
    }
    "#);
    faulty.set_all(Fault::Away);
    assert_snapshot!(readiness(&server, 503).await, @r#"
    503
    {
      "parts": [
        {
          "name": "store",
          "ready": false,
          "why": "unavailable"
        }
      ],
      "ready": false
    }
    "#);
    let alive = server.get("/healthz").await;
    assert_eq!((alive.status, alive.body.as_str()), (200, "ok\n"));
    faulty.heal_all();
    readiness(&server, 200).await;
}

#[tokio::test]
async fn a_storm_of_questions_does_not_reach_the_store() {
    let (server, faulty) = Server::faulty().await;
    faulty.take_calls();
    for _ in 0..200 {
        assert_eq!(server.get("/readyz").await.status, 200);
    }
    assert!(faulty.take_calls().is_empty());
}

#[tokio::test]
async fn the_first_answer_waits_for_the_store() {
    let gate = Gate::closed();
    let held = gate.clone();
    let around = |store| {
        let faulty = Faulty::new(store);
        faulty.set_all(Fault::Gated(held));
        faulty as Arc<dyn Store>
    };
    let server = Server::start_with(Config::default(), around).await;
    let (ready, ()) = tokio::join!(server.get("/readyz"), async {
        // The door is open, and only readiness waits.
        assert_eq!(server.get("/healthz").await.status, 200);
        gate.open();
    });
    assert_eq!(ready.status, 200);
}

#[tokio::test]
async fn silent_connections_do_not_keep_readiness_away() {
    let server = Server::start().await;
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    for _ in 0..3 {
        assert_eq!(server.get("/readyz").await.status, 200);
    }
    // The first ones made room, the last ones are still there.
    let mut byte = [0];
    assert_eq!(silent[0].read(&mut byte).await.unwrap(), 0);
    let last = silent.last().unwrap();
    assert_eq!(
        last.try_read(&mut byte).unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
}

#[tokio::test]
async fn readiness_names_the_door_that_drains() {
    let server = Server::start().await;
    let gateway = server.health.part("gateway");
    readiness(&server, 200).await;
    gateway.not_ready("draining");
    assert_snapshot!(readiness(&server, 503).await, @r#"
    503
    {
      "parts": [
        {
          "name": "store",
          "ready": true
        },
        {
          "name": "gateway",
          "ready": false,
          "why": "draining"
        }
      ],
      "ready": false
    }
    "#);
    gateway.ready();
    assert_eq!(server.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn a_part_that_is_ready_may_have_something_to_say() {
    let server = Server::start().await;
    let clock = server.health.part("clock");
    clock.ready_but("jumped 3d ahead of the store's time");
    let ready = server.get("/readyz").await;
    assert_eq!(ready.status, 200);
    let parts = &ready.json()["parts"][1];
    assert_eq!(parts["ready"], true);
    assert_eq!(parts["why"], "jumped 3d ahead of the store's time");
}

#[tokio::test]
async fn a_store_that_hangs_holds_nobody_up_for_long() {
    let (server, faulty) = Server::faulty_and_probed(OFTEN).await;
    server.get("/metrics").await;
    faulty.set_all(Fault::Gated(Gate::closed()));
    let (ready, metrics) = tokio::join!(readiness(&server, 503), server.get("/metrics"));
    assert!(ready.contains("no answer within 2000 ms"), "{ready}");
    assert_eq!(metrics.status, 200);
}

#[tokio::test]
async fn probes_are_not_counted_as_traffic() {
    let server = Server::start().await;
    server.get("/readyz").await;
    let text = server.get("/metrics").await.body;
    let renewed = "semel_store_answers_total{verb=\"renew\"";
    assert!(!text.contains(renewed), "{text}");
}

#[tokio::test]
async fn the_page_says_how_things_stand() {
    let server = Server::start().await;
    server.fence("secret-key").await;
    server.health.part("gateway").not_ready("<draining>");
    let page = server.get("/").await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(page.header("content-security-policy").is_some());
    assert!(page.body.contains("&lt;draining&gt;"), "{}", page.body);
    assert!(!page.body.contains("{{") && !page.body.contains("secret-key"));
    server.health.part("gateway").ready();
    let page = server.get("/").await;
    let running = "running</span></td><td class=\"number\" data-column=\"Records\">1</td>";
    assert!(page.body.contains(running), "{}", page.body);
}

#[tokio::test]
async fn names_of_services_and_sources_are_for_readers() {
    let secret = Secret::new("s3cret").unwrap();
    let config = Config {
        tokens: Tokens::admin(secret),
        ..Config::default()
    };
    let server = Server::start_with(config, |store| store).await;
    let upstream = Upstream {
        name: "billing.internal:8080".to_owned(),
        unreached: 2,
    };
    let look = move || vec![upstream.clone()];
    server.health.watch_upstreams(Box::new(look));
    let view = SourceView::new("orders-topic", "orders".parse().unwrap());
    let look = move || vec![view.clone()];
    server.health.watch_sources(Some(Box::new(look)));
    for (token, names) in [
        (None, ("source 1", "1")),
        (Some("wrong"), ("source 1", "1")),
        (
            Some("s3cret"),
            ("source orders-topic of orders@1", "billing.internal:8080"),
        ),
    ] {
        let header = token.map(|token: &str| format!("Authorization: Bearer {token}\r\n"));
        let headers = format!("Host: localhost\r\n{}", header.unwrap_or_default());
        let ready = get_with(server.address, "/readyz", &headers).await;
        assert_eq!(ready.status, 200);
        let json = ready.json();
        let found = (&json["parts"][1]["name"], &json["upstreams"][0]["name"]);
        assert_eq!(found, (&names.0.into(), &names.1.into()), "{token:?}");
        assert_eq!(json["upstreams"][0]["ready"], false);
    }
}
