//! Results of a call, for everything that a receiver can do.

use crate::receiver::Does;
use crate::{NOW_MS, Receiver, TEST_TIMEOUT, again, deliver, given_up, notice, run, webhook};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_notify::{Delivery, Message, WHY_CHARS, Webhook, WebhookClient};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

/// Calls a receiver that does this, and returns the result.
fn delivered(does: Does, timeout: Duration) -> Delivery {
    run(async {
        let receiver = Receiver::that(does).await;
        deliver(&Webhook { timeout, ..webhook(&receiver.url()) }).await
    })
}

fn answers(status: u16, headers: &[(&'static str, &str)]) -> Delivery {
    let headers = headers.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    delivered(Does::Answers(status, headers, "so it is"), TEST_TIMEOUT)
}

const SHORT: Duration = Duration::from_secs(4);

#[test]
fn what_is_accepted_was_posted_whole_with_its_key() {
    run(async {
        let mut receiver = Receiver::that(Does::Answers(204, Vec::new(), "")).await;
        assert_eq!(deliver(&webhook(&receiver.url())).await, Delivery::Accepted);
        let call = receiver.call();
        assert_eq!(call.path, "POST /hook?a=b");
        assert_eq!(call.body, notice().body().unwrap());
        let header = |name: &str| call.headers[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "application/json");
        assert_eq!(header("webhook-id"), "task-1.done");
        assert_eq!(header("webhook-timestamp"), "1614265330");
        assert_eq!(header("host"), format!("127.0.0.1:{}", receiver.port));
        assert!(header("user-agent").starts_with("tenure/"));
        assert!(!call.headers.contains_key("webhook-signature"), "there is no secret");
    });
}

#[test]
fn an_error_of_the_receivers_own_is_tried_again() {
    let (why, after) = again(answers(500, &[]));
    assert!(why.ends_with("answered 500 Internal Server Error: so it is"), "{why}");
    assert_eq!(after, None);
}

#[test]
fn whoever_is_asked_to_wait_does() {
    let (why, after) = again(answers(429, &[("retry-after", "17")]));
    assert!(why.contains("429 Too Many Requests"), "{why}");
    assert_eq!(after, Some(Duration::from_secs(17)));
    assert_eq!(again(answers(503, &[("retry-after", "86400")])).1, Some(Duration::from_secs(3600)));
}

#[test]
fn a_refusal_is_final_and_says_why() {
    let why = given_up(answers(404, &[]));
    assert!(why.ends_with("answered 404 Not Found: so it is"), "{why}");
    let why = given_up(answers(410, &[]));
    assert!(why.contains("removed permanently"), "{why}");
}

#[test]
fn a_redirect_is_not_followed() {
    run(async {
        let mut other = Receiver::that(Does::Answers(204, Vec::new(), "")).await;
        let location = vec![("location", other.url())];
        let receiver = Receiver::that(Does::Answers(307, location, "")).await;
        let why = given_up(deliver(&webhook(&receiver.url())).await);
        assert!(
            why.contains(&format!("to http://127.0.0.1:{}: redirects are not followed", other.port)),
            "{why}"
        );
        assert_eq!(other.connections(), 0);
    });
}

#[test]
fn silence_before_the_answer_is_a_timeout() {
    for does in [Does::Ignores, Does::Says(""), Does::Says("HTTP/1.1 200 OK\r\nx-half: ")] {
        let (why, _) = again(delivered(does, SHORT));
        assert!(why.ends_with("timed out after 4s while waiting for the response"), "{why}");
    }
}

#[test]
fn silence_in_the_middle_of_the_body_changes_nothing() {
    let began = Instant::now();
    let ok = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nha";
    assert_eq!(delivered(Does::Says(ok), TEST_TIMEOUT), Delivery::Accepted);
    let error = "HTTP/1.1 500 Oh\r\ncontent-length: 100\r\n\r\nhalf a rea";
    let (why, _) = again(delivered(Does::Says(error), TEST_TIMEOUT));
    assert!(why.ends_with(": half a rea"), "{why}");
    assert!(began.elapsed() < TEST_TIMEOUT / 2, "it was not waited for");
}

#[test]
fn a_connection_that_ends_early_is_tried_again_unless_the_answer_was_there() {
    for said in ["", "HTTP/1.1 200 OK\r\nconte", "HTTP/1.1 2"] {
        let (why, _) = again(delivered(Does::SaysAndCloses(said), TEST_TIMEOUT));
        assert!(why.contains("waiting for the response failed"), "{said:?}: {why}");
    }
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nha";
    assert_eq!(delivered(Does::SaysAndCloses(cut), TEST_TIMEOUT), Delivery::Accepted);
}

#[test]
fn what_is_no_http_is_tried_again() {
    let (why, _) = again(delivered(Does::SaysAndCloses("SSH-2.0-OpenSSH_9.9\r\n"), TEST_TIMEOUT));
    assert!(why.contains("waiting for the response failed"), "{why}");
}

#[test]
fn an_endless_body_is_not_read_to_its_end() {
    let noise = format!("ffff\r\n{}\r\n", "x".repeat(0xffff)).into_bytes();
    let told = |head| {
        run(async {
            let mut receiver = Receiver::that(Does::Repeats(head, noise.clone())).await;
            let delivered = deliver(&webhook(&receiver.url())).await;
            let sent = receiver.sent().await;
            assert!(sent < 16 << 20, "{sent} bytes were taken, and the system's buffers are smaller");
            delivered
        })
    };
    assert_eq!(told("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"), Delivery::Accepted);
    let why = given_up(told("HTTP/1.1 400 Bad\r\ntransfer-encoding: chunked\r\n\r\n"));
    assert!(why.chars().count() <= WHY_CHARS && why.ends_with("xxx"), "{why}");
}

#[test]
fn an_endless_head_is_not_read_to_its_end() {
    let head = "HTTP/1.1 200 OK\r\n";
    let (why, _) = again(delivered(Does::Repeats(head, b"x-more: and more\r\n".to_vec()), TEST_TIMEOUT));
    assert!(why.contains("waiting for the response failed"), "{why}");
    let (why, _) = again(delivered(Does::Repeats("", b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()), SHORT));
    assert!(why.contains("waiting for the response"), "{why}");
}

#[test]
fn nobody_there_is_tried_again() {
    run(async {
        // Bound, so that no other process can listen there, but without a listener.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = socket.local_addr().unwrap().port();
        let (why, _) = again(deliver(&webhook(&format!("http://127.0.0.1:{port}/"))).await);
        assert!(why.contains(&format!("connecting to 127.0.0.1:{port} failed")), "{why}");
    });
}

#[test]
fn what_a_receiver_says_is_shown_on_one_line() {
    let said = "HTTP/1.1 403 \r\ncontent-length: 29\r\n\r\nno\r\n\x1b[2Jway \u{202e}back\0 here\n\n.......";
    let why = given_up(delivered(Does::SaysAndCloses(said), TEST_TIMEOUT));
    assert!(why.contains("403 Forbidden: no [2Jway back here"), "{why:?}");
    assert!(!why.contains(|c: char| c.is_control() || c == '\u{202e}'), "{why:?}");
}

#[test]
fn calls_go_out_at_the_same_time_and_from_any_thread() {
    run(async {
        let mut receiver = Receiver::that(Does::Answers(204, Vec::new(), "")).await;
        let webhooks = Arc::new(WebhookClient::default());
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let (webhooks, webhook) = (Arc::clone(&webhooks), webhook(&receiver.url()));
            calls.spawn(async move { webhooks.deliver(&webhook, &notice(), NOW_MS).await });
        }
        assert!(calls.join_all().await.iter().all(|delivered| *delivered == Delivery::Accepted));
        assert_eq!(receiver.connections(), 20);
    });
}

#[test]
fn a_notice_that_cannot_be_sent_is_given_up() {
    run(async {
        let mut receiver = Receiver::that(Does::Answers(204, Vec::new(), "")).await;
        let webhooks = WebhookClient::default();
        let bad = Message { key: "a\nb".into(), ..notice() };
        let why = given_up(webhooks.deliver(&webhook(&receiver.url()), &bad, NOW_MS).await);
        assert!(why.contains("key"), "{why}");
        assert_eq!(receiver.connections(), 0);
    });
}
