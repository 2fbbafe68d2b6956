//! Begins spans, and decides which traces are recorded.

use std::fmt;
use std::sync::Arc;

use super::context::TraceContext;
use super::span::{FinishedSpan, Kind, Span};
use crate::clock::unix_nanos;
use crate::store::Nonce;

/// Takes spans that have ended. Called on the path of requests and messages: it must not block, and drops what it has no room for.
pub trait SpanSink: fmt::Debug + Send + Sync + 'static {
    /// A span has ended.
    fn ended(&self, span: FinishedSpan);
}

/// What a span comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A request, whose caller may have said so.
    Request(Option<TraceContext>),
    /// A message, which its producer may have said something about.
    Message(Option<TraceContext>),
    /// Another span of this process.
    Child(TraceContext),
}

/// Which traces are recorded, and how spans hang together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// The share of traces that begin here which are recorded, from 0 to 1. Of others the caller or producer has decided.
    pub share: f64,
    /// Whether what callers say of their traces is believed. Otherwise each request begins a trace of its own, with a link to the caller's.
    pub trust_callers: bool,
    /// Whether handling a message belongs to the trace of its producer. Otherwise it begins one of its own, with a link to the producer's.
    pub join_messages: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            share: 1.0,
            trust_callers: true,
            join_messages: false,
        }
    }
}

/// Begins spans, or does nothing. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tracer(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    sink: Arc<dyn SpanSink>,
    sampling: Sampling,
}

/// Where a span stands in its trace.
struct Place {
    context: TraceContext,
    parent: Option<[u8; 8]>,
    link: Option<TraceContext>,
}

impl Tracer {
    /// Does nothing.
    pub const fn off() -> Self {
        Self(None)
    }

    /// Hands spans to `sink`.
    pub fn new(sink: Arc<dyn SpanSink>, sampling: Sampling) -> Self {
        Self(Some(Arc::new(Inner { sink, sampling })))
    }

    /// Whether spans are begun at all.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins a span. `origin` is not asked of a tracer that is off.
    pub fn begin(&self, kind: Kind, name: &'static str, origin: impl FnOnce() -> Origin) -> Span {
        let Some(inner) = &self.0 else {
            return Span::default();
        };
        let Place {
            context,
            parent,
            link,
        } = inner.sampling.place(origin());
        let written = context.is_sampled().then(|| {
            Box::new(FinishedSpan {
                name: name.into(),
                kind,
                context: context.clone(),
                parent,
                began: unix_nanos(),
                ended: 0,
                attributes: Vec::new(),
                links: link.into_iter().collect(),
                error: None,
            })
        });
        Span::begin(self.clone(), context, written)
    }

    pub(super) fn ended(&self, mut span: FinishedSpan) {
        if let Some(inner) = &self.0 {
            // The wall clock may have been set back meanwhile.
            span.ended = unix_nanos().max(span.began);
            inner.sink.ended(span);
        }
    }
}

impl Sampling {
    fn place(&self, origin: Origin) -> Place {
        match origin {
            Origin::Child(parent) => Place::under(&parent),
            Origin::Request(Some(caller)) if self.trust_callers => Place::under(&caller),
            Origin::Request(Some(caller)) => self.root(None, Some(caller)),
            Origin::Message(Some(producer)) if self.join_messages => Place {
                link: Some(producer.clone()),
                ..Place::under(&producer)
            },
            // A link to what is not recorded shows nothing, and one from it is not seen: the producer decides for both.
            Origin::Message(Some(producer)) => {
                self.root(Some(producer.is_sampled()), Some(producer))
            }
            Origin::Request(None) | Origin::Message(None) => self.root(None, None),
        }
    }

    fn root(&self, sampled: Option<bool>, link: Option<TraceContext>) -> Place {
        let mut trace = [0; 16];
        trace[..8].copy_from_slice(&fresh());
        trace[8..].copy_from_slice(&fresh());
        let sampled = sampled.unwrap_or_else(|| self.takes(&trace));
        let context = TraceContext::new(trace, fresh(), sampled);
        Place {
            context: context.expect("fresh numbers are not zero"),
            parent: None,
            link,
        }
    }

    /// By the number of the trace, so that all who sample the same share take the same traces.
    fn takes(&self, trace: &[u8; 16]) -> bool {
        let [.., a, b, c, d, e, f, g] = *trace;
        let number = u64::from_be_bytes([0, a, b, c, d, e, f, g]);
        // Both are below 2^56 and exact enough: a share is not counted to the last trace.
        (number as f64) < self.share * (1u64 << 56) as f64
    }
}

impl Place {
    fn under(parent: &TraceContext) -> Self {
        Self {
            context: parent.sibling(fresh()),
            parent: Some(*parent.span()),
            link: None,
        }
    }
}

fn fresh() -> [u8; 8] {
    Nonce::fresh().to_i64().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Value;
    use std::sync::Mutex;

    #[derive(Debug, Default)]
    struct Kept(Mutex<Vec<FinishedSpan>>);

    impl SpanSink for Kept {
        fn ended(&self, span: FinishedSpan) {
            self.0.lock().unwrap().push(span);
        }
    }

    fn tracer(sampling: Sampling) -> (Tracer, Arc<Kept>) {
        let kept = Arc::<Kept>::default();
        (Tracer::new(kept.clone(), sampling), kept)
    }

    fn caller(sampled: bool) -> TraceContext {
        TraceContext::new([7; 16], [9; 8], sampled).unwrap()
    }

    fn ended(kept: &Kept) -> Vec<FinishedSpan> {
        std::mem::take(&mut kept.0.lock().unwrap())
    }

    #[test]
    fn off_asks_for_nothing_and_writes_nothing() {
        let span = Tracer::off().begin(Kind::Server, "x", || unreachable!("nothing is asked"));
        span.record(|_| unreachable!("nothing is written"));
        assert!(
            span.child(Kind::Client, "y").context().is_none(),
            "a part of nothing is nothing"
        );
    }

    #[test]
    fn a_span_ends_when_it_is_dropped_and_its_parts_hang_below_it() {
        let (tracer, kept) = tracer(Sampling::default());
        let span = tracer.begin(Kind::Server, "POST", || Origin::Request(Some(caller(true))));
        let handle = span.handle();
        drop(handle.child(Kind::Client, "POST"));
        handle.record(|span| span.set("a", 1u64));
        drop(span);
        handle.record(|_| unreachable!("it has ended"));
        let spans = ended(&kept);
        let [part, whole] = &spans[..] else {
            panic!("{spans:?}")
        };
        assert_eq!(whole.parent, Some([9; 8]));
        assert_eq!(whole.context.trace(), &[7; 16]);
        assert_eq!(whole.attributes, [("a", Value::Int(1))]);
        assert_eq!(part.parent.as_ref(), Some(whole.context.span()));
        assert!(whole.began <= part.began && part.ended <= whole.ended);
    }

    #[test]
    fn a_trace_that_is_not_sampled_goes_on_and_is_not_written() {
        let (tracer, kept) = tracer(Sampling::default());
        let span = tracer.begin(Kind::Server, "POST", || {
            Origin::Request(Some(caller(false)))
        });
        let context = span.context().unwrap();
        assert_eq!((context.trace(), context.is_sampled()), (&[7; 16], false));
        assert_ne!(context.span(), &[9; 8]);
        assert!(span.sampled().is_none());
        drop(span);
        assert_eq!(ended(&kept), []);
    }

    #[test]
    fn callers_that_are_not_trusted_are_linked() {
        let sampling = Sampling {
            trust_callers: false,
            ..Sampling::default()
        };
        let (tracer, kept) = tracer(sampling);
        for sampled in [true, false] {
            drop(tracer.begin(Kind::Server, "POST", || {
                Origin::Request(Some(caller(sampled)))
            }));
            let span = ended(&kept).remove(0);
            assert_ne!(span.context.trace(), &[7; 16]);
            assert_eq!((span.parent, span.links), (None, vec![caller(sampled)]));
        }
    }

    #[test]
    fn messages_are_linked_or_joined_and_follow_their_producer() {
        let message = |sampled| move || Origin::Message(Some(caller(sampled)));
        for join_messages in [false, true] {
            let (tracer, kept) = tracer(Sampling {
                join_messages,
                share: 0.0,
                ..Sampling::default()
            });
            drop(tracer.begin(Kind::Consumer, "process", message(false)));
            assert_eq!(ended(&kept), []);
            drop(tracer.begin(Kind::Consumer, "process", message(true)));
            let span = ended(&kept).remove(0);
            assert_eq!(span.context.trace() == &[7; 16], join_messages);
            assert_eq!(span.parent, join_messages.then_some([9; 8]));
            assert_eq!(span.links, [caller(true)]);
        }
    }

    #[test]
    fn the_share_decides_where_a_trace_begins() {
        for (share, least, most) in [(0.0, 0, 0), (1.0, 1_000, 1_000), (0.5, 350, 650)] {
            let (tracer, kept) = tracer(Sampling {
                share,
                ..Sampling::default()
            });
            for _ in 0..1_000 {
                drop(tracer.begin(Kind::Server, "x", || Origin::Request(None)));
            }
            let taken = ended(&kept).len();
            assert!((least..=most).contains(&taken), "{share}: {taken}");
        }
    }

    #[test]
    fn what_a_span_says_is_bounded() {
        let (tracer, kept) = tracer(Sampling::default());
        let span = tracer.begin(Kind::Server, "x", || Origin::Request(None));
        const KEYS: [&str; 4] = ["a", "b", "c", "a"];
        span.record(|span| {
            KEYS.iter().for_each(|key| span.set(key, "é".repeat(500)));
            (1..100).for_each(|n| {
                span.link(TraceContext::new([n; 16], [n; 8], true).unwrap());
            });
            span.fail("timeout", &"x".repeat(500));
        });
        drop(span);
        let span = ended(&kept).remove(0);
        assert_eq!(span.attributes.len(), 4);
        let Value::Text(text) = &span.attributes[0].1 else {
            panic!("{span:?}")
        };
        assert_eq!((text.len(), span.links.len()), (256, 32));
        assert_eq!(span.error.map(|error| error.len()), Some(256));
    }
}
