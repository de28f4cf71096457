//! Where a webhook is. Only forms that everybody reads alike are taken: what one program takes for a name and another
//! for an address would be checked as the one and called as the other.

use crate::address::permits;
use hyper::Uri;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const URL_BYTES: usize = 2048;

/// A webhook's address. Shown without its path, which may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// How it is called.
    pub scheme: Scheme,
    /// Who is called.
    pub host: Host,
    /// At which port.
    pub port: u16,
    /// What is asked for: path and query.
    pub path: String,
}

/// How a webhook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Encrypted.
    Https,
}

/// Who is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Somebody with a name, in small letters.
    Name(String),
    /// An address.
    Ip(IpAddr),
}

/// A text that is no webhook's address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no webhook's address: {0}")]
pub struct BadUrl(String);

impl Url {
    /// Reads an address. The error does not repeat it: it may hold a secret.
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
        // What is no port is none to `Uri`.
        let port =
            match authority.as_str().strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':')) {
                None => scheme.port(),
                Some(text) => {
                    let port = text.parse().ok().filter(|port| *port > 0);
                    port.ok_or_else(|| bad("its port is none: write one from 1 to 65535"))?
                }
            };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { scheme, host: host(authority.host())?, port, path })
    }

    /// Whether it may be called, as far as can be told before its name is looked up.
    pub fn check(&self, allow_private: bool) -> Result<(), String> {
        match &self.host {
            Host::Ip(ip) => permits(self.scheme, *ip, allow_private),
            Host::Name(name) if self.scheme == Scheme::Https || allow_private || is_local(name) => Ok(()),
            Host::Name(name) => Err(format!(
                "http to {name} would go over the network in the clear: write https, or allow-private = true if it is in your own"
            )),
        }
    }

    /// What a request's header says.
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
    let bad = |why: &str| BadUrl(format!("its host is none: {why}"));
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
    // 2130706433, 127.1 and 0x7f.1 are addresses to some.
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
