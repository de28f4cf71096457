//! Addresses that a webhook may have. Without this check, a DNS record could make Tenure call services that only this
//! machine can reach (SSRF).

use crate::url::Scheme;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Kind of an address.
enum Kind {
    /// On the internet.
    Public,
    /// On this machine.
    Loopback,
    /// In a network that is not the internet.
    Private(&'static str),
    /// Without a host that could be called.
    Invalid(&'static str),
    /// An IPv4 address in an IPv6 form.
    Embedded(&'static str, Ipv4Addr),
}

/// Checks that this address may be called. The error says why not, and what to do.
pub fn check(scheme: Scheme, ip: IpAddr, allow_private: bool) -> Result<(), String> {
    let kind = match ip {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => v6(ip),
    };
    let refused = |what: &str| Err(format!("{ip} is {what}: to allow it, set allow-private = true"));
    match kind {
        Kind::Loopback => Ok(()),
        Kind::Public if scheme == Scheme::Https => Ok(()),
        Kind::Public => Err(format!("{ip} is on the internet, and http is not encrypted: use https")),
        Kind::Private(_) if allow_private => Ok(()),
        Kind::Embedded(_, inner) if allow_private => check(scheme, inner.into(), true),
        Kind::Private(what) | Kind::Embedded(what, _) => refused(what),
        Kind::Invalid(what) => Err(format!("{ip} is {what}, which cannot be called")),
    }
}

fn v4(ip: Ipv4Addr) -> Kind {
    match ip.octets() {
        [127, ..] => Kind::Loopback,
        [0, ..] => Kind::Invalid("an unspecified address"),
        [224..=239, ..] => Kind::Invalid("a multicast address"),
        [240..=255, ..] => Kind::Invalid("a reserved or broadcast address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Kind::Private("a private address"),
        [100, 64..=127, ..] => Kind::Private("an address shared by a provider's customers"),
        [169, 254, ..] => Kind::Private("a link-local address, where clouds keep their credentials"),
        [192, 0, 0, _] | [192, 88, 99, _] => Kind::Private("an address reserved for protocols"),
        [198, 18..=19, ..] => Kind::Private("an address reserved for benchmarks"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Kind::Private("an address reserved for documentation")
        }
        _ => Kind::Public,
    }
}

fn v6(ip: Ipv6Addr) -> Kind {
    let words = ip.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match words {
        [0, 0, 0, 0, 0, 0, 0, 0] => Kind::Invalid("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Loopback,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            Kind::Embedded("an IPv4 address in IPv6", inner(high, low))
        }
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Kind::Embedded("an IPv4 address behind NAT64", inner(high, low))
        }
        [0x64, 0xff9b, ..] => Kind::Private("an address behind NAT64"),
        [0x2002, high, low, ..] => Kind::Embedded("an IPv4 address in 6to4", inner(high, low)),
        [0xff00..=0xffff, ..] => Kind::Invalid("a multicast address"),
        [0xfe80..=0xfebf, ..] => Kind::Private("a link-local address"),
        [0xfec0..=0xfeff | 0xfc00..=0xfdff, ..] => Kind::Private("a private address"),
        [0x2001, 0, ..] => Kind::Private("a Teredo address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            Kind::Private("an address reserved for documentation")
        }
        [0x2001, 1..=0x1ff, ..] => Kind::Private("an address reserved for protocols"),
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Private("a reserved address"),
    }
}
