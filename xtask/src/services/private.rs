//! Servers of private slots, which tests stop, freeze, kill and start again.
//!
//! Besides the address, such a test has to know the processes and where the data lies.

use crate::error::{Error, Result};
use crate::output::note;

use super::endpoint::redacted;
use super::lifecycle::{self, Found};
use super::service::Service;
use super::setting::Setting;
use super::slot::Slot;
use super::variable::Variable;

/// Starts the service's server in `slot`, unless it runs already.
pub(super) fn up(
    service: &dyn Service,
    slot: &Slot,
    settings: &[Setting],
) -> Result<Vec<Variable>> {
    let _lock = slot.lock()?;
    let (name, slot_name) = (service.name(), slot.name());
    let place = slot.place(name);
    let address = match lifecycle::find(service, slot) {
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
            service.up(&place, settings)?
        }
        Found::Nothing => service.up(&place, settings)?,
    };
    describe(service, slot, address)
}

/// Ends the service's server in `slot` and starts it again on the same data.
pub(super) fn restart(service: &dyn Service, slot: &Slot) -> Result<Vec<Variable>> {
    let _lock = slot.lock()?;
    let address = service.restart(&slot.place(service.name()))?;
    describe(service, slot, address)
}

fn describe(service: &dyn Service, slot: &Slot, address: String) -> Result<Vec<Variable>> {
    let place = slot.place(service.name());
    let shown = redacted(&address);
    note(&format!(
        "{} in slot {}: {shown}",
        service.name(),
        slot.name()
    ));
    let pids: Vec<String> = service
        .processes(&place)
        .iter()
        .map(ToString::to_string)
        .collect();
    let home = place.home().unwrap_or_default();
    let home = home.to_str().map(str::to_owned);
    let home = home.ok_or_else(|| Error::failed("the home is not a UTF-8 path"))?;
    let variable = |name, value| Variable { name, value };
    Ok(vec![
        variable(service.variable(), address),
        variable("SEMEL_SERVER_PIDS", pids.join(",")),
        variable("SEMEL_SERVER_HOME", home),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::service::Status;
    use crate::services::slot::{Place, remove_dir};

    /// A server that runs once it was started.
    struct Fake;

    impl Service for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn variable(&self) -> &'static str {
            "PATH"
        }

        fn answers(&self, _: &str) -> Result<()> {
            Ok(())
        }

        fn status(&self, place: &Place) -> Status {
            place.address().map_or(Status::Down, Status::Up)
        }

        fn processes(&self, _: &Place) -> Vec<u32> {
            vec![12, 34]
        }

        fn up(&self, place: &Place, settings: &[Setting]) -> Result<String> {
            let address = format!("fake://h/{}", settings.len());
            place.record_home(&place.dir().join("server"))?;
            place.record_address(&address)?;
            Ok(address)
        }

        fn restart(&self, place: &Place) -> Result<String> {
            let address = place.address();
            address.ok_or_else(|| Error::failed("there is none"))
        }

        fn down(&self, place: &Place) -> Result<()> {
            place.forget()
        }
    }

    #[test]
    fn a_private_server_is_told_apart_from_the_environment_and_keeps_its_settings() {
        let root = std::env::temp_dir().join(format!("semel-private-{}", std::process::id()));
        let slot = Slot::private(&root, "mine").unwrap();
        let settings = [Setting::parse("a=1").unwrap()];
        assert!(restart(&Fake, &slot).is_err());
        // The variable PATH is set, but it is not about this slot.
        let first = up(&Fake, &slot, &settings).unwrap();
        let home = root.join(".services/mine/fake/server");
        let expected = [
            ("PATH", "fake://h/1"),
            ("SEMEL_SERVER_PIDS", "12,34"),
            ("SEMEL_SERVER_HOME", home.to_str().unwrap()),
        ];
        let restarted = restart(&Fake, &slot).unwrap();
        let again = up(&Fake, &slot, &[]).unwrap();
        for told in [first, restarted, again] {
            let told: Vec<_> = told.iter().map(|v| (v.name, v.value.as_str())).collect();
            assert_eq!(told, expected);
        }
        let error = up(&Fake, &slot, &settings).unwrap_err();
        assert!(error.to_string().contains("`--set` would be ignored"));
        remove_dir(&root).unwrap();
    }
}
