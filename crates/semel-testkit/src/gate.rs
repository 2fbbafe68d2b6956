//! A gate that a test opens.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Closed until it is opened; it may be opened before a task comes. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Sides>);

#[derive(Debug)]
struct Sides {
    arrived: Semaphore,
    /// Closed once the gate is open for good.
    passes: Semaphore,
}

impl Gate {
    /// A gate that holds every task.
    pub fn closed() -> Self {
        let [arrived, passes] = [0, 0].map(Semaphore::new);
        Self(Arc::new(Sides { arrived, passes }))
    }

    /// Lets every task pass, from now on.
    pub fn open(&self) {
        self.0.passes.close();
    }

    /// Lets `tasks` pass, in the order of their arrival.
    pub fn let_pass(&self, tasks: usize) {
        self.0.passes.add_permits(tasks);
    }

    /// Waits until the gate lets this task pass.
    pub async fn pass(&self) {
        self.0.arrived.add_permits(1);
        take(&self.0.passes).await;
    }

    /// Waits for an arrival that no earlier call of this has waited for.
    pub async fn reached(&self) {
        take(&self.0.arrived).await;
    }
}

async fn take(permits: &Semaphore) {
    if let Ok(permit) = permits.acquire().await {
        permit.forget();
    }
}
