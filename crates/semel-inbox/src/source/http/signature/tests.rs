use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::*;

// The values are from the documentation of GitHub.
const SECRET: &str = "It's a Secret to Everybody";
const BODY: &[u8] = b"Hello, World!";
const SIGNED: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

fn headers(name: &'static str, value: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(name, value.parse().unwrap());
    headers
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

#[test]
fn githubs_signature_is_right_for_its_secret_and_body_only() {
    let right = headers("x-hub-signature-256", &format!("sha256={SIGNED}"));
    let check = |signature: &Signature, headers: &HeaderMap, body: &[u8]| {
        signature.check(headers, body, now()).is_ok()
    };
    let github = Signature::github([SECRET]).unwrap();
    assert!(check(&github, &right, BODY));
    assert!(!check(&github, &right, b"Hello, World?"));
    assert!(!check(&github, &HeaderMap::new(), BODY));
    let bare = headers("x-hub-signature-256", SIGNED);
    assert!(!check(&github, &bare, BODY));
    assert!(!check(&Signature::github(["other"]).unwrap(), &right, BODY));
    let both = Signature::github(["other", SECRET]).unwrap();
    assert!(check(&both, &right, BODY));
    let mut twice = right.clone();
    twice.append("x-hub-signature-256", "sha256=00".parse().unwrap());
    assert!(!check(&github, &twice, BODY));
}

#[test]
fn a_generic_signature_may_be_base64() {
    let base64 = STANDARD.encode(decoded(SIGNED, Encoding::Hex).unwrap());
    let signature = Signature::generic("X-Sign", "", Encoding::Base64, [SECRET]).unwrap();
    let right = headers("x-sign", &base64);
    assert!(signature.check(&right, BODY, now()).is_ok());
    let wrong = headers("x-sign", SIGNED);
    assert!(signature.check(&wrong, BODY, now()).is_err());
}

#[test]
fn stripes_signature_ends_with_its_time() {
    let sign = |time: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"whsec").unwrap();
        mac.update(format!("{time}.{{}}").as_bytes());
        let hex: Vec<String> = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        headers(
            "stripe-signature",
            &format!("t={time},v0=00,v1=00,v1={}", hex.concat()),
        )
    };
    let stripe = Signature::stripe(["whsec"]).unwrap();
    let check = |headers: &HeaderMap| stripe.check(headers, b"{}", now());
    assert_eq!(check(&sign("1700000000")), Ok(()));
    assert_eq!(check(&sign("1699999701")), Ok(()));
    assert!(check(&sign("1699999699")).unwrap_err().contains("too far"));
    assert!(check(&sign("1700000301")).unwrap_err().contains("too far"));
    let forged = headers("stripe-signature", "t=1700000000,v1=00");
    assert!(check(&forged).unwrap_err().contains("wrong"));
    let timeless = headers("stripe-signature", "v1=00");
    assert!(check(&timeless).is_err());
}

#[test]
fn secrets_are_needed_and_never_shown() {
    assert!(Signature::github(Vec::<String>::new()).is_err());
    assert!(Signature::github([""]).is_err());
    let shown = format!("{:?}", Signature::github(["s3cret"]).unwrap());
    assert!(!shown.contains("s3cret"));
}

/// The message of the specification's own example, signed by both ways.
const MESSAGE: [(&str, &str); 2] = [
    ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
    ("webhook-timestamp", "1614265330"),
];
const PAYLOAD: &[u8] = b"{\"test\": 2432232314}";
const SHARED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SHARED_SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const PUBLIC: &str = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
const PUBLIC_SIGNED: &str =
    "v1a,yoUrgEkc12aGqm0n4Sydmdz55xJfTz4AsAgieHFjmkR7LJtqVCZOQYzvvHjI5kAey+r4iaBGxTFRrl2iBQxtDQ==";

fn standard(vendor: Vendor, secrets: &[&str], signed: &str, seconds: i64) -> Checked {
    let mut headers = HeaderMap::new();
    let prefix = match vendor {
        Vendor::Svix => "svix",
        _ => "webhook",
    };
    for (name, value) in MESSAGE.into_iter().chain([("webhook-signature", signed)]) {
        let name: HeaderName = name.replace("webhook", prefix).parse().unwrap();
        headers.insert(name, value.parse().unwrap());
    }
    let now = Timestamp::from_millis(seconds * 1_000);
    let signature = Signature::vendor(vendor, secrets).unwrap();
    signature.check(&headers, PAYLOAD, now)
}

#[test]
fn standard_webhooks_are_signed_by_hmac_or_ed25519() {
    let now = 1_614_265_330;
    let vendor = Vendor::StandardWebhooks;
    assert_eq!(standard(vendor, &[SHARED], SHARED_SIGNED, now), Ok(()));
    assert_eq!(standard(vendor, &[PUBLIC], PUBLIC_SIGNED, now), Ok(()));
    assert_eq!(
        standard(Vendor::Svix, &[SHARED], SHARED_SIGNED, now),
        Ok(())
    );
    // Several signatures and several secrets, while one replaces the other.
    let both = format!("v1,AAAA {SHARED_SIGNED} v2,x {PUBLIC_SIGNED}");
    for secrets in [&[SHARED][..], &[PUBLIC], &["whsec_AAAA", SHARED]] {
        assert_eq!(standard(vendor, secrets, &both, now), Ok(()));
    }
    // A key never checks a signature of the other kind, whatever that says of itself.
    let disguised = PUBLIC_SIGNED.replace("v1a", "v1");
    for (secret, signed) in [
        (SHARED, PUBLIC_SIGNED),
        (PUBLIC, SHARED_SIGNED),
        (PUBLIC, &disguised),
        ("whsec_AAAA", SHARED_SIGNED),
        (SHARED, "v1,AAAA"),
        (SHARED, ""),
    ] {
        assert!(
            standard(vendor, &[secret], signed, now).is_err(),
            "{signed}"
        );
    }
    for far in [now - 301, now + 301] {
        let late = standard(vendor, &[SHARED], SHARED_SIGNED, far);
        assert!(late.unwrap_err().contains("too far"));
    }
}

#[test]
fn standard_webhooks_cover_their_id() {
    let signature = Signature::vendor(Vendor::StandardWebhooks, [SHARED]).unwrap();
    let mut headers = headers("webhook-id", "msg_other");
    headers.insert("webhook-timestamp", "1614265330".parse().unwrap());
    headers.insert("webhook-signature", SHARED_SIGNED.parse().unwrap());
    let now = Timestamp::from_millis(1_614_265_330_000);
    assert!(signature.check(&headers, PAYLOAD, now).is_err());
}

#[test]
fn shopifys_signature_is_base64_of_the_body_alone() {
    let shopify = Signature::vendor(Vendor::Shopify, ["hush"]).unwrap();
    let right = headers(
        "x-shopify-hmac-sha256",
        "VnKUjZsLuN5iZWjn5EntcBVCF9kMN43LglzCE1/GSeY=",
    );
    assert_eq!(shopify.check(&right, b"{\"id\":1}", now()), Ok(()));
    assert!(shopify.check(&right, b"{\"id\":2}", now()).is_err());
}

#[test]
fn adyens_signature_is_in_the_notification_over_some_of_its_fields() {
    // Key, fields and signature are those of Adyen's documentation.
    let key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
    let item = serde_json::json!({ "NotificationRequestItem": {
        "additionalData": { "hmacSignature": "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=" },
        "amount": { "value": 1130, "currency": "EUR" },
        "pspReference": "7914073381342284",
        "eventCode": "AUTHORISATION",
        "merchantAccountCode": "TestMerchant",
        "merchantReference": "TestPayment-1407325143704",
        "success": "true",
    }});
    let adyen = Signature::vendor(Vendor::Adyen, [key]).unwrap();
    let check = |items: &[&serde_json::Value]| {
        let body = serde_json::json!({ "live": "false", "notificationItems": items });
        adyen.check(&HeaderMap::new(), body.to_string().as_bytes(), now())
    };
    assert_eq!(check(&[&item]), Ok(()));
    // A second item would be acknowledged without being looked at.
    assert!(check(&[&item, &item]).is_err() && check(&[]).is_err());
    let mut forged = item.clone();
    forged["NotificationRequestItem"]["amount"]["value"] = 1.into();
    assert!(check(&[&forged]).unwrap_err().contains("wrong"));
    assert!(adyen.check(&HeaderMap::new(), b"x", now()).is_err());
}

const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIICqzCCAZOgAwIBAgIBATANBgkqhkiG9w0BAQsFADAZMRcwFQYDVQQDDA5ldmVu
dHMuZXhhbXBsZTAeFw0xNjAxMDEwMDAwMDBaFw00NjAxMDEwMDAwMDBaMBkxFzAV
BgNVBAMMDmV2ZW50cy5leGFtcGxlMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIB
CgKCAQEAy4ls5wIrNYTyHE9iweHiZ29T50weburMhGnACi3OjSYDSLaQPsFxxmmx
jnylq71FoFqh5ixeu8CNabqqoIsrkqelu8dc53PSD1jRgCHDah8oVZDNIkbyeNG3
dj7DX7wn9DM/xmRpp5sQYAb7+6K6SQMzJNNVTgGm3k1+dBXlMTleYoDtoAYaPcX8
Zf24HQfqr3+ZXXNmEbelR6Jy2E/QAft8p+ehSLuGivDiQfAqzu0Boims/uJfAJgS
sTHE2Ik0Tr6+UllxJMubzKLYH9u92fhgBgwTaB0FpXF0gvDyZnNV2/ZIFCHDc6ox
5aTlFu9xT1r6ZLZ3v3fDg1BN6IqFOQIDAQABMA0GCSqGSIb3DQEBCwUAA4IBAQBW
iwNWf4qKkwlcSCY7EU0/rZiGpBLzZIVUPGbEqYQfHc8pLhN7b78VRkemm9fMy3v4
wHyTc7tJcRcry4NcRLkjxj/FgnKhTP8DnQ2wy87wyuVGdxsI86AzHr1tTQq8oTI0
Eglssst6VqZ3imcsXKwlwWHBV1JL8wl/x35Qc6od7jI4GwU69LqB9q7Rnpe/fzdc
s8EOLiKbRnVnwNXxUteGs4xH9FlYlXWtXncGxyZzD5erGNDcnYTPumFlnet7f3EB
+rh54+o/rNULBw7b1LjDoiuWxFiTiMS2EZFj0ox6HFa9y+tRe9rb3A3eGYV4vQal
pXMD4RkybkjJFDNQ4Pj2
-----END CERTIFICATE-----
";
const PUBLIC_KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAy4ls5wIrNYTyHE9iweHi
Z29T50weburMhGnACi3OjSYDSLaQPsFxxmmxjnylq71FoFqh5ixeu8CNabqqoIsr
kqelu8dc53PSD1jRgCHDah8oVZDNIkbyeNG3dj7DX7wn9DM/xmRpp5sQYAb7+6K6
SQMzJNNVTgGm3k1+dBXlMTleYoDtoAYaPcX8Zf24HQfqr3+ZXXNmEbelR6Jy2E/Q
Aft8p+ehSLuGivDiQfAqzu0Boims/uJfAJgSsTHE2Ik0Tr6+UllxJMubzKLYH9u9
2fhgBgwTaB0FpXF0gvDyZnNV2/ZIFCHDc6ox5aTlFu9xT1r6ZLZ3v3fDg1BN6IqF
OQIDAQAB
-----END PUBLIC KEY-----
";

#[test]
fn paypals_signature_is_checked_by_a_key_that_is_configured() {
    let body = br#"{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED"}"#;
    let mut right = HeaderMap::new();
    for (name, value) in [
        (
            "paypal-transmission-id",
            "d938e770-8046-11e6-8103-6b62a8a99ac4",
        ),
        ("paypal-transmission-time", "2016-09-21T22:00:46Z"),
        ("paypal-auth-algo", "SHA256withRSA"),
        ("paypal-cert-url", "https://forged.example/cert.pem"),
        (
            "paypal-transmission-sig",
            "BYDkoHRZyoHdDjXsuBT4JAUavUiFWMhp0wgC04prFHODnVaK3Dcw+2oZSV5lZL8u5UQwVCdEPgZPmQ4bnB7zQjPA8o8wHk+uGDd8NwPmO+nx6d0NcZImHtWE7fCOuNp22USILI+hJccRxGM5/kTNSLf/Jm5tsiX6dk1bZtEY0AjoeHB2NeEcWNrnyvRoGF7NqGjC5ODUhxaqGmPa6SaRj6pqAtd1Eg3AWJC/9ohWpfWpKEd7bcJjqy75vaAXlpF7cquucL320ogPYdTgFjClHqOnRMDKiXGUvHaHLaFPr4rS/J5CDdc3cE1fLvCc9Gr6kA3npclAt5fbOzwxv/y3tA==",
        ),
    ] {
        right.insert(name, value.parse().unwrap());
    }
    let now = Timestamp::from_millis(1_474_495_246_000);
    let check = |key: &str, webhook_id: &str, headers: &HeaderMap, body: &[u8]| {
        let paypal = Signature::paypal(webhook_id, [key]).unwrap();
        paypal.check(headers, body, now)
    };
    let webhook = "9XL90610J3647323C";
    assert_eq!(check(CERTIFICATE, webhook, &right, body), Ok(()));
    assert_eq!(check(PUBLIC_KEY, webhook, &right, body), Ok(()));
    assert!(check(PUBLIC_KEY, "other", &right, body).is_err());
    assert!(check(PUBLIC_KEY, webhook, &right, b"{}").is_err());
    let mut other = right.clone();
    other.insert("paypal-auth-algo", "none".parse().unwrap());
    assert!(check(PUBLIC_KEY, webhook, &other, body).is_err());
    let late = Signature::paypal(webhook, [PUBLIC_KEY]).unwrap();
    let much_later = now.after(Duration::from_secs(301));
    assert!(late.check(&right, body, much_later).is_err());
}

#[test]
fn secrets_that_cannot_be_right_are_refused_without_being_quoted() {
    for (vendor, secret) in [
        (Vendor::StandardWebhooks, "whsec_not base64"),
        (Vendor::StandardWebhooks, "whpk_c2hvcnQ="),
        (Vendor::Svix, "whsec_"),
        (Vendor::Adyen, "not hex"),
        (Vendor::Square, "square signs by itself"),
    ] {
        let error = Signature::vendor(vendor, [secret]).unwrap_err().to_string();
        assert!(!error.contains(secret), "{error}");
    }
    assert!(Signature::paypal("id", ["no pem"]).is_err());
    assert!(Signature::paypal("", [PUBLIC_KEY]).is_err());
    assert!(Signature::vendor(Vendor::PayPal, [PUBLIC_KEY]).is_err());
}
