//! The kinds of values: each is parsed from text and formatted so that it parses again.

use crate::Registry;
use serde::Serialize;
use serde::de::value::Error as BadWord;
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf, is_separator};
use std::time::Duration;
use tenure_core::duration;
use tenure_core::session::{BadRoute, Route};

/// The context for a text's references.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The directory of relative paths; `None` is the caller's directory.
    pub(crate) base: Option<&'a Path>,
    /// The directory that `~/` means.
    pub(crate) home: Option<&'a Path>,
}

/// A kind of value.
pub(crate) trait Kind {
    /// The value's type in the program.
    type Of;
    /// True if its values name files.
    const IS_PATH: bool = false;
    /// Parses a text; the error says what to write.
    fn read(text: &str, place: Place<'_>) -> Result<Self::Of, String>;
    /// Formats a value so that it parses again.
    fn write(value: &Self::Of) -> String;
    /// Returns true if a value means "none" where it is optional.
    fn is_none(_: &Self::Of) -> bool {
        false
    }
}

/// A file or directory.
pub(crate) struct File;

impl Kind for File {
    type Of = PathBuf;
    const IS_PATH: bool = true;

    fn read(text: &str, place: Place<'_>) -> Result<PathBuf, String> {
        let path = match (text.strip_prefix("~/"), place.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(text),
        };
        let path = place.base.map_or(path.clone(), |base| base.join(&path));
        std::path::absolute(&path).map_err(|error| format!("{text:?} is not a path: {error}"))
    }

    fn write(path: &PathBuf) -> String {
        path.display().to_string()
    }
}

/// The location of the registry.
pub(crate) struct RegistryUrl;

impl Kind for RegistryUrl {
    type Of = Registry;
    const IS_PATH: bool = true;

    fn read(text: &str, place: Place<'_>) -> Result<Registry, String> {
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        if text == "sqlite" {
            return Ok(Registry::InState);
        }
        if matches!(scheme, "postgres" | "postgresql") {
            return Err("a PostgreSQL registry is not supported yet: use sqlite or sqlite:/path".to_owned());
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        // `sqlite://name` would be a host in any other URL; `sqlite:///path` is an absolute path.
        let is_url = path.starts_with("//") && !path.starts_with("///") || path.contains("://");
        let is_path = path.contains(is_separator) || text.starts_with("sqlite:");
        if is_url || !is_path || path.is_empty() {
            return Err(format!("{text:?} is not a registry: use sqlite, sqlite:/path or /path"));
        }
        let path = path.strip_prefix("//").unwrap_or(path);
        // The part after the slash of a URL may be absolute without it: `sqlite:///C:/path`.
        let path = path.strip_prefix('/').filter(|rest| Path::new(rest).is_absolute()).unwrap_or(path);
        File::read(path, place).map(Registry::Sqlite)
    }

    fn write(registry: &Registry) -> String {
        match registry {
            Registry::InState => "sqlite".to_owned(),
            Registry::Sqlite(path) => format!("sqlite:{}", path.display()),
        }
    }
}

/// A switch: on or off.
pub(crate) struct Switch;

impl Kind for Switch {
    type Of = bool;

    fn read(text: &str, _: Place<'_>) -> Result<bool, String> {
        match text {
            "on" | "true" | "yes" | "1" => Ok(true),
            "off" | "false" | "no" | "0" => Ok(false),
            _ => Err(format!("{text:?} is not a switch: use on or off")),
        }
    }

    fn write(&on: &bool) -> String {
        if on { "on" } else { "off" }.to_owned()
    }
}

/// A number.
pub(crate) struct Count;

impl Kind for Count {
    type Of = u64;

    fn read(text: &str, _: Place<'_>) -> Result<u64, String> {
        text.parse().map_err(|_| format!("{text:?} is not a whole number: use digits only"))
    }

    fn write(count: &u64) -> String {
        count.to_string()
    }

    fn is_none(&count: &u64) -> bool {
        count == 0
    }
}

/// A number of bytes.
pub(crate) struct Size;

const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];

impl Kind for Size {
    type Of = u64;

    fn read(text: &str, _: Place<'_>) -> Result<u64, String> {
        size(text)
    }

    fn write(&size: &u64) -> String {
        let whole = |&&(_, bits): &&(&str, u32)| size > 0 && size.trailing_zeros() >= bits;
        match UNITS.iter().find(whole) {
            Some((unit, bits)) => format!("{}{unit}", size >> bits),
            None => size.to_string(),
        }
    }

    fn is_none(&size: &u64) -> bool {
        size == 0
    }
}

/// Parses a number of bytes as people write it: plain, or with a binary unit.
pub fn size(text: &str) -> Result<u64, String> {
    let unit = UNITS.iter().find_map(|&(unit, bits)| Some((text.strip_suffix(unit)?, bits)));
    let (digits, bits) = unit.unwrap_or((text, 0));
    let number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
    number.and_then(|number| number.checked_mul(1 << bits)).ok_or_else(|| {
        format!("{text:?} is not a size: use a number of bytes, or a whole number with KiB, MiB, GiB or TiB")
    })
}

/// A duration; 0 is at once.
pub(crate) struct Length;

impl Kind for Length {
    type Of = Duration;

    fn read(text: &str, _: Place<'_>) -> Result<Duration, String> {
        duration::parse(text).map(Option::unwrap_or_default).map_err(|error| error.to_string())
    }

    fn write(length: &Duration) -> String {
        let units = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
        let ms = length.as_millis();
        let whole = units.into_iter().find(|(_, scale)| ms > 0 && ms.is_multiple_of(*scale));
        whole.map_or("0".to_owned(), |(unit, scale)| format!("{}{unit}", ms / scale))
    }

    fn is_none(length: &Duration) -> bool {
        length.is_zero()
    }
}

/// A loopback address of this machine.
pub(crate) struct Loopback;

impl Kind for Loopback {
    type Of = SocketAddr;

    fn read(text: &str, _: Place<'_>) -> Result<SocketAddr, String> {
        let local = text.strip_prefix("localhost:").map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
        let address: SocketAddr = local.as_deref().unwrap_or(text).parse().map_err(|_| {
            format!(
                "{text:?} is not an address: use an address with a port, as in 127.0.0.1:7411 or [::1]:7411"
            )
        })?;
        if address.ip().is_loopback() {
            return Ok(address);
        }
        Err(format!(
            "{text:?} is reachable from other machines, and every client of the API can run commands as this user: use a \
             loopback address, as in 127.0.0.1:{}, and put a TLS proxy in front of it for other machines",
            address.port()
        ))
    }

    fn write(address: &SocketAddr) -> String {
        address.to_string()
    }
}

/// A word of an enumeration.
pub(crate) struct Word<T>(PhantomData<T>);

impl<T: Serialize + DeserializeOwned> Kind for Word<T> {
    type Of = T;

    fn read(text: &str, _: Place<'_>) -> Result<T, String> {
        T::deserialize(text.into_deserializer())
            .map_err(|error: BadWord| unknown_word(text, &error.to_string()))
    }

    fn write(word: &T) -> String {
        serde_json::to_value(word).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

/// Turns serde's "unknown variant `x`, expected one of `a`, `b`" into our own words.
fn unknown_word(text: &str, error: &str) -> String {
    let valid = error.split_once("expected ").map_or("", |(_, valid)| valid);
    format!("unknown value {text:?}: use {}", valid.replace('`', ""))
}

/// The routes by which agents may reach others, separated by commas; may be empty.
pub(crate) struct Routes;

impl Kind for Routes {
    type Of = Vec<Route>;

    fn read(text: &str, _: Place<'_>) -> Result<Vec<Route>, String> {
        match text {
            "none" => Ok(Vec::new()),
            _ => text.split(',').map(|route| route.trim().parse()).collect::<Result<_, _>>(),
        }
        .map_err(|error: BadRoute| format!("{error}; separate several by commas, or use none"))
    }

    fn write(routes: &Vec<Route>) -> String {
        if routes.is_empty() {
            return "none".to_owned();
        }
        routes.iter().map(Route::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// A file; without one, the default in the state root.
pub(crate) struct OwnOr;

impl Kind for OwnOr {
    type Of = Option<PathBuf>;
    const IS_PATH: bool = true;

    fn read(text: &str, place: Place<'_>) -> Result<Self::Of, String> {
        if text == "default" { Ok(None) } else { File::read(text, place).map(Some) }
    }

    fn write(path: &Self::Of) -> String {
        path.as_ref().map_or("default".to_owned(), File::write)
    }
}

/// A value of another kind, or none: `off`, `none`, or its zero.
pub(crate) struct Off<K>(PhantomData<K>);

impl<K: Kind> Kind for Off<K> {
    type Of = Option<K::Of>;

    fn read(text: &str, place: Place<'_>) -> Result<Self::Of, String> {
        match text {
            "off" | "none" => Ok(None),
            _ => K::read(text, place).map(|value| (!K::is_none(&value)).then_some(value)),
        }
    }

    fn write(value: &Self::Of) -> String {
        value.as_ref().map_or("off".to_owned(), K::write)
    }
}
