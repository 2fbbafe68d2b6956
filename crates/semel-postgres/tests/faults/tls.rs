//! A server whose certificate only a private authority vouches for.

use semel_core::Kind;
use semel_testkit::server::Server;

use crate::authority::Authority;
use crate::support::Schema;
use crate::support::verbs::granted;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_trusted_by_its_certificate_and_no_further() {
    let (ours, other) = (Authority::named("ours"), Authority::new());
    let made_anew = Authority::named("ours");
    let [certificate, key] = ours.certify("localhost", "postgres");
    let files = [
        format!("ssl_cert_file={certificate}"),
        format!("ssl_key_file={key}"),
    ];
    let server = Server::start("postgres", &["ssl=on", &files[0], &files[1]]);
    let schema = Schema::at(server.url());
    let by_address = server.url();
    let by_name = by_address.replace("@127.0.0.1:", "@localhost:");
    let (ours, other, made_anew) = (ours.file(), other.file(), made_anew.file());
    // Whom the certificate names, whose word is taken, and what is said against it.
    let table = [
        (
            &by_name,
            format!("sslmode=verify-full&sslrootcert={ours}"),
            None,
        ),
        (
            &by_name,
            format!("sslmode=verify-ca&sslrootcert={ours}"),
            None,
        ),
        (
            &by_name,
            format!("sslmode=require&sslrootcert={ours}"),
            None,
        ),
        (&by_name, format!("sslrootcert={ours}"), None),
        (
            &by_address,
            format!("sslmode=verify-ca&sslrootcert={ours}"),
            None,
        ),
        (
            &by_address,
            format!("sslmode=verify-full&sslrootcert={ours}"),
            Some("sslmode=verify-ca"),
        ),
        (
            &by_address,
            format!("sslmode=require&sslrootcert={ours}"),
            Some("sslmode=verify-ca"),
        ),
        (
            &by_name,
            format!("sslmode=verify-full&sslrootcert={other}"),
            Some("UnknownIssuer"),
        ),
        (
            &by_name,
            format!("sslmode=verify-ca&sslrootcert={other}"),
            Some("UnknownIssuer"),
        ),
        (
            &by_name,
            format!("sslmode=verify-full&sslrootcert={made_anew}"),
            Some("name the file of its certificate authority"),
        ),
        (
            &by_name,
            "sslmode=require".to_owned(),
            Some("sslrootcert in the store's URL"),
        ),
        (
            &by_name,
            "sslmode=verify-full&sslrootcert=system".to_owned(),
            Some("UnknownIssuer"),
        ),
        (
            &by_name,
            format!("sslmode=verify-full&sslrootcert={key}"),
            Some("certificates in PEM"),
        ),
        (
            &by_name,
            "sslmode=verify-full&sslrootcert=/nowhere".to_owned(),
            Some("/nowhere"),
        ),
    ];
    for (address, parameters, objection) in table {
        let config = schema.config_at(&format!("{address}?{parameters}"));
        match (config.connect().await, objection) {
            (Ok(store), None) => {
                granted(&store, &format!("{address}{parameters}")).await;
                assert_encrypted(&schema).await;
            }
            (Err(error), Some(part)) => {
                assert_eq!(error.kind(), Kind::Invalid, "{parameters}: {error}");
                assert!(error.to_string().contains(part), "{parameters}: {error}");
            }
            (Ok(_), Some(part)) => panic!("{parameters}: expected {part}, found a connection"),
            (Err(error), None) => panic!("{parameters}: expected a connection, found {error}"),
        }
    }
}

async fn assert_encrypted(schema: &Schema) {
    let ask = "SELECT count(*) FILTER (WHERE s.ssl), count(*) FROM pg_stat_ssl s \
               JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'semel'";
    let row = schema.client().await.query_one(ask, &[]).await.unwrap();
    let (encrypted, all): (i64, i64) = (row.get(0), row.get(1));
    assert!(all > 0 && encrypted == all, "{encrypted} of {all}");
}
