//! Names are looked up once, and only an address that was checked is called.

use crate::receiver::Does;
use crate::{NOW_MS, Receiver, again, given_up, notice, run, webhook};
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_notify::{Authorities, Delivery, Lookup, Resolve, Webhook, WebhookClient};

/// A resolver that gives one answer after the other, and counts.
#[derive(Clone, Default)]
struct Says {
    answers: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    asked: Arc<AtomicUsize>,
}

impl Says {
    fn these(answers: &[&[&str]]) -> Self {
        let answer = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let answers = Arc::new(Mutex::new(answers.iter().map(answer).collect()));
        Self { answers, asked: Arc::default() }
    }
}

impl Resolve for Says {
    fn resolve(&self, name: &str) -> Lookup {
        assert_eq!(name, "hook.localhost");
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// Calls this name, and returns the result and the number of connections.
fn delivered(names: &Says, allow_private: bool) -> (Delivery, usize) {
    run(async {
        let mut receiver = Receiver::that(Does::Answers(204, Vec::new(), "")).await;
        let url = format!("http://hook.localhost:{}/", receiver.port);
        let webhook = Webhook { allow_private, ..webhook(&url) };
        let webhooks = WebhookClient::new(names.clone(), Authorities::Only(Vec::new()));
        let delivered = webhooks.deliver(&webhook, &notice(), NOW_MS).await;
        if delivered == Delivery::Accepted {
            let host = receiver.call().headers["host"].clone();
            assert_eq!(host, format!("hook.localhost:{}", receiver.port));
        }
        (delivered, receiver.connections())
    })
}

#[test]
fn the_address_that_was_checked_is_the_one_that_is_called() {
    let names = Says::these(&[&["127.0.0.1"], &["10.0.0.1"]]);
    assert_eq!(delivered(&names, false), (Delivery::Accepted, 1));
    assert_eq!(names.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn one_address_that_is_refused_condemns_them_all() {
    for bad in ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "8.8.8.8", "0.0.0.0"] {
        for answer in [["127.0.0.1", bad], [bad, "127.0.0.1"]] {
            let (delivered, connections) = delivered(&Says::these(&[&answer]), false);
            let why = given_up(delivered);
            assert!(why.contains("cannot be called") && why.contains(bad), "{why}");
            assert_eq!(connections, 0);
        }
    }
}

#[test]
fn private_addresses_can_be_allowed_but_not_http_to_the_internet() {
    let (delivered_to_both, connections) = delivered(&Says::these(&[&["127.0.0.1", "10.0.0.1"]]), true);
    assert_eq!((delivered_to_both, connections), (Delivery::Accepted, 1));
    let (refused, connections) = delivered(&Says::these(&[&["127.0.0.1", "8.8.8.8"]]), true);
    assert!(given_up(refused).contains("http is not encrypted"));
    assert_eq!(connections, 0);
}

#[test]
fn the_next_address_is_tried_where_nobody_answers() {
    assert_eq!(delivered(&Says::these(&[&["::1", "127.0.0.1"]]), false), (Delivery::Accepted, 1));
}

#[test]
fn a_name_without_an_address_is_tried_again() {
    let (why, _) = again(delivered(&Says::these(&[&[]]), false).0);
    assert!(why.ends_with("the name has no address"), "{why}");
    let (why, _) = again(delivered(&Says::these(&[]), false).0);
    assert!(why.ends_with("resolving its name failed: no such name"), "{why}");
}

#[test]
fn a_name_that_is_looked_up_for_ever_is_a_timeout() {
    struct Never;
    impl Resolve for Never {
        fn resolve(&self, _: &str) -> Lookup {
            Box::pin(std::future::pending())
        }
    }
    let webhook = Webhook { timeout: Duration::from_millis(50), ..webhook("https://example.com/") };
    let webhooks = WebhookClient::new(Never, Authorities::System);
    let (why, _) = again(run(webhooks.deliver(&webhook, &notice(), NOW_MS)));
    assert!(why.ends_with("timed out after 50ms while resolving its name"), "{why}");
}

#[test]
fn localhost_is_this_machine_by_the_systems_names_as_well() {
    run(async {
        let receiver = Receiver::that(Does::Answers(204, Vec::new(), "")).await;
        let webhook = webhook(&format!("http://localhost:{}/", receiver.port));
        assert_eq!(crate::deliver(&webhook).await, Delivery::Accepted);
    });
}
