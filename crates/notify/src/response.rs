//! Result of a webhook call, from the receiver's response.

use crate::delivery::Delivery;
use crate::url::Url;
use hyper::header::{HeaderMap, LOCATION, RETRY_AFTER};
use hyper::{StatusCode, http::response::Parts};
use std::time::{Duration, UNIX_EPOCH};

/// Minimum of the pause that a receiver can request.
pub const MIN_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Maximum of the pause that a receiver can request.
pub const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

/// Returns the delivery result for a response head and the beginning of its body. The body becomes part of the error.
pub(crate) fn delivery_of(url: &Url, head: &Parts, begin: &str, now_ms: u64) -> Delivery {
    let (status, begin) = (head.status, begin.trim());
    let excerpt: String = begin.chars().take(200).collect();
    let colon = if excerpt.is_empty() { "" } else { ": " };
    let said = format!("{url} answered {}{colon}{excerpt}", named(status));
    match status.as_u16() {
        200..=299 => Delivery::Accepted,
        408 | 429 | 500..=599 => match Delivery::try_again(said) {
            Delivery::TryAgain { why, .. } => {
                Delivery::TryAgain { why, after: retry_after(&head.headers, now_ms) }
            }
            other => other,
        },
        300..=399 => Delivery::given_up(redirect(url, head)),
        410 => Delivery::given_up(format!(
            "{said} (the webhook was removed permanently: change or remove the channel)"
        )),
        _ => Delivery::given_up(said),
    }
}

fn named(status: StatusCode) -> String {
    status.canonical_reason().map_or(status.as_str().to_owned(), |name| format!("{} {name}", status.as_str()))
}

/// Returns the error for a redirect. It leaves out the path of the target, which may be a secret.
fn redirect(url: &Url, head: &Parts) -> String {
    let location = head.headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let place = match location.map(|text| (text, Url::parse(text))) {
        Some((_, Ok(other))) if other.to_string() != url.to_string() => format!(" to {other}"),
        Some((_, Ok(_))) => " to another path on the same host".to_owned(),
        Some((text, Err(_))) if text.starts_with('/') && !text.starts_with("//") => {
            " to another path on the same host".to_owned()
        }
        Some((_, Err(_))) | None => String::new(),
    };
    let status = named(head.status);
    format!("{url} answered {status}{place}: redirects are not followed, give the final address")
}

/// Returns the pause that the receiver requests, within the limits.
fn retry_after(headers: &HeaderMap, now_ms: u64) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let pause = if is_number {
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let now = UNIX_EPOCH + Duration::from_millis(now_ms);
        httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(pause.clamp(MIN_RETRY_AFTER, MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Response;

    const NOW_MS: u64 = 784_111_777_000; // Sun, 06 Nov 1994 08:49:37 GMT

    fn url() -> Url {
        Url::parse("https://example.com/hook/s3cret").unwrap()
    }

    fn result_of(status: u16, header: Option<(&str, &str)>) -> Delivery {
        let mut response = Response::builder().status(status);
        if let Some((name, value)) = header {
            response = response.header(name, value);
        }
        delivery_of(&url(), &response.body(()).unwrap().into_parts().0, " some\u{7} text ", NOW_MS)
    }

    fn pause(text: &str) -> Option<u64> {
        match result_of(503, Some(("retry-after", text))) {
            Delivery::TryAgain { after, .. } => after.map(|after| after.as_secs()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_status_means_one_thing() {
        for status in 100..=999 {
            let result = result_of(status, None);
            let right = match status {
                200..=299 => result == Delivery::Accepted,
                408 | 429 | 500..=599 => matches!(result, Delivery::TryAgain { after: None, .. }),
                _ => matches!(result, Delivery::GivenUp { .. }),
            };
            assert!(right, "{status}: {result:?}");
        }
    }

    #[test]
    fn the_reason_names_the_status_and_what_was_said_but_no_path() {
        let Delivery::GivenUp { why } = result_of(404, None) else { panic!("404 is no acceptance") };
        assert_eq!(why, "https://example.com answered 404 Not Found: some text");
    }

    #[test]
    fn a_redirect_is_not_followed_and_told_without_its_path() {
        let to = |location| match result_of(302, Some(("location", location))) {
            Delivery::GivenUp { why } => why,
            other => panic!("{other:?}"),
        };
        let there = "https://example.com answered 302 Found to another path on the same host: redirects are not followed";
        assert!(to("/hook/s3cret/").starts_with(there), "{}", to("/hook/s3cret/"));
        assert!(to("https://example.com/s3cret").starts_with(there));
        assert!(to("http://10.0.0.1/s3cret").contains("302 Found to http://10.0.0.1: redirects"));
        assert!(to("//evil/s3cret").contains("302 Found: redirects are not followed"));
        assert!(!to("gopher://s3cret").contains("s3cret"));
    }

    #[test]
    fn the_receiver_says_when_to_try_again_within_bounds() {
        assert_eq!(pause("7"), Some(7));
        assert_eq!(pause("0"), Some(1));
        assert_eq!(pause("99999999999999999999999"), Some(3600));
        assert_eq!(pause("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(pause("Sun, 06 Nov 1994 08:00:00 GMT"), Some(1));
        assert_eq!(pause("Sat, 06 Nov 1999 08:00:00 GMT"), Some(3600));
        for nonsense in ["", "-1", "1.5", "soon", "+3"] {
            assert_eq!(pause(nonsense), None, "{nonsense:?}");
        }
    }
}
