//! Messages of a source hang together with their producers' traces.

use std::sync::{Arc, Mutex};

use semel_core::inbox::State;
use semel_core::trace::{FinishedSpan, Sampling, SpanSink, Value};
use semel_core::{TraceContext, Tracer};
use semel_inbox::{Ctx, Done, FileSource, Rule, handler_fn};

use crate::support::{Rig, consumer, eventually, identity};

const PRODUCER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// All spans that have ended.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Vec<FinishedSpan>>);

impl Kept {
    pub(crate) fn all(&self) -> Vec<FinishedSpan> {
        self.0.lock().unwrap().clone()
    }
}

impl SpanSink for Kept {
    fn ended(&self, span: FinishedSpan) {
        self.0.lock().unwrap().push(span);
    }
}

#[tokio::test]
async fn an_attempt_joins_the_trace_of_its_producer_and_a_second_delivery_is_linked_to_it() {
    let rig = Rig::new();
    let path = rig.dir.path().join("orders.jsonl");
    let line = format!(
        "{{\"id\":\"o-1\",\"headers\":{{\"traceparent\":\"{PRODUCER}\"}},\"payload\":1}}\n"
    );
    std::fs::write(&path, line.repeat(2)).unwrap();
    let kept = Arc::<Kept>::default();
    let sampling = Sampling {
        join_messages: true,
        ..Sampling::default()
    };
    let told = Arc::<Mutex<Option<TraceContext>>>::default();
    let handled = told.clone();
    let handler = handler_fn(move |ctx: Ctx| {
        *handled.lock().unwrap() = ctx.trace().cloned();
        async { Ok(Done::new()) }
    });
    let engine = rig.engine().consumer(consumer("orders"), handler);
    let engine = engine.traced(Tracer::new(kept.clone(), sampling));
    let source = Arc::new(FileSource::new(&path));
    let engine = engine.source("orders".parse().unwrap(), source, Rule::default());
    let mut running = engine.build().unwrap().start();
    running.sources_ended().await;
    rig.until(&identity("orders", "o-1"), State::Completed)
        .await;
    running.shutdown().await;

    let producer = TraceContext::parse(PRODUCER.as_bytes()).unwrap();
    for name in ["process orders@1", "receive orders@1"] {
        let look = async || {
            let spans = kept.0.lock().unwrap();
            spans.iter().find(|span| span.name == name).cloned()
        };
        let span = eventually(name, look).await;
        assert_eq!(span.context.trace(), producer.trace(), "{name}");
        assert_eq!(span.parent, Some(*producer.span()), "{name}");
        assert_eq!(span.links, std::slice::from_ref(&producer), "{name}");
        let said = |key: &str| {
            let found = span.attributes.iter().find(|(known, _)| *known == key);
            found.map(|(_, value)| value.clone())
        };
        match name {
            "receive orders@1" => assert_eq!(said("semel.outcome"), Some(Value::from("duplicate"))),
            _ => assert_eq!(Some(span.context.clone()), *told.lock().unwrap()),
        }
    }
}
