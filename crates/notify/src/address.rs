//! Which addresses a webhook may have. Whoever can write a name into the DNS could otherwise make Tenure call whatever
//! only this machine can reach.

use crate::url::Scheme;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is.
enum Kind {
    /// Of the internet.
    Public,
    /// This machine.
    Loopback,
    /// Of a network that is not the internet.
    Closed(&'static str),
    /// Nobody's.
    Never(&'static str),
    /// Another way to write an IPv4 address.
    Form(&'static str, Ipv4Addr),
}

/// Whether this address may be called; if not, why, and what to do.
pub fn permits(scheme: Scheme, ip: IpAddr, allow_private: bool) -> Result<(), String> {
    let kind = match ip {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => v6(ip),
    };
    let refused = |what: &str| Err(format!("{ip} is {what}: allow-private = true would allow it"));
    match kind {
        Kind::Loopback => Ok(()),
        Kind::Public if scheme == Scheme::Https => Ok(()),
        Kind::Public => Err(format!("{ip} is on the internet, and http is in the clear: write https")),
        Kind::Closed(_) if allow_private => Ok(()),
        Kind::Form(_, inner) if allow_private => permits(scheme, inner.into(), true),
        Kind::Closed(what) | Kind::Form(what, _) => refused(what),
        Kind::Never(what) => Err(format!("{ip} is {what}: nobody can be called there")),
    }
}

fn v4(ip: Ipv4Addr) -> Kind {
    match ip.octets() {
        [127, ..] => Kind::Loopback,
        [0, ..] => Kind::Never("an unspecified address"),
        [224..=239, ..] => Kind::Never("a multicast address"),
        [240..=255, ..] => Kind::Never("a reserved or broadcast address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Kind::Closed("a private address"),
        [100, 64..=127, ..] => Kind::Closed("an address shared by a provider's customers"),
        [169, 254, ..] => Kind::Closed("a link-local address, where clouds keep their credentials"),
        [192, 0, 0, _] | [192, 88, 99, _] => Kind::Closed("an address of the internet's own machinery"),
        [198, 18..=19, ..] => Kind::Closed("an address for measurements"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Kind::Closed("an address for examples"),
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
        [0, 0, 0, 0, 0, 0, 0, 0] => Kind::Never("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Loopback,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            Kind::Form("an IPv4 address in IPv6", inner(high, low))
        }
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Kind::Form("an IPv4 address behind NAT64", inner(high, low)),
        [0x64, 0xff9b, ..] => Kind::Closed("an address behind NAT64"),
        [0x2002, high, low, ..] => Kind::Form("an IPv4 address in 6to4", inner(high, low)),
        [0xff00..=0xffff, ..] => Kind::Never("a multicast address"),
        [0xfe80..=0xfebf, ..] => Kind::Closed("a link-local address"),
        [0xfec0..=0xfeff | 0xfc00..=0xfdff, ..] => Kind::Closed("a private address"),
        [0x2001, 0, ..] => Kind::Closed("a Teredo address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Closed("an address for examples"),
        [0x2001, 1..=0x1ff, ..] => Kind::Closed("an address of the internet's own machinery"),
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Closed("a reserved address"),
    }
}
