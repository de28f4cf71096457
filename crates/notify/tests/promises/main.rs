//! Tests of the crate's public interface.
#![allow(clippy::unwrap_used, reason = "a test that panics fails")]

mod addresses;
mod answers;
mod descriptions;
mod names;
mod receiver;
mod signatures;
mod tls;

use receiver::Receiver;
use serde_json::json;
use std::future::Future;
use std::time::Duration;
use tenure_notify::{Authorities, Delivery, Message, SystemResolver, Url, Webhook, WebhookClient};

/// Time limit of every test.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The time of every attempt.
const NOW_MS: u64 = 1_614_265_330_500;

fn notice() -> Message {
    Message {
        key: "task-1.done".into(),
        created_at_ms: 1_614_265_000_000,
        kind: "task.succeeded".into(),
        text: "It is done.".into(),
        payload: json!({"taskId": "task-1"}),
    }
}

fn webhook(url: &str) -> Webhook {
    let url = Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    Webhook { url, secret: None, timeout: Duration::from_secs(20), allow_private: false }
}

async fn deliver(webhook: &Webhook) -> Delivery {
    let webhooks = WebhookClient::new(SystemResolver, Authorities::Only(Vec::new()));
    webhooks.deliver(webhook, &notice(), NOW_MS).await
}

/// Runs a future to its end, within the time limit.
#[track_caller]
fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limited = async { tokio::time::timeout(TEST_TIMEOUT, work).await };
    let done = runtime.block_on(limited).expect("it has an end");
    runtime.shutdown_background();
    done
}

#[track_caller]
fn again(delivered: Delivery) -> (String, Option<Duration>) {
    match delivered {
        Delivery::TryAgain { why, after } => (why, after),
        other => panic!("it is to be tried again, but it is {other:?}"),
    }
}

#[track_caller]
fn given_up(delivered: Delivery) -> String {
    match delivered {
        Delivery::GivenUp { why } => why,
        other => panic!("it is to be given up, but it is {other:?}"),
    }
}
