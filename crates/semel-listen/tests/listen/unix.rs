//! Unix sockets.

use std::os::unix::fs::PermissionsExt;

use semel_listen::{Address, Kind, Listener, Settings, Tls};
use tokio::net::UnixStream;

use crate::support::{get, start_at};

#[tokio::test]
async fn a_unix_socket_is_served_with_its_permissions_and_removed_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("semel.sock");
    let address = Address::Unix(path.clone());
    let running = start_at(&address, Settings::default());
    assert_eq!(running.address, address);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let answer = get(UnixStream::connect(&path).await.unwrap(), "/file").await;
    assert!(answer.ends_with("/file"), "{answer}");
    running.drained().await;
    assert!(!path.exists());
}

#[tokio::test]
async fn the_socket_of_a_dead_process_is_replaced_and_that_of_a_live_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("semel.sock");
    // A listener that is dropped without removing its file.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let address = Address::Unix(path.clone());
    let running = start_at(&address, Settings::default());
    let refused = Listener::bind("other", &address, Settings::default()).unwrap_err();
    assert_eq!(refused.kind(), Kind::Listen);
    assert!(refused.to_string().contains("another process"), "{refused}");
    let answer = get(UnixStream::connect(&path).await.unwrap(), "/live").await;
    assert!(answer.ends_with("/live"), "{answer}");
    running.drained().await;

    std::fs::write(&path, "precious").unwrap();
    let refused = Listener::bind("other", &address, Settings::default()).unwrap_err();
    assert!(refused.to_string().contains("no socket"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn a_unix_socket_has_no_certificate() {
    let settings = Settings {
        tls: Some(Tls::new("cert.pem", "key.pem")),
        ..Settings::default()
    };
    let refused = Listener::bind("test", &Address::Unix("x".into()), settings).unwrap_err();
    assert_eq!(refused.kind(), Kind::Invalid);
}
