//! Alive, ready, and the page for people.

use insta::assert_snapshot;
use semel_testkit::faulty::Fault;
use semel_testkit::gate::Gate;

use crate::server::Server;

#[tokio::test]
async fn readiness_names_the_store_when_it_is_away() {
    let (server, faulty) = Server::faulty().await;
    assert_snapshot!(server.get("/readyz").await.shown(), @r#"
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
    assert_snapshot!(server.get("/readyz").await.shown(), @r#"
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
    assert_eq!(server.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn readiness_names_the_door_that_drains() {
    let server = Server::start().await;
    let gateway = server.health.part("gateway");
    assert_eq!(server.get("/readyz").await.status, 200);
    gateway.not_ready("draining");
    assert_snapshot!(server.get("/readyz").await.shown(), @r#"
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
    let (server, faulty) = Server::faulty().await;
    server.get("/metrics").await;
    faulty.set_all(Fault::Gated(Gate::closed()));
    let (ready, metrics) = tokio::join!(server.get("/readyz"), server.get("/metrics"));
    assert_eq!(ready.status, 503);
    assert_eq!(ready.json()["parts"][0]["why"], "no answer within 2000 ms");
    assert_eq!(metrics.status, 200);
}

#[tokio::test]
async fn probes_are_not_counted_as_traffic() {
    let server = Server::start().await;
    server.get("/readyz").await;
    let text = server.get("/metrics").await.body;
    let quiet = "semel_store_answers_total{verb=\"renew\",answer=\"lost\"} 0";
    assert!(text.contains(quiet), "{text}");
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
    let running = "<th>running</th><td class=\"number\">1</td>";
    assert!(page.body.contains(running), "{}", page.body);
}
