//! Who decides, for the audit.

use semel_core::store::Actor;

use crate::error::Result;

/// What stands in front of names that were said on a command line. No token's name has a colon, so none of them passes for a token's.
const MARK: &str = "cli:";

/// Who decides, for the audit.
#[derive(Debug, clap::Args)]
pub(crate) struct By {
    /// Who decides, for the audit [default: $USER]
    #[arg(long, value_name = "NAME", value_parser = actor)]
    by: Option<Actor>,
}

impl By {
    /// Whoever the shell says, for tests.
    #[cfg(test)]
    pub(crate) const fn somebody() -> Self {
        Self { by: None }
    }

    /// The name as the audit keeps it: marked as one that nothing has checked.
    pub(crate) fn actor(&self) -> Result<Actor> {
        let name = self.name()?;
        Ok(Actor::new(format!("{MARK}{}", name.as_str()))?)
    }

    /// The name alone, for an admin side that says itself what it knows of its caller.
    pub(crate) fn name(&self) -> Result<Actor> {
        let by = self.by.clone().map(Ok);
        Ok(by.unwrap_or_else(|| {
            let user = std::env::var("USER").unwrap_or_default();
            actor(&user).or_else(|_| actor("operator"))
        })?)
    }
}

fn actor(name: &str) -> semel_core::Result<Actor> {
    if name.contains(char::is_control) {
        let message = format!("the name of who decides has a control character: {name:?}");
        return Err(semel_core::Error::invalid(message));
    }
    Actor::new(name)
}
