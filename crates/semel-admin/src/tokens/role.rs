//! What a token is for, and what a route asks of it.

use std::fmt;
use std::str::FromStr;

use semel_core::{Error, Result};

/// What the holder of a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The claims API, for one tenant and some scopes; nothing else.
    Claims,
    /// Look at everything and change nothing.
    Read,
    /// Also decide about unknown records, and act on messages and consumers.
    Operate,
    /// Everything, erasing included.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Claims, Self::Read, Self::Operate, Self::Admin];

    /// The word in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("expected one of {names}, found {text:?}"))
        })
    }
}

/// What a route asks of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: it says only whether the process works.
    Nothing,
    /// A token of any role: what is there holds for everyone.
    AnyToken,
    /// To run operations.
    Claims,
    /// To see one record: owners of claims may, and readers.
    LookUp,
    /// To see everything.
    Read,
    /// To change records, messages and consumers by hand.
    Operate,
    /// To forget what happened.
    Admin,
}

impl Needs {
    /// The roles that are enough, the least first; none means that no token is needed.
    pub(crate) const fn roles(self) -> &'static [Role] {
        use Role::{Admin, Claims, Operate, Read};
        match self {
            Self::Nothing => &[],
            Self::AnyToken | Self::LookUp => &[Claims, Read, Operate, Admin],
            Self::Claims => &[Claims, Admin],
            Self::Read => &[Read, Operate, Admin],
            Self::Operate => &[Operate, Admin],
            Self::Admin => &[Admin],
        }
    }

    /// Whether the holder of a role may call.
    pub(crate) fn allows(self, role: Role) -> bool {
        self == Self::Nothing || self.roles().contains(&role)
    }

    /// The roles as a sentence names them: `operate or admin`.
    pub(crate) fn shown(self) -> String {
        let names: Vec<_> = self.roles().iter().map(|role| role.name()).collect();
        match names.split_last() {
            None => "no token".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_what_it_is_for() {
        use Needs::{Admin, AnyToken, Claims, LookUp, Nothing, Operate, Read};
        for (role, may) in [
            (Role::Claims, &[Nothing, AnyToken, Claims, LookUp][..]),
            (Role::Read, &[Nothing, AnyToken, LookUp, Read]),
            (Role::Operate, &[Nothing, AnyToken, LookUp, Read, Operate]),
            (
                Role::Admin,
                &[Nothing, AnyToken, Claims, LookUp, Read, Operate, Admin],
            ),
        ] {
            for needs in [Nothing, AnyToken, Claims, LookUp, Read, Operate, Admin] {
                assert_eq!(needs.allows(role), may.contains(&needs), "{role} {needs:?}");
            }
        }
        assert_eq!(Operate.shown(), "operate or admin");
        assert_eq!(Admin.shown(), "admin");
    }
}
