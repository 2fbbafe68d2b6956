//! Servers of private slots, which tests stop, freeze, kill and start again.
//!
//! Besides the address, such a test has to know the processes and where the data lies.

use crate::error::{Error, Result};
use crate::output::note;

use super::endpoint::redacted;
use super::lifecycle::{self, Found};
use super::runner;
use super::server::Server;
use super::setting::Setting;
use super::slot::Slot;
use super::variable::Variable;

/// Starts the server in `slot`, unless it runs already.
pub(super) fn up(server: &Server, slot: &Slot, settings: &[Setting]) -> Result<Vec<Variable>> {
    let (name, slot_name) = (server.name, slot.name());
    let _held = slot.lock(name)?;
    let place = slot.place(name);
    let address = match lifecycle::find(server, slot) {
        Found::Started(_) if !settings.is_empty() => {
            return Err(Error::failed(format!(
                "{name} in slot {slot_name} runs already, so `--set` would be ignored: \
                 stop it with `services down {name} --slot {slot_name}`"
            )));
        }
        Found::Named(address) | Found::Started(address) => address,
        Found::Broken(why) => {
            note(&format!(
                "{name} in slot {slot_name}: starting afresh, {why}"
            ));
            runner::up(server, &place, settings)?
        }
        Found::Nothing => runner::up(server, &place, settings)?,
    };
    describe(server, slot, address)
}

/// Ends the server in `slot` and starts it again on the same data.
pub(super) fn restart(server: &Server, slot: &Slot) -> Result<Vec<Variable>> {
    let _held = slot.lock(server.name)?;
    let address = runner::restart(server, &slot.place(server.name))?;
    describe(server, slot, address)
}

fn describe(server: &Server, slot: &Slot, address: String) -> Result<Vec<Variable>> {
    let place = slot.place(server.name);
    let shown = redacted(&address);
    note(&format!("{} in slot {}: {shown}", server.name, slot.name()));
    let pids: Vec<String> = runner::processes(server, &place)
        .iter()
        .map(ToString::to_string)
        .collect();
    let home = place.home().unwrap_or_default();
    let home = home.to_str().map(str::to_owned);
    let home = home.ok_or_else(|| Error::failed("the home is not a UTF-8 path"))?;
    let variable = |name, value| Variable { name, value };
    Ok(vec![
        variable(server.variable, address),
        variable("SEMEL_SERVER_PIDS", pids.join(",")),
        variable("SEMEL_SERVER_HOME", home),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::endpoint::Target;
    use crate::services::server::Step;
    use crate::services::slot::remove_dir;
    use std::fs;
    use std::net::TcpListener;

    /// It never listens, so that its port is free if it runs.
    fn is_free(target: &Target<'_>) -> Result<()> {
        let port = target.endpoints[0].port;
        let listener = TcpListener::bind(("127.0.0.1", port));
        listener.map(drop).map_err(Error::when("listen"))
    }

    /// The variable PATH is set, but it is not about private slots.
    const FAKE: Server = Server {
        name: "fake",
        variable: "PATH",
        address: "fake://:{secret}@{hosts}",
        schemes: &["fake"],
        nodes: 2,
        setup: &[Step::Settings("fake.conf", "port = {port}\n")],
        start: "sleep 600",
        // It is ready before the shell has become the program.
        programs: "sleep coreutils sh dash bash",
        stop: "TERM",
        answers: is_free,
        ..Server::PLAIN
    };

    fn pids(told: &[Variable]) -> Vec<u32> {
        told[1].value.split(',').flat_map(str::parse).collect()
    }

    #[test]
    fn a_private_server_keeps_its_address_and_settings_over_a_restart() {
        let root = std::env::temp_dir().join(format!("semel-private-{}", std::process::id()));
        let slot = Slot::private(&root, "mine").unwrap();
        let settings = [Setting::parse("a=1").unwrap()];
        assert!(restart(&FAKE, &slot).is_err());
        let first = up(&FAKE, &slot, &settings).unwrap();
        let home = root.join(".services/mine/fake/server");
        assert_eq!(first[2].value, home.to_str().unwrap());
        let written = fs::read_to_string(home.join("node-2/fake.conf")).unwrap();
        let port = first[0].value.rsplit(':').next().unwrap();
        assert_eq!(written, format!("port = {port}\na = 1\n"));
        let again = up(&FAKE, &slot, &[]).unwrap();
        assert_eq!(pids(&again), pids(&first));
        let error = up(&FAKE, &slot, &settings).unwrap_err();
        assert!(error.to_string().contains("`--set` would be ignored"));
        let restarted = restart(&FAKE, &slot).unwrap();
        assert_eq!(restarted[0].value, first[0].value);
        assert_eq!(pids(&restarted).len(), 2);
        assert_ne!(pids(&restarted), pids(&first));
        assert!(lifecycle::stop(&FAKE, &slot).unwrap());
        assert!(!home.exists());
        remove_dir(&root).unwrap();
    }
}
