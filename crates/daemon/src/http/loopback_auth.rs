//! Authentication on the loopback address: the Host is a loopback address, the Origin is not a foreign page, and the
//! token is right. A web page can reach the loopback address, but passes none of these checks.

use axum::http::{HeaderMap, Uri, header};
use std::io;
use std::path::Path;
use subtle::ConstantTimeEq;
use tenure_os::file::{self, Dir};
use tenure_os::random;
use tenure_supervisor::Refusal;

/// The token of the loopback address.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// Reads the token's file, or creates it, readable only for its owner.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let refuse =
            |why: &str| io::Error::other(format!("the API's token file \"{}\" {why}", path.display()));
        if let Ok(private) = file::is_private(path) {
            if !private {
                let advice = file::CLOSING;
                return Err(refuse(&format!(
                    "has another owner or can be read by others: make it your own, and {advice}"
                )));
            }
            let text = std::fs::read_to_string(path)?.trim().to_owned();
            return if text.len() < 16 {
                Err(refuse("has fewer than 16 characters: delete it, and the daemon creates a new one"))
            } else {
                Ok(Self(text))
            };
        }
        let bytes: [u8; 32] = random::bytes()?;
        let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Err(refuse("is not a path of a file"));
        };
        Dir::ensure(dir)?.write_new(name, format!("{text}\n").as_bytes())?;
        Ok(Self(text))
    }

    /// Accepts a request, or returns the reason for refusing it.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = uri.authority().map(axum::http::uri::Authority::as_str).or_else(|| text(header::HOST));
        if !host.is_some_and(is_loopback) {
            return Err(Refusal::forbidden(
                "the Host header is not a loopback address: use 127.0.0.1, [::1] or localhost",
            ));
        }
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
            if !origin.is_some_and(|(_, host)| is_loopback(host)) {
                return Err(Refusal::forbidden("the Origin header names a page of another host"));
            }
        }
        let shown = text(header::AUTHORIZATION)
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, shown)| shown);
        match shown {
            Some(shown) if bool::from(shown.trim().as_bytes().ct_eq(self.0.as_bytes())) => Ok(()),
            Some(_) => Err(Refusal::unauthorized("the token is wrong")),
            None => Err(Refusal::unauthorized("the token is missing: send `Authorization: Bearer TOKEN`")),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |text: &str| text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    if !port.is_empty() && !is_port(port) {
        return false;
    }
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, origin: Option<&str>, token: Option<&str>) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        if let Some(token) = token {
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        }
        let expected = Token("0123456789abcdef".to_owned());
        expected.check(&Uri::from_static("/v1/health"), &headers).err().map(|refusal| refusal.code.as_str())
    }

    const GOOD: Option<&str> = Some("0123456789abcdef");

    #[test]
    fn a_request_with_the_token_is_accepted() {
        for host in ["127.0.0.1:7000", "localhost:7000", "[::1]:7000", "LOCALHOST"] {
            assert_eq!(check(host, None, GOOD), None, "{host}");
        }
        assert_eq!(check("localhost", Some("http://localhost:3000"), GOOD), None);
    }

    #[test]
    fn a_host_name_rebound_to_loopback_is_refused() {
        for host in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::1].evil.example", ""]
        {
            assert_eq!(check(host, None, GOOD), Some("forbidden"), "{host}");
        }
    }

    #[test]
    fn a_foreign_page_is_refused_even_with_the_token() {
        for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
            assert_eq!(check("localhost", Some(origin), GOOD), Some("forbidden"), "{origin}");
        }
    }

    #[test]
    fn a_request_without_the_token_is_refused() {
        assert_eq!(check("localhost", None, None), Some("unauthorized"));
        assert_eq!(check("localhost", None, Some("0123456789abcdeF")), Some("unauthorized"));
        assert_eq!(check("localhost", None, Some("")), Some("unauthorized"));
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_own_or_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        assert!(Token::open(&path).is_ok() && Token::open(&path).is_ok(), "it is made, and read again");
        // Only the superuser can change a file's owner.
        if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
            let error = Token::open(&path).err().expect("it is another's").to_string();
            assert!(error.contains("another owner"), "{error}");
            std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(Token::open(&path).is_err());
    }
}
