//! Addresses of webhooks. Accepts only forms that all programs read in the same way: a host that one program reads as a
//! name and another as an IP address could be checked as the one and called as the other.

use crate::address;
use hyper::Uri;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const URL_BYTES: usize = 2048;

/// A webhook's address. Shown without its path, which may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// The protocol.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
    /// Path and query.
    pub path: String,
}

/// Protocol of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Not encrypted.
    Http,
    /// Encrypted.
    Https,
}

/// Host of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name in lower case.
    Name(String),
    /// An IP address.
    Ip(IpAddr),
}

/// Error for an invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid address of a webhook: {0}")]
pub struct BadUrl(String);

impl Url {
    /// Parses an address. The error does not contain it, because it may contain a secret.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let bad = |why: &str| BadUrl(why.to_owned());
        if text.len() > URL_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let why = "write at most 2048 ASCII characters, names in their xn-- form and the rest with %";
            return Err(bad(why));
        }
        if text.contains('#') {
            return Err(bad("leave out the # and what follows it"));
        }
        if text.contains('\\') {
            return Err(bad("write / instead of \\"));
        }
        let uri: Uri = text.parse().map_err(|_| bad("write https://HOST/PATH"))?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            _ => return Err(bad("write https://, or http:// for this machine")),
        };
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad(
                "it has a user or a password: leave them out, and sign the calls with secret-file",
            ));
        }
        // `Uri` ignores an invalid port.
        let port =
            match authority.as_str().strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':')) {
                None => scheme.port(),
                Some(text) => {
                    let port = text.parse().ok().filter(|port| *port > 0);
                    port.ok_or_else(|| bad("the port is invalid: write a number from 1 to 65535"))?
                }
            };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { scheme, host: host(authority.host())?, port, path })
    }

    /// Checks that it may be called, as far as that is known before the DNS lookup.
    pub fn check(&self, allow_private: bool) -> Result<(), String> {
        match &self.host {
            Host::Ip(ip) => address::check(self.scheme, *ip, allow_private),
            Host::Name(name) if self.scheme == Scheme::Https || allow_private || is_local(name) => Ok(()),
            Host::Name(name) => Err(format!(
                "http to {name} would send notices unencrypted over the network: use https, or allow-private = true for your own network"
            )),
        }
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn authority(&self) -> String {
        if self.port == self.scheme.port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl Scheme {
    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

fn is_local(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn host(text: &str) -> Result<Host, BadUrl> {
    let bad = |why: &str| BadUrl(format!("the host is invalid: {why}"));
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']').unwrap_or(inner);
        let ip: Ipv6Addr = inner.parse().map_err(|_| bad("write an IPv6 address, without a zone"))?;
        return Ok(Host::Ip(ip.into()));
    }
    if let Ok(ip) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Ip(ip.into()));
    }
    let is_label = |label: &str| {
        let letters = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        (1..=63).contains(&label.len()) && letters && !label.starts_with('-') && !label.ends_with('-')
    };
    if text.len() > 253 || !text.split('.').all(is_label) {
        return Err(bad("write a name of letters, digits, - and dots between them, or an address"));
    }
    // Some programs read 2130706433, 127.1 and 0x7f.1 as IP addresses.
    let last = text.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(bad("write an IPv4 address as four numbers from 0 to 255"));
    }
    Ok(Host::Name(text.to_ascii_lowercase()))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Ip(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self}/***)")
    }
}
