//! What surprises people about consumers and intents.

use semel_core::inbox::{Order, UnknownPolicy};
use semel_inbox::policy::replay::SideEffects;

use crate::compile::consumer::Locator;
use crate::compile::{CompiledConsumer, CompiledTarget};
use crate::explain::route;
use crate::file::consumer::Fingerprint;
use crate::load::File;
use crate::value::{Engine, Listen, StoreUrl};

pub(super) fn all(file: &File) -> Vec<String> {
    let Ok((consumers, targets)) = file.compile_messages() else {
        return Vec::new();
    };
    let mut warnings: Vec<String> = of_store(file, &consumers).into_iter().collect();
    warnings.extend(of_listen(&file.inbox.listen, &consumers));
    for consumer in &consumers {
        let name = consumer.name();
        warnings.extend(
            of_consumer(consumer)
                .into_iter()
                .map(|said| format!("{name}: {said}")),
        );
        warnings.extend(of_keys(consumer, &targets));
        warnings.extend(of_routes(consumer, file));
    }
    for target in &targets {
        let name = &target.name;
        warnings.extend(
            of_target(target)
                .into_iter()
                .map(|said| format!("intents to {name}: {said}")),
        );
    }
    warnings
}

/// Messages need a store with tables.
fn of_store(file: &File, consumers: &[CompiledConsumer]) -> Option<String> {
    let address = match file.store.as_ref()? {
        StoreUrl::One(address) => address,
        StoreUrl::Hybrid { claims, .. } => claims,
    };
    let is_sql = matches!(address.engine(), Engine::Sqlite | Engine::Postgres);
    let has_inbox = consumers.iter().any(|one| one.has_inbox);
    (has_inbox && !is_sql).then(|| {
        format!("store is {address}, and messages are stored in SQLite or PostgreSQL only")
    })
}

fn of_listen(listen: &Listen, consumers: &[CompiledConsumer]) -> Vec<String> {
    let is_open = |one: &&CompiledConsumer| one.is_posted() && one.signature.is_none();
    let open = consumers.iter().filter(is_open);
    let said = open.map(|one| {
        let name = one.name();
        format!("{name}: inbox.listen is {listen}, beyond loopback, and signature is missing: any host that reaches it can post messages")
    });
    match listen.is_local() {
        true => Vec::new(),
        false => said.collect(),
    }
}

fn of_consumer(consumer: &CompiledConsumer) -> Vec<&'static str> {
    let policy = &consumer.policy;
    let order = policy.plan.order;
    let table = [
        (
            consumer.source.is_some() && consumer.deliver.is_none(),
            "it has a source and no deliver: messages are stored, and wait for a program that handles them",
        ),
        (
            order != Order::None && consumer.is_posted() && consumer.fields.lane.is_none(),
            "it has an order, and key does not say where the key is: only CloudEvents with a partitionkey are ordered",
        ),
        (
            order != Order::None && !consumer.has_inbox && consumer.processed_log.is_none(),
            "inbox.enabled is false: its handler must see to the order itself",
        ),
        (
            !policy.id_required,
            "messageIdRequired is false: two messages without id and with the same content are one, even if both are meant",
        ),
        (
            consumer.fingerprint == Fingerprint::Off && !ids_say_all(consumer),
            "fingerprint is off: another message under the same id is taken for a duplicate",
        ),
        (
            is_uncovered(consumer, &consumer.fields.id),
            "the signature does not cover the id: a signed message that was captured can be sent again under other ids",
        ),
        (
            is_uncovered(consumer, &consumer.fields.tenant),
            "the signature does not cover the tenant: a signed message that was captured can be sent again for another tenant",
        ),
        (
            policy.replay.side_effects == SideEffects::Allow,
            "replay.sideEffects is allow: intents that are no longer remembered are sent again by a replay",
        ),
        (
            policy.on_unknown == UnknownPolicy::Hold,
            "unknown is hold: every crash of a worker leaves messages for a person to decide about",
        ),
    ];
    let said = table.into_iter().filter(|(holds, _)| *holds);
    said.map(|(_, message)| message).collect()
}

/// Whether a vendor's ids alone say what is the same, so that nothing else need be compared.
fn ids_say_all(consumer: &CompiledConsumer) -> bool {
    let events = consumer.signature.as_ref();
    let events = events.and_then(|signature| signature.scheme.events());
    events.is_some_and(|events| events.ids_say_all)
}

/// Whether something that says which message this is lies where the signature does not reach.
fn is_uncovered<'a>(
    consumer: &CompiledConsumer,
    places: impl IntoIterator<Item = &'a Locator>,
) -> bool {
    let signature = consumer.signature.as_ref();
    signature.is_some_and(|signature| !places.into_iter().all(|place| signature.covers(place)))
}

fn of_keys(consumer: &CompiledConsumer, targets: &[CompiledTarget]) -> Option<String> {
    let without = targets.iter().filter(|target| target.key.is_none());
    let without: Vec<_> = without.map(|target| target.name.as_str()).collect();
    (consumer.policy.provider_keys_required && !without.is_empty()).then(|| {
        let (name, without) = (consumer.name(), without.join(", "));
        format!("{name}: its intents to {without} will be refused, because these take no idempotency key")
    })
}

/// One identity space: what one door has done, the other does not do again; but both may begin at the same moment.
fn of_routes(consumer: &CompiledConsumer, file: &File) -> Vec<String> {
    let routes = file
        .gateway
        .as_ref()
        .and_then(|gateway| gateway.routes().ok())
        .unwrap_or_default();
    let same = routes
        .iter()
        .filter(|route| route.rules.scope == *consumer.name());
    same.map(|route| {
        let (name, route) = (consumer.name(), route::name(route));
        format!(
            "{name}: the gateway's {route} has the same scope: what one has settled the other does not repeat, but both may run at \
             the same moment"
        )
    })
    .collect()
}

fn of_target(target: &CompiledTarget) -> Vec<&'static str> {
    let has_key = target.key.is_some();
    let table = [
        (
            has_key && target.key_lifetime.is_none(),
            "key_lifetime is missing: whether the last attempt is still recognised cannot be checked",
        ),
        (
            target.url.http().starts_with("http://")
                && !target.headers.is_empty()
                && !is_near(target),
            "url is not https: its headers, which may be secrets, are sent in the clear",
        ),
    ];
    let said = table.into_iter().filter(|(holds, _)| *holds);
    said.map(|(_, message)| message).collect()
}

/// Whether it is on this machine.
fn is_near(target: &CompiledTarget) -> bool {
    let uri: Option<http::Uri> = target.url.http().parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default();
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}
