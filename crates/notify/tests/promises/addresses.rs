//! Addresses of webhooks: allowed and refused ones.

use tenure_notify::{Scheme, Url, check_address};

/// An address, and the permissions to call it: by https, by http, and by both with `allow-private`.
type Row = (&'static str, [bool; 4]);

const YES: [bool; 4] = [true; 4];
const PUBLIC: [bool; 4] = [true, false, true, false];
const PRIVATE: [bool; 4] = [false, false, true, true];
const ENCRYPTED_PRIVATE: [bool; 4] = [false, false, true, false];
const NEVER: [bool; 4] = [false; 4];

const TABLE: [Row; 62] = [
    ("127.0.0.1", YES),
    ("127.255.255.254", YES),
    ("::1", YES),
    ("8.8.8.8", PUBLIC),
    ("1.1.1.1", PUBLIC),
    ("126.255.255.255", PUBLIC),
    ("128.0.0.0", PUBLIC),
    ("223.255.255.255", PUBLIC),
    ("9.255.255.255", PUBLIC),
    ("11.0.0.0", PUBLIC),
    ("172.15.255.255", PUBLIC),
    ("172.32.0.0", PUBLIC),
    ("192.167.255.255", PUBLIC),
    ("192.169.0.0", PUBLIC),
    ("100.63.255.255", PUBLIC),
    ("100.128.0.0", PUBLIC),
    ("169.253.255.255", PUBLIC),
    ("169.255.0.0", PUBLIC),
    ("198.17.255.255", PUBLIC),
    ("198.20.0.0", PUBLIC),
    ("2606:4700:4700::1111", PUBLIC),
    ("2001:4860:4860::8888", PUBLIC),
    ("2001:200::1", PUBLIC),
    ("10.0.0.1", PRIVATE),
    ("10.255.255.255", PRIVATE),
    ("172.16.0.1", PRIVATE),
    ("172.31.255.255", PRIVATE),
    ("192.168.0.1", PRIVATE),
    ("192.168.255.255", PRIVATE),
    ("100.64.0.1", PRIVATE),
    ("100.127.255.255", PRIVATE),
    ("169.254.169.254", PRIVATE),
    ("169.254.0.1", PRIVATE),
    ("192.0.0.192", PRIVATE),
    ("192.0.2.1", PRIVATE),
    ("192.88.99.1", PRIVATE),
    ("198.18.0.1", PRIVATE),
    ("198.51.100.1", PRIVATE),
    ("203.0.113.1", PRIVATE),
    ("fc00::1", PRIVATE),
    ("fd00:ec2::254", PRIVATE),
    ("fe80::1", PRIVATE),
    ("fec0::1", PRIVATE),
    ("2001::1", PRIVATE),
    ("2001:db8::1", PRIVATE),
    ("3fff::1", PRIVATE),
    ("100::1", PRIVATE),
    ("64:ff9b:1::a00:1", PRIVATE),
    ("::ffff:10.0.0.1", PRIVATE),
    ("::ffff:127.0.0.1", PRIVATE),
    ("::7f00:1", PRIVATE),
    ("64:ff9b::169.254.169.254", PRIVATE),
    ("2002:a00:1::", PRIVATE),
    ("::ffff:0:10.0.0.1", PRIVATE),
    ("::ffff:8.8.8.8", ENCRYPTED_PRIVATE),
    ("64:ff9b::8.8.8.8", ENCRYPTED_PRIVATE),
    ("0.0.0.0", NEVER),
    ("0.1.2.3", NEVER),
    ("224.0.0.1", NEVER),
    ("255.255.255.255", NEVER),
    ("::", NEVER),
    ("ff02::1", NEVER),
];

#[test]
fn every_kind_of_address_is_allowed_or_refused() {
    for (text, expected) in TABLE {
        let ip = text.parse().unwrap();
        let ways =
            [(Scheme::Https, false), (Scheme::Http, false), (Scheme::Https, true), (Scheme::Http, true)];
        let may = ways.map(|(scheme, allow)| check_address(scheme, ip, allow).is_ok());
        assert_eq!(may, expected, "{text}");
    }
    assert!(check_address(Scheme::Http, "::ffff:224.0.0.1".parse().unwrap(), true).is_err());
}

#[test]
fn a_refusal_says_what_the_address_is_and_what_to_do() {
    let why = |text: &str| check_address(Scheme::Http, text.parse().unwrap(), false).unwrap_err();
    let metadata = why("169.254.169.254");
    assert!(metadata.contains("link-local") && metadata.contains("allow-private = true"), "{metadata}");
    assert!(why("8.8.8.8").ends_with("use https"));
    assert!(!why("224.0.0.1").contains("allow-private"));
}

/// Parses and checks an address; returns it as shown text.
fn read(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    url.check(false)?;
    Ok(format!("{url} {}", url.path))
}

#[test]
fn an_address_is_read_in_one_way_only() {
    for (text, expected) in [
        ("https://example.com", "https://example.com /"),
        ("https://Example.COM:443/a?b=c", "https://example.com /a?b=c"),
        ("https://example.com:8443/", "https://example.com:8443 /"),
        ("https://example.com?x=1", "https://example.com /?x=1"),
        ("HTTPS://example.com/", "https://example.com /"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example /"),
        ("http://localhost:1/", "http://localhost:1 /"),
        ("http://a.localhost/", "http://a.localhost /"),
        ("http://127.0.0.1/", "http://127.0.0.1 /"),
        ("http://[::1]:8080/x", "http://[::1]:8080 /x"),
        ("https://8.8.8.8/", "https://8.8.8.8 /"),
    ] {
        assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn odd_addresses_are_refused() {
    for (text, expected) in [
        ("http://2130706433/", "four numbers"),
        ("http://0x7f000001/", "four numbers"),
        ("http://0x7f.0.0.1/", "four numbers"),
        ("http://0177.0.0.1/", "four numbers"),
        ("http://127.1/", "four numbers"),
        ("http://127.0.0.1./", "write a name"),
        ("http://localhost./", "write a name"),
        ("http://evil.com.0x7f/", "four numbers"),
        ("http://[::ffff:10.0.0.1]/", "an IPv4 address in IPv6"),
        ("http://[::ffff:127.0.0.1]/", "an IPv4 address in IPv6"),
        ("https://[64:ff9b::a00:1]/", "NAT64"),
        ("https://[fe80::1%25eth0]/", "invalid address of a webhook"),
        ("https://10.0.0.1/", "private"),
        ("http://169.254.169.254/latest/meta-data/", "link-local"),
        ("https://0.0.0.0/", "unspecified"),
        ("http://example.com/", "unencrypted"),
        ("http://8.8.8.8/", "not encrypted"),
        ("http://notlocalhost/", "unencrypted"),
        ("https://user:pa55@example.com/", "a user or a password"),
        ("https://user@example.com/", "a user or a password"),
        ("https://example.com\\@evil.com/", "write / instead"),
        ("https://example.com/#part", "leave out the #"),
        ("https://example.com:0/", "the port is invalid"),
        ("https://example.com:99999/", "the port is invalid"),
        ("https://example.com:/", "the port is invalid"),
        ("https://[2606:4700::1]:0/", "the port is invalid"),
        ("https://bücher.example/", "xn--"),
        ("https://exa mple.com/", "ASCII"),
        ("https://example.com/\r\nx: y", "ASCII"),
        ("https://-example.com/", "write a name"),
        ("https://a..b/", "write a name"),
        ("https:///path", "invalid address of a webhook"),
        ("ftp://example.com/", "write https://"),
        ("file:///etc/passwd", "invalid address of a webhook"),
        ("unix:/run/x.sock", "invalid address of a webhook"),
        ("example.com/hook", "invalid address of a webhook"),
        ("example.com", "write https://"),
        ("/hook", "write https://"),
        ("", "invalid address of a webhook"),
        (&format!("https://example.com/{}", "x".repeat(2048)), "at most 2048"),
    ] {
        let why = read(text).expect_err(text);
        assert!(why.contains(expected), "{text}: {why}");
        assert!(!why.contains("pa55"), "{why}");
    }
}

#[test]
fn the_path_may_be_a_secret_and_is_not_shown() {
    let url = Url::parse("https://example.com/services/T0/B0/s3cret?token=s3cret").unwrap();
    assert!(!format!("{url} {url:?}").contains("s3cret"), "{url:?}");
}
