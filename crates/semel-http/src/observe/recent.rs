//! What was asked moments ago, to notice a client that makes a new key for every retry.

use std::collections::HashMap;
use std::time::Duration;

use semel_core::Key;
use tokio::time::Instant;

/// How long two equal requests with different keys are suspicious.
const WINDOW: Duration = Duration::from_secs(30);
/// The most requests that are remembered.
const REMEMBERED_MAX: usize = 16_384;

/// Requests of the last moments, by caller and content.
#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<[u8; 32], (Key, Instant)>);

impl Recent {
    /// Remembers a request; the earlier key if the same one came moments ago with another.
    pub(super) fn see(&mut self, content: [u8; 32], key: &Key, now: Instant) -> Option<Key> {
        if self.0.len() >= REMEMBERED_MAX {
            self.forget(now);
        }
        let before = self.0.insert(content, (key.clone(), now))?;
        let is_recent = now.duration_since(before.1) <= WINDOW;
        (is_recent && before.0 != *key).then_some(before.0)
    }

    fn forget(&mut self, now: Instant) {
        self.0
            .retain(|_, (_, at)| now.duration_since(*at) <= WINDOW);
        if self.0.len() >= REMEMBERED_MAX {
            // More than can be remembered in one window: it is a sample then.
            self.0.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_key_for_the_same_request_within_the_window_is_suspicious() {
        let (mut recent, now) = (Recent::default(), Instant::now());
        let (a, b) = (Key::new("a").unwrap(), Key::new("b").unwrap());
        assert_eq!(recent.see([1; 32], &a, now), None);
        assert_eq!(recent.see([1; 32], &a, now), None);
        assert_eq!(recent.see([2; 32], &b, now), None);
        assert_eq!(recent.see([1; 32], &b, now), Some(a.clone()));
        let later = now + WINDOW + Duration::from_secs(1);
        assert_eq!(recent.see([1; 32], &a, later), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut recent, now) = (Recent::default(), Instant::now());
        let key = Key::new("k").unwrap();
        for n in 0..3 * REMEMBERED_MAX as u64 {
            let mut content = [0; 32];
            content[..8].copy_from_slice(&n.to_le_bytes());
            recent.see(content, &key, now);
        }
        assert!(recent.0.len() <= REMEMBERED_MAX);
    }
}
