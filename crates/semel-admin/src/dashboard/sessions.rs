//! Who is signed in. Sessions are in memory, bounded, and as good as the token that they were opened with: one that a reload removes or
//! that expires ends its sessions, and one that gets another role gives it to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::{Result, Timestamp};

use super::csrf::random;
use crate::tokens::{TOKENS_MAX, Token, Tokens};

/// How long one stays signed in unless the configuration says otherwise.
pub(crate) const SESSION: Duration = Duration::from_secs(8 * 3_600);
/// The most sessions of one token; its own that ends first makes room for the next, so that no token ends the sessions of another.
const SESSIONS_OF_TOKEN_MAX: usize = 64;
/// The most sessions in all: only tokens that a reload removed can have left more than this.
const SESSIONS_MAX: usize = SESSIONS_OF_TOKEN_MAX * TOKENS_MAX;

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    lasts: Duration,
    /// By the hash of what the browser holds: what is read here opens no session. A std lock, held for a look-up, never over an await.
    open: Mutex<HashMap<blake3::Hash, Session>>,
}

#[derive(Debug)]
struct Session {
    token: Arc<Token>,
    ends: Timestamp,
}

impl Sessions {
    pub(super) fn new(lasts: Duration) -> Self {
        Self {
            lasts,
            open: Mutex::default(),
        }
    }

    /// How long a new one lasts.
    pub(super) const fn lasts(&self) -> Duration {
        self.lasts
    }

    /// Opens one for the holder of a token; the answer is what its browser must show.
    pub(super) fn open(&self, token: Arc<Token>, now: Timestamp) -> Result<String> {
        let id = blake3::Hash::from_bytes(random()?).to_hex().to_string();
        let ends = now.after(self.lasts);
        let mut open = self.lock();
        open.retain(|_, session| session.ends > now);
        make_room(&mut open, SESSIONS_OF_TOKEN_MAX, |session| {
            session.token.name() == token.name()
        });
        make_room(&mut open, SESSIONS_MAX, |_| true);
        open.insert(hash(&id), Session { token, ends });
        Ok(id)
    }

    /// The token of a session that has not ended, as it is configured now.
    pub(super) fn find(&self, id: &str, tokens: &Tokens, now: Timestamp) -> Option<Arc<Token>> {
        let mut open = self.lock();
        let session = open.get(&hash(id))?;
        let current = tokens
            .same(&session.token)
            .filter(|token| session.ends > now && !token.is_expired(now))
            .cloned();
        if current.is_none() {
            open.remove(&hash(id));
        }
        current
    }

    /// Ends one.
    pub(super) fn close(&self, id: &str) {
        self.lock().remove(&hash(id));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<blake3::Hash, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the one that ends first of those that are meant, if there are as many as there may be.
fn make_room(
    open: &mut HashMap<blake3::Hash, Session>,
    most: usize,
    is_meant: impl Fn(&Session) -> bool,
) {
    let meant = || open.iter().filter(|(_, session)| is_meant(session));
    if meant().count() < most {
        return;
    }
    let first = meant().min_by_key(|(_, session)| session.ends);
    if let Some(hash) = first.map(|(hash, _)| *hash) {
        open.remove(&hash);
    }
}

fn hash(id: &str) -> blake3::Hash {
    blake3::hash(id.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grant, Secret};

    fn token(name: &str, secret: &str, grant: Grant) -> Token {
        let secret = Secret::new(secret).unwrap();
        Token::new(name.parse().unwrap(), secret, grant).unwrap()
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(0).after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_session_ends_with_its_time_or_its_token() {
        let sessions = Sessions::new(Duration::from_secs(60));
        let tokens = Tokens::new([token("ada", "s1", Grant::Read)]).unwrap();
        let opened = |now| {
            let token = tokens.find("s1").unwrap().clone();
            sessions.open(token, now).unwrap()
        };
        let id = opened(at(0));
        assert!(sessions.find(&id, &tokens, at(59)).is_some());
        assert!(sessions.find("other", &tokens, at(0)).is_none());
        let raised = Tokens::new([token("ada", "s1", Grant::Operate)]).unwrap();
        let found = sessions.find(&id, &raised, at(59)).unwrap();
        assert_eq!(found.grant(), &Grant::Operate, "the role is today's");
        assert!(sessions.find(&id, &tokens, at(60)).is_none());
        assert!(
            sessions.find(&id, &tokens, at(0)).is_none(),
            "ended for good"
        );

        let id = opened(at(0));
        let changed = Tokens::new([token("ada", "s2", Grant::Read)]).unwrap();
        assert!(sessions.find(&id, &changed, at(1)).is_none());
        let id = opened(at(0));
        let expired = token("ada", "s1", Grant::Read).until(at(5));
        let expired = Tokens::new([expired]).unwrap();
        assert!(sessions.find(&id, &expired, at(4)).is_some());
        assert!(sessions.find(&id, &expired, at(5)).is_none());
        let id = opened(at(0));
        sessions.close(&id);
        assert!(sessions.find(&id, &tokens, at(0)).is_none());
    }

    #[test]
    fn of_one_token_the_session_that_ends_first_makes_room() {
        let sessions = Sessions::new(Duration::from_secs(60));
        let others = token("bob", "s2", Grant::Admin);
        let tokens = Tokens::new([token("ada", "s1", Grant::Read), others]).unwrap();
        let open_with = |secret, now| {
            let token = tokens.find(secret).unwrap().clone();
            sessions.open(token, now).unwrap()
        };
        let open = |now| open_with("s1", now);
        let other = open_with("s2", at(0));
        let first = open(at(0));
        let second = open(at(1));
        for _ in 2..=SESSIONS_OF_TOKEN_MAX {
            open(at(2));
        }
        let found = sessions.find(&other, &tokens, at(3));
        assert!(found.is_some(), "another token's session stays");
        assert!(sessions.find(&first, &tokens, at(3)).is_none());
        assert!(sessions.find(&second, &tokens, at(3)).is_some());
        assert_eq!(sessions.lock().len(), SESSIONS_OF_TOKEN_MAX + 1);
    }
}
