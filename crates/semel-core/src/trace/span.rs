//! One piece of work in a trace.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::TraceContext;
use super::tracer::{Origin, Tracer};

/// The most attributes of a span; what comes later is left out.
const ATTRIBUTES_MAX: usize = 32;
/// The most links of a span.
const LINKS_MAX: usize = 32;
/// The most bytes of a text; the rest is cut off.
const TEXT_BYTES_MAX: usize = 256;

/// What kind of work it is, as OpenTelemetry sorts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Within the process.
    Internal,
    /// Answers a request.
    Server,
    /// Makes a request.
    Client,
    /// Hands a message to something that will deliver it later.
    Producer,
    /// Handles a message.
    Consumer,
}

/// What an attribute says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(Cow<'static, str>),
    /// A number.
    Int(i64),
    /// Yes or no.
    Bool(bool),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Int(number.into())
    }
}

/// A span that is written down, until and after its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedSpan {
    /// What was done.
    pub name: Cow<'static, str>,
    /// What kind of work it was.
    pub kind: Kind,
    /// Which span of which trace it is.
    pub context: TraceContext,
    /// The span that it is a part of.
    pub parent: Option<[u8; 8]>,
    /// When it began, in nanoseconds since the Unix epoch.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// What is known of it.
    pub attributes: Vec<(&'static str, Value)>,
    /// Other spans that it has to do with.
    pub links: Vec<TraceContext>,
    /// What went wrong.
    pub error: Option<String>,
}

impl FinishedSpan {
    /// Names it.
    pub fn name(&mut self, name: impl Into<Cow<'static, str>>) {
        self.name = cut(name.into());
    }

    /// Says something about it. What was said before under the same key is replaced.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        let value = match value.into() {
            Value::Text(text) => Value::Text(cut(text)),
            other => other,
        };
        let has_room = self.attributes.len() < ATTRIBUTES_MAX;
        match self.attributes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None if has_room => self.attributes.push((key, value)),
            None => {}
        }
    }

    /// Says that it has to do with another span. One link to each is enough.
    pub fn link(&mut self, other: TraceContext) {
        if self.links.len() < LINKS_MAX && !self.links.contains(&other) {
            self.links.push(other);
        }
    }

    /// Says that it failed: `kind` is a word of a few, `why` a sentence or nothing.
    pub fn fail(&mut self, kind: impl Into<Value>, why: &str) {
        self.set("error.type", kind);
        self.error = Some(cut(why.to_owned().into()).into_owned());
    }
}

fn cut(text: Cow<'static, str>) -> Cow<'static, str> {
    match text.len() {
        ..=TEXT_BYTES_MAX => text,
        _ => {
            let end = text.floor_char_boundary(TEXT_BYTES_MAX);
            Cow::Owned(text[..end].to_owned())
        }
    }
}

/// A piece of work that is being done. It ends, and is handed to the sink, when this is dropped.
#[derive(Debug, Default)]
pub struct Span(SpanHandle);

/// A span from elsewhere: it may be added to until it has ended, and spans that are a part of it may begin. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SpanHandle(Option<Arc<Live>>);

#[derive(Debug)]
struct Live {
    tracer: Tracer,
    context: TraceContext,
    /// Nothing once it has ended, and from the beginning if its trace is not sampled. A plain lock: it is held while a few fields
    /// are written, and never across an await.
    written: Mutex<Option<Box<FinishedSpan>>>,
}

impl Span {
    pub(super) fn begin(
        tracer: Tracer,
        context: TraceContext,
        written: Option<Box<FinishedSpan>>,
    ) -> Self {
        Self(SpanHandle(Some(Arc::new(Live {
            tracer,
            context,
            written: Mutex::new(written),
        }))))
    }

    /// The span for others to add to.
    pub fn handle(&self) -> SpanHandle {
        self.0.clone()
    }
}

impl Deref for Span {
    type Target = SpanHandle;

    fn deref(&self) -> &SpanHandle {
        &self.0
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(live) = &self.0.0
            && let Some(written) = live.take()
        {
            live.tracer.ended(*written);
        }
    }
}

impl Live {
    fn take(&self) -> Option<Box<FinishedSpan>> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.take()
    }
}

impl SpanHandle {
    /// What a request or message that this span causes carries; `None` without a tracer.
    pub fn context(&self) -> Option<&TraceContext> {
        self.0.as_ref().map(|live| &live.context)
    }

    /// The same, but only if the trace is recorded, so that it is worth remembering.
    pub fn sampled(&self) -> Option<&TraceContext> {
        self.context().filter(|context| context.is_sampled())
    }

    /// Writes to the span. Not called without a tracer, in a trace that is not sampled, or once the span has ended.
    pub fn record(&self, write: impl FnOnce(&mut FinishedSpan)) {
        if let Some(live) = &self.0
            && live.context.is_sampled()
        {
            let mut written = live.written.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(written) = written.as_deref_mut() {
                write(written);
            }
        }
    }

    /// Begins a part of it.
    pub fn child(&self, kind: Kind, name: &'static str) -> Span {
        match &self.0 {
            None => Span::default(),
            Some(live) => {
                let origin = || Origin::Child(live.context.clone());
                live.tracer.begin(kind, name, origin)
            }
        }
    }
}
