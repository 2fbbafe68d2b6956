//! The facts, a row for each vendor. Times are those that a vendor promises at least.

use std::time::Duration;

use super::{Events, Extent, Facts, Keys, Place, Signing, SigningKind, UrlPrefix, Vendor};
use crate::keys::KEY_BYTES_MAX;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A vendor that takes any key, for as long as it likes.
const KEYS: Keys = Keys {
    about: "",
    place: None,
    lifetime: None,
    bytes_max: KEY_BYTES_MAX,
    plain: false,
    conflict_is_done: false,
    prefix: None,
};

/// A signature over the whole body and nothing else.
const BODY: Signing = Signing {
    kind: SigningKind::Base64,
    header: None,
    is_timed: false,
    body: Extent::Whole,
    headers: &[],
};

/// Where the one item of an Adyen notification has its parts.
macro_rules! adyen {
    ($field:literal) => {
        concat!("notificationItems.0.NotificationRequestItem.", $field)
    };
}

pub(super) static TABLE: [Facts; 11] = [
    Facts {
        vendor: Vendor::Stripe,
        name: "stripe",
        keys: Some(Keys {
            about: "Stripe: Idempotency-Key, for 24h.",
            place: Some(Place::Header("idempotency-key")),
            lifetime: Some(HOUR.saturating_mul(24)),
            ..KEYS
        }),
        events: Some(Events {
            about: "Stripe: Stripe-Signature, with the time.",
            id: &[Place::Body("$.id")],
            kind: Place::Body("$.type"),
            tenant: Some(Place::Body("$.account")),
            // A delivery counts the deliveries that are still to be made, so a second one differs.
            ids_say_all: true,
            signing: Signing {
                kind: SigningKind::Stripe,
                header: Some("stripe-signature"),
                is_timed: true,
                ..BODY
            },
        }),
    },
    Facts {
        vendor: Vendor::PayPal,
        name: "paypal",
        keys: Some(Keys {
            about: "PayPal: PayPal-Request-Id, for at least 6h.",
            place: Some(Place::Header("paypal-request-id")),
            lifetime: Some(HOUR.saturating_mul(6)),
            bytes_max: 108,
            ..KEYS
        }),
        events: Some(Events {
            about: "PayPal: PayPal-Transmission-Sig, with the time; secrets are certificates or public keys in PEM, and webhook_id is needed.",
            id: &[Place::Body("$.id")],
            kind: Place::Body("$.event_type"),
            tenant: None,
            ids_say_all: false,
            signing: Signing {
                kind: SigningKind::PayPal,
                header: Some("paypal-transmission-sig"),
                is_timed: true,
                body: Extent::Checksum,
                headers: &["paypal-transmission-id", "paypal-transmission-time"],
            },
        }),
    },
    Facts {
        vendor: Vendor::Square,
        name: "square",
        keys: Some(Keys {
            about: "Square: the field idempotency_key, for how long is not said.",
            place: Some(Place::Body("$.idempotency_key")),
            bytes_max: 45,
            ..KEYS
        }),
        events: None,
    },
    Facts {
        vendor: Vendor::Adyen,
        name: "adyen",
        keys: Some(Keys {
            about: "Adyen: Idempotency-Key, for at least 7d.",
            place: Some(Place::Header("idempotency-key")),
            lifetime: Some(HOUR.saturating_mul(7 * 24)),
            bytes_max: 64,
            ..KEYS
        }),
        events: Some(Events {
            about: "Adyen: hmacSignature in the notification, over some of its fields; secrets are hexadecimal.",
            id: &[Place::Template(concat!(
                "{",
                adyen!("eventCode"),
                "}:{",
                adyen!("pspReference"),
                "}"
            ))],
            kind: Place::Body("$.notificationItems[0].NotificationRequestItem.eventCode"),
            tenant: Some(Place::Body(
                "$.notificationItems[0].NotificationRequestItem.merchantAccountCode",
            )),
            ids_say_all: false,
            signing: Signing {
                kind: SigningKind::Adyen,
                body: Extent::Fields(&[
                    "/pspReference",
                    "/originalReference",
                    "/merchantAccountCode",
                    "/merchantReference",
                    "/amount/value",
                    "/amount/currency",
                    "/eventCode",
                    "/success",
                ]),
                ..BODY
            },
        }),
    },
    Facts {
        vendor: Vendor::GoogleCloudTasks,
        name: "google-cloud-tasks",
        keys: Some(Keys {
            about: "Google Cloud Tasks: the name of the task, for 1h.",
            place: Some(Place::Body("$.task.name")),
            lifetime: Some(HOUR),
            bytes_max: 255,
            plain: true,
            conflict_is_done: true,
            // The name of a task begins with the name of its queue, which its URL has too.
            prefix: Some(UrlPrefix {
                segments: &["projects", "*", "locations", "*", "queues", "*", "tasks"],
                example: "https://cloudtasks.googleapis.com/v2/projects/PROJECT/locations/LOCATION/queues/QUEUE/tasks",
            }),
        }),
        events: None,
    },
    Facts {
        vendor: Vendor::SendGrid,
        name: "sendgrid",
        keys: Some(Keys {
            about: "SendGrid: it takes no key.",
            ..KEYS
        }),
        events: None,
    },
    Facts {
        vendor: Vendor::GitHub,
        name: "github",
        keys: None,
        events: Some(Events {
            about: "GitHub: X-Hub-Signature-256, over the body alone.",
            id: &[Place::Header("x-github-delivery")],
            kind: Place::Header("x-github-event"),
            tenant: None,
            ids_say_all: false,
            signing: Signing {
                kind: SigningKind::Hex("sha256="),
                header: Some("x-hub-signature-256"),
                ..BODY
            },
        }),
    },
    Facts {
        vendor: Vendor::Shopify,
        name: "shopify",
        keys: None,
        events: Some(Events {
            about: "Shopify: X-Shopify-Hmac-Sha256, over the body alone.",
            id: &[
                Place::Header("x-shopify-event-id"),
                Place::Header("x-shopify-webhook-id"),
            ],
            kind: Place::Header("x-shopify-topic"),
            tenant: Some(Place::Header("x-shopify-shop-domain")),
            ids_say_all: false,
            signing: Signing {
                header: Some("x-shopify-hmac-sha256"),
                ..BODY
            },
        }),
    },
    Facts {
        vendor: Vendor::Svix,
        name: "svix",
        keys: None,
        events: Some(Events {
            about: "Svix: Svix-Signature, as Standard Webhooks.",
            id: &[Place::Header("svix-id")],
            kind: Place::Body("$.type"),
            tenant: None,
            ids_say_all: false,
            signing: Signing {
                kind: SigningKind::Standard("svix-"),
                header: Some("svix-signature"),
                is_timed: true,
                headers: &["svix-id", "svix-timestamp"],
                ..BODY
            },
        }),
    },
    Facts {
        vendor: Vendor::StandardWebhooks,
        name: "standard-webhooks",
        keys: None,
        events: Some(Events {
            about: "Standard Webhooks: Webhook-Signature, over id, time and body; secrets are whsec_… or whpk_….",
            id: &[Place::Header("webhook-id")],
            kind: Place::Body("$.type"),
            tenant: None,
            ids_say_all: false,
            signing: Signing {
                kind: SigningKind::Standard("webhook-"),
                header: Some("webhook-signature"),
                is_timed: true,
                headers: &["webhook-id", "webhook-timestamp"],
                ..BODY
            },
        }),
    },
    Facts {
        vendor: Vendor::None,
        name: "none",
        keys: Some(Keys {
            about: "No vendor's: the provider takes no key unless `key` says where.",
            ..KEYS
        }),
        events: None,
    },
];
