//! The worker: an engine that runs until standard input ends.

use std::io::Read;
use std::sync::Arc;

use semel_inbox::Ack;
use semel_inbox::source::Locator;
use semel_inbox::{Rule, Webhook, handler_fn};

use super::Job;
use super::gate::Gate;
use super::handler::Hand;
use super::life::say;
use super::source::Remote;
use crate::outside::INTENTS;
use crate::workshop::{ORDERS, engine, policy, target};

/// Works until whoever started this is gone.
pub(crate) fn work(job: Job) {
    // A thread may stand still at a window while others go on.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.spawn(run(Arc::new(job)));
    let mut all = Vec::new();
    std::io::stdin().lock().read_to_end(&mut all).unwrap();
    runtime.shutdown_background();
}

async fn run(job: Arc<Job>) {
    let client = semel_inbox::client_builder().build().unwrap();
    let inbox = Arc::new(Gate {
        inbox: job.place.open().await,
        job: job.clone(),
    });
    let mut consumer = policy();
    if job.after_effect {
        consumer.ack = Ack::AfterEffect;
    }
    let hand = Arc::new(Hand {
        job: job.clone(),
        client: client.clone(),
    });
    let handler = handler_fn(move |ctx| {
        let hand = hand.clone();
        async move { hand.handle(ctx).await }
    });
    let mut builder = engine(inbox)
        .consumer(consumer, handler)
        .target(target(&job.provider(INTENTS)));
    if !job.webhook {
        let job = job.clone();
        let remote = Arc::new(Remote { job, client });
        builder = builder.source(ORDERS.parse().unwrap(), remote, Rule::default());
    }
    let running = builder.build().unwrap().start();
    if job.webhook {
        let rule = Rule {
            id: vec![Locator::header("message-id").unwrap()],
            ..Rule::default()
        };
        let webhook = Webhook::new(ORDERS.parse().unwrap()).rule(rule);
        let router = running.router(vec![webhook]).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        say(&format!("serves {}", listener.local_addr().unwrap()));
        axum::serve(listener, router).await.unwrap();
    }
    std::future::pending::<()>().await;
}
