//! Methods: where the `Once` is found, and what `self` means in the body.

use std::sync::Arc;

use semel::{Once, idempotent};

use crate::{Declined, Effects, once};

#[derive(Clone)]
struct Shop {
    once: Once,
    effects: Effects,
    name: String,
}

impl Shop {
    fn new() -> Self {
        Self {
            once: once(),
            effects: Effects::default(),
            name: "shop".into(),
        }
    }

    const FEE: u64 = 3;

    /// Uses `self`, so it works on a clone.
    #[idempotent(scope = "buy@1", key = "{order}")]
    async fn buy(&self, order: u64, mut cents: u64) -> Result<(String, u64), Declined> {
        cents += Self::FEE;
        self.effects.happen();
        Ok((format!("{self}"), cents))
    }

    /// Names `self` in a format string only.
    #[idempotent(scope = "sign@1", key = "{order}")]
    async fn sign(&self, order: u64) -> Result<String, Declined> {
        Ok(format!("{self} signs {order}"))
    }

    #[idempotent(scope = "consume@1", key = order)]
    async fn consume(mut self, order: u64) -> Result<String, Declined> {
        self.name.push('!');
        self.effects.happen();
        Ok(self.name)
    }

    #[idempotent(scope = "shared@1", key = "{order}", run = run)]
    async fn shared(self: Arc<Self>, order: u64) -> Result<u64, Declined> {
        self.effects.happen();
        Ok(order + u64::from(run.attempt()))
    }

    /// Does not use `self` in the body; the type need not be `Clone` for that.
    #[idempotent(scope = "free@1", key = "{order}", skip(effects))]
    async fn free(&self, order: u64, effects: Effects) -> Result<u64, Declined> {
        effects.happen();
        Ok(order + Self::FEE)
    }

    #[idempotent(scope = "static@1", key = "{order}")]
    async fn without_self(once: &Once, order: u64) -> Result<u64, Declined> {
        Ok(order + Self::FEE)
    }

    /// The argument comes before the field.
    #[idempotent(scope = "other@1", key = "{order}")]
    async fn on_another(&self, once: &Once, order: u64) -> Result<bool, Declined> {
        self.effects.happen();
        Ok(Arc::ptr_eq(once.store(), self.once.store()))
    }

    #[idempotent(scope = "generic@1", key = "{key}")]
    #[expect(unused_mut, reason = "lint levels reach the body, wherever it is put")]
    async fn generic<K, const N: usize>(&self, key: K) -> Result<usize, Declined>
    where
        K: std::fmt::Display + serde::Serialize + Send + Sync + 'static,
    {
        self.effects.happen();
        let mut len = key.to_string().len();
        Ok(len + N)
    }
}

impl std::fmt::Display for Shop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

#[tokio::test]
async fn a_method_finds_its_once_in_self_and_uses_self_in_its_body() {
    let shop = Shop::new();
    let first = shop.buy(1, 10).await.unwrap();
    let again = shop.buy(1, 10).await.unwrap();
    assert_eq!(first.value, ("shop".to_owned(), 13));
    assert_eq!((again.value, again.replayed), (first.value, true));
    assert_eq!(shop.effects.count(), 1);
}

#[tokio::test]
async fn self_in_a_format_string_is_self() {
    let answer = Shop::new().sign(4).await.unwrap();
    assert_eq!(answer.value, "shop signs 4");
}

#[tokio::test]
async fn owned_receivers_move_into_the_run() {
    let shop = Shop::new();
    for replayed in [false, true] {
        let answer = shop.clone().consume(1).await.unwrap();
        assert_eq!(
            (answer.value.as_str(), answer.replayed),
            ("shop!", replayed)
        );
        let answer = Arc::new(shop.clone()).shared(1).await.unwrap();
        assert_eq!((answer.value, answer.replayed), (2, replayed));
    }
    assert_eq!(shop.effects.count(), 2);
}

#[tokio::test]
async fn a_body_without_self_may_still_name_its_type() {
    let shop = Shop::new();
    for replayed in [false, true] {
        let answer = shop.free(1, shop.effects.clone()).await.unwrap();
        assert_eq!((answer.value, answer.replayed), (4, replayed));
        let answer = Shop::without_self(&shop.once, 1).await.unwrap();
        assert_eq!((answer.value, answer.replayed), (4, replayed));
    }
    assert_eq!(shop.effects.count(), 1);
}

#[tokio::test]
async fn an_argument_named_once_comes_before_the_field() {
    let (shop, other) = (Shop::new(), once());
    for replayed in [false, true] {
        let answer = shop.on_another(&other, 1).await.unwrap();
        assert_eq!((answer.value, answer.replayed), (false, replayed));
    }
    assert_eq!(shop.effects.count(), 1);
}

#[tokio::test]
async fn generic_methods_work() {
    let shop = Shop::new();
    let answer = shop.generic::<_, 5>("four".to_owned()).await.unwrap();
    assert_eq!(answer.value, 9);
}
