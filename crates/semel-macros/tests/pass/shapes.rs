//! The shapes that a function may have.

use semel::{Once, idempotent};

use crate::{Declined, Effects, once};

/// Semel under another name, as it is where it is re-exported.
mod renamed {
    pub(super) use semel::*;
}

#[idempotent(crate = crate::shapes::renamed, scope = "renamed@1", key = "{n}")]
async fn of_a_renamed_crate(once: &Once, n: u8) -> Result<u8, Declined> {
    Ok(n)
}

#[tokio::test]
async fn semel_may_have_another_name() {
    assert_eq!(of_a_renamed_crate(&once(), 3).await.unwrap().value, 3);
}

struct State {
    semel: Once,
}

impl State {
    fn semel(&self) -> &Once {
        &self.semel
    }
}

#[idempotent(scope = "state@1", key = "{n}", once = state.semel)]
async fn by_field(state: &State, n: u8) -> Result<u8, Declined> {
    Ok(n)
}

#[idempotent(scope = "state@2", key = "{n}", once = state.semel())]
async fn by_method(state: std::sync::Arc<State>, n: u8) -> Result<usize, Declined> {
    Ok(usize::from(n) + std::sync::Arc::strong_count(&state))
}

#[idempotent(scope = "state@3", key = "{n}", once = gate)]
async fn by_value(gate: Once, n: u8) -> Result<u8, Declined> {
    let _ = gate.policy();
    Ok(n)
}

#[tokio::test]
async fn the_once_may_be_anywhere() {
    let state = std::sync::Arc::new(State { semel: once() });
    for replayed in [false, true] {
        assert_eq!(by_field(&state, 1).await.unwrap().replayed, replayed);
        let answer = by_method(state.clone(), 1).await.unwrap();
        assert_eq!(answer.replayed, replayed);
        let answer = by_value(state.semel.clone(), 1).await.unwrap();
        assert_eq!(answer.replayed, replayed);
    }
}

#[idempotent(scope = "outer@1", key = "{n}", skip(effects))]
async fn outer(once: &Once, effects: Effects, n: u8) -> Result<u32, Declined> {
    let inner = inner(once, effects, n).await;
    inner.map(|answer| answer.value).map_err(|_| Declined::Busy)
}

#[idempotent(scope = "inner@1", key = "{n}", skip(effects))]
async fn inner(once: &Once, effects: Effects, n: u8) -> Result<u32, Declined> {
    let _ = n;
    Ok(effects.happen())
}

#[tokio::test]
async fn a_body_may_use_the_once_for_operations_of_its_own() {
    let (once, effects) = (once(), Effects::default());
    outer(&once, effects.clone(), 1).await.unwrap();
    let answer = inner(&once, effects.clone(), 1).await.unwrap();
    assert!(answer.replayed);
    assert_eq!(effects.count(), 1);
}

#[idempotent(scope = "names@1", key = "{operation}-{policy}-{type}", skip(r#type))]
async fn of_clashing_names(
    once: &Once,
    operation: u8,
    mut policy: u8,
    fingerprint: u8,
    identity: u8,
    r#type: &'static str,
) -> Result<u8, Declined> {
    policy += 1;
    Ok(operation + policy + fingerprint + identity + r#type.len() as u8)
}

#[tokio::test]
async fn names_of_the_expansion_do_not_clash_with_arguments() {
    let answer = of_clashing_names(&once(), 1, 2, 3, 4, "five")
        .await
        .unwrap();
    assert_eq!(answer.value, 15);
}

#[idempotent(scope = "generic@1", key = "{key}")]
async fn generic<K>(
    once: &Once,
    key: K,
    list: impl serde::Serialize + Send + 'static,
) -> Result<String, Declined>
where
    K: std::fmt::Display + serde::Serialize + Send + 'static,
{
    drop(list);
    Ok(key.to_string())
}

#[tokio::test]
async fn generic_functions_work() {
    let answer = generic(&once(), 17, vec!["a"]).await.unwrap();
    assert_eq!(answer.value, "17");
}

#[tokio::test]
async fn calls_can_be_spawned() {
    let once = once();
    let call = tokio::spawn(async move { generic(&once, "k", ()).await.map(|a| a.value) });
    assert_eq!(call.await.unwrap().unwrap(), "k");
}
