//! The end of a listener, and room at its limit.

use std::time::Duration;

use semel_listen::Settings;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::support::{get, start, until};

#[tokio::test]
async fn connections_are_accepted_during_the_pause_and_refused_after_it() {
    let mut running = start(Settings {
        pause: Duration::from_millis(300),
        ..Settings::default()
    });
    let address = running.tcp();
    running.stop();
    for _ in 0..3 {
        let answer = get(running.connect().await, "/still-here").await;
        assert!(answer.ends_with("/still-here"), "{answer}");
    }
    until(async || TcpStream::connect(address).await.is_err()).await;
    let drained = running.drained().await;
    assert_eq!((drained.cut_off, drained.connections), (0, 0));
}

#[tokio::test]
async fn a_connection_that_has_lived_long_enough_ends() {
    let running = start(Settings {
        life: Some(Duration::from_millis(50)),
        header: Duration::from_secs(3_600),
        idle: Duration::from_secs(3_600),
        ..Settings::default()
    });
    let mut peer = running.connect().await;
    assert_eq!(peer.read(&mut [0]).await.unwrap(), 0);
    until(async || running.handle.load().connections == 0).await;
}

#[tokio::test]
async fn a_handshake_that_does_not_come_makes_room() {
    let certificate = crate::certificates::Files::new();
    let running = start(Settings {
        connections_max: 1,
        tls: Some(certificate.tls()),
        ..Settings::default()
    });
    let mut silent = running.connect().await;
    let answer = get(certificate.connect(running.tcp()).await.unwrap(), "/in").await;
    assert!(answer.ends_with("/in"), "{answer}");
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
}
