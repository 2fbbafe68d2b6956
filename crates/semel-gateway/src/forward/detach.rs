//! Work that goes on when nobody waits for it any more.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A future that finishes even if it is dropped: what is left of it goes on in a task of its own. Until
/// then it costs no task.
pub(super) struct Detached<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> Detached<F> {
    pub(super) fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for Detached<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let future = self.0.as_mut().expect("not polled after it has finished");
        let polled = future.as_mut().poll(cx);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Detached<F> {
    fn drop(&mut self) {
        // Without a runtime the process is ending; then the lease ends, and the record says so.
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_is_dropped_goes_on() {
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let mut work = Detached::new(async move {
            gone.await.unwrap();
            tell.send("done").unwrap();
        });
        std::future::poll_fn(|cx| {
            assert!(Pin::new(&mut work).poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(work);
        go.send(()).unwrap();
        assert_eq!(told.await.unwrap(), "done");
    }
}
