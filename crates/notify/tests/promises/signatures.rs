//! The signature is the one that Standard Webhooks describes.

use crate::receiver::Does;
use crate::{Receiver, again, deliver, run, webhook};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use tenure_notify::{Delivery, Secret, Signer, Webhook};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// HMAC by its definition in RFC 2104.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::digest([&block.map(|byte| byte ^ 0x36), message].concat());
    Sha256::digest([&block.map(|byte| byte ^ 0x5c)[..], &inner].concat()).to_vec()
}

#[test]
fn the_published_example_comes_out() {
    let signer = Signer::new(SECRET.as_bytes()).unwrap();
    let signature = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn what_arrives_can_be_verified_with_the_secret() {
    let raw = "not base64, but bytes as they are, and more than the 64 bytes of one block of the hash";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{SECRET}\n")).unwrap();
    let given = |secret: &str| Secret::Given(Signer::new(secret.as_bytes()).unwrap());
    let decoded = STANDARD.decode(&SECRET[6..]).unwrap();
    let cases = [
        (given(SECRET), decoded.clone()),
        (given(raw), raw.as_bytes().to_vec()),
        (Secret::File(file.path().to_owned()), decoded),
    ];
    for (secret, key) in cases {
        run(async {
            let mut receiver = Receiver::that(Does::Answers(200, Vec::new(), "")).await;
            let webhook = Webhook { secret: Some(secret), ..webhook(&receiver.url()) };
            assert_eq!(deliver(&webhook).await, Delivery::Accepted);
            let call = receiver.call();
            let header = |name: &str| call.headers[name].as_bytes().to_vec();
            let dot = || b".".to_vec();
            let signed =
                [header("webhook-id"), dot(), header("webhook-timestamp"), dot(), call.body.to_vec()];
            let expected = format!("v1,{}", STANDARD.encode(hmac(&key, &signed.concat())));
            assert_eq!(header("webhook-signature"), expected.as_bytes());
        });
    }
}

#[test]
fn a_new_secret_in_the_file_holds_at_the_next_call() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let signatures: Vec<_> = ["the first of two secrets", "the second of two secrets"]
        .into_iter()
        .map(|secret| {
            std::fs::write(file.path(), secret).unwrap();
            run(async {
                let mut receiver = Receiver::that(Does::Answers(200, Vec::new(), "")).await;
                let secret = Some(Secret::File(file.path().to_owned()));
                assert_eq!(
                    deliver(&Webhook { secret, ..webhook(&receiver.url()) }).await,
                    Delivery::Accepted
                );
                receiver.call().headers["webhook-signature"].clone()
            })
        })
        .collect();
    assert_ne!(signatures[0], signatures[1]);
}

#[test]
fn without_its_secret_nothing_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let short = dir.path().join("short");
    std::fs::write(&short, "hunter2").unwrap();
    for (path, expected) in [
        (dir.path().join("missing"), "missing: "),
        (dir.path().to_owned(), "not a regular file"),
        (short, "the secret has 7 bytes"),
    ] {
        run(async {
            let mut receiver = Receiver::that(Does::Answers(200, Vec::new(), "")).await;
            let webhook = Webhook { secret: Some(Secret::File(path)), ..webhook(&receiver.url()) };
            let (why, _) = again(deliver(&webhook).await);
            assert!(why.contains(expected) && !why.contains("hunter2"), "{why}");
            assert_eq!(receiver.connections(), 0);
        });
    }
}

#[test]
fn a_secret_is_neither_too_short_nor_nonsense_and_never_shown() {
    for (secret, expected) in [
        ("", "has 0 bytes"),
        ("fifteen bytes..", "has 15 bytes"),
        ("whsec_", "has 0 bytes"),
        ("whsec_c2hvcnQ=", "has 5 bytes"),
        ("whsec_what is this?", "not base64"),
        (&"x".repeat(513), "has 513 bytes"),
    ] {
        let why = Signer::new(secret.as_bytes()).expect_err(secret).to_string();
        assert!(why.contains(expected), "{why}");
    }
    assert!(Signer::new("sixteen bytes...".as_bytes()).is_ok());
    let shown = format!("{:?}", Secret::Given(Signer::new(SECRET.as_bytes()).unwrap()));
    assert_eq!(shown, "Given(Signer(***))");
}
