//! Programs whose one-letter options take a secret. A letter alone says nothing: `-p` is a password for one program
//! and a port, a path or a mere switch for most.

/// The place of the secret in an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// The rest of the word, or the next word.
    Whole,
    /// The rest of the word; alone, the option takes no value.
    Joined,
    /// The rest of the word or the next word, as `user:secret` (or `user%secret`).
    AfterUser,
}

/// The options of one program that take a secret, as they are spelled.
pub(super) type Options = &'static [(&'static str, Style)];

use Style::{AfterUser, Joined, Whole};

const MYSQL: Options = &[("-p", Joined)];
const PASSWORD: Options = &[("-p", Whole)];
const UPPER: Options = &[("-P", Whole)];
const USER: Options =
    &[("-u", AfterUser), ("-U", AfterUser), ("--user", AfterUser), ("--proxy-user", AfterUser)];

const PROGRAMS: [(&str, Options); 36] = [
    ("curl", USER),
    ("http", &[("-a", AfterUser)]),
    ("https", &[("-a", AfterUser)]),
    ("xh", &[("-a", AfterUser)]),
    ("sshpass", PASSWORD),
    ("mysql", MYSQL),
    ("mysqladmin", MYSQL),
    ("mysqlbinlog", MYSQL),
    ("mysqlcheck", MYSQL),
    ("mysqldump", MYSQL),
    ("mysqlimport", MYSQL),
    ("mysqlpump", MYSQL),
    ("mysqlshow", MYSQL),
    ("mysqlslap", MYSQL),
    ("mycli", MYSQL),
    ("mariadb", MYSQL),
    ("mariadb-admin", MYSQL),
    ("mariadb-backup", MYSQL),
    ("mariadb-check", MYSQL),
    ("mariadb-dump", MYSQL),
    ("mariadb-import", MYSQL),
    ("mariadb-show", MYSQL),
    ("mongo", PASSWORD),
    ("mongosh", PASSWORD),
    ("mongodump", PASSWORD),
    ("mongorestore", PASSWORD),
    // `docker login`, `podman login`, `oc login`, …
    ("login", PASSWORD),
    ("7z", MYSQL),
    ("unzip", UPPER),
    ("zip", UPPER),
    ("sqlcmd", UPPER),
    ("mosquitto_pub", UPPER),
    ("mosquitto_sub", UPPER),
    ("redis-cli", &[("-a", Whole)]),
    ("ldapsearch", &[("-w", Whole)]),
    ("smbclient", &[("-U", AfterUser)]),
];

/// Returns the options with secrets of the program that a word names, with its path or without.
pub(super) fn options_of(word: &str) -> Option<Options> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, options)| *options)
}

/// Finds the option that a word begins with, and the length of its spelling there: `-p`, `-pSECRET`, `--user`, or the
/// last letter of `-sSu`.
pub(super) fn option_in(options: Options, word: &str) -> Option<(Style, usize)> {
    let long = word.starts_with("--");
    for &(spelled, style) in options {
        let begins =
            if long { word == spelled } else { word.starts_with(spelled) && !spelled.starts_with("--") };
        if begins {
            return Some((style, spelled.len()));
        }
    }
    let letters = word.strip_prefix('-').filter(|letters| letters.len() > 1 && !long)?;
    let last = letters.chars().last().filter(|_| letters.chars().all(|c| c.is_ascii_alphabetic()))?;
    let found = options.iter().find(|(spelled, style)| *style != Joined && spelled[1..].chars().eq([last]));
    found.map(|(_, style)| (*style, word.len()))
}

/// Returns the length of the part of a value that is shown before its secret; `None` if it has no secret.
pub(super) fn shown_of(style: Style, value: &str) -> Option<usize> {
    match style {
        _ if value.is_empty() => None,
        Whole | Joined => Some(0),
        AfterUser => value.find([':', '%']).map(|at| at + 1).filter(|&at| at < value.len()),
    }
}

/// Returns true for names that are secret in the query of a URL, besides those that are secret everywhere.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(
        name.as_str(),
        "sig" | "signature" | "key" | "hmac" | "sas" | "x-amz-signature" | "x-goog-signature"
    )
}
