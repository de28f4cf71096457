//! Verification of the receiver's certificate.

use crate::receiver::Does;
use crate::{NOW_MS, Receiver, again, notice, run, webhook};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tenure_notify::{Authorities, Delivery, Lookup, Resolve, Webhook, WebhookClient};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

// Made for these tests: an authority whose key is gone, and a receiver called `receiver.test`. Both hold until 2126.
const AUTHORITY: &[u8] = include_bytes!("../../fixtures/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../fixtures/receiver.pem");
const KEY: &[u8] = include_bytes!("../../fixtures/receiver-key.pem");

/// A resolver for which every name is this machine.
struct Here;

impl Resolve for Here {
    fn resolve(&self, _: &str) -> Lookup {
        Box::pin(async { Ok(vec![IpAddr::from(Ipv4Addr::LOCALHOST)]) })
    }
}

fn acceptor() -> TlsAcceptor {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    TlsAcceptor::from(Arc::new(builder.with_single_cert(vec![certificate], key).unwrap()))
}

fn authorities() -> Authorities {
    Authorities::Only(vec![CertificateDer::from_pem_slice(AUTHORITY).unwrap()])
}

/// Calls a receiver by this name, and returns the result.
async fn delivered(name: &str, authorities: Authorities) -> Delivery {
    let receiver = Receiver::over(Does::Answers(200, Vec::new(), "thanks"), Some(acceptor())).await;
    let webhook = webhook(&format!("https://{name}:{}/hook", receiver.port));
    WebhookClient::new(Here, authorities).deliver(&webhook, &notice(), NOW_MS).await
}

#[test]
fn a_receiver_with_its_certificate_is_called() {
    assert_eq!(run(delivered("receiver.test", authorities())), Delivery::Accepted);
}

#[test]
fn a_receiver_with_the_certificate_of_another_is_not() {
    let (why, _) = again(run(delivered("other.test", authorities())));
    assert!(why.contains("negotiating TLS failed") && why.contains("certificate"), "{why}");
    let (why, _) = again(run(delivered("127.0.0.1", authorities())));
    assert!(why.contains("negotiating TLS failed"), "{why}");
}

#[test]
fn without_authorities_nobody_is_believed() {
    let (why, _) = again(run(delivered("receiver.test", Authorities::Only(Vec::new()))));
    assert!(why.contains("install ca-certificates"), "{why}");
}

#[test]
fn whoever_does_not_speak_tls_is_tried_again() {
    run(async {
        let webhooks = WebhookClient::new(Here, authorities());
        let clear = Receiver::that(Does::Answers(200, Vec::new(), "")).await;
        let url = |port: u16| format!("https://receiver.test:{port}/");
        let (why, _) = again(webhooks.deliver(&webhook(&url(clear.port)), &notice(), NOW_MS).await);
        assert!(why.contains("negotiating TLS failed"), "{why}");
        let silent = Receiver::that(Does::Ignores).await;
        let hurried = Webhook { timeout: Duration::from_secs(4), ..webhook(&url(silent.port)) };
        let (why, _) = again(webhooks.deliver(&hurried, &notice(), NOW_MS).await);
        assert!(why.contains("while negotiating TLS"), "{why}");
    });
}
