//! Names that promise a secret: of options, variables, headers and JSON entries. A name is judged by its parts
//! (`GITHUB_TOKEN`, `accessToken`, `--api-key`), so that a tokenizer, an author and a keyboard are not mistaken for
//! secrets.

/// Returns true for the characters of names, and of most tokens.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// A name by its parts, in lower case.
pub(super) struct Name {
    parts: Vec<String>,
}

/// Parts after which a `key` is a secret.
const KEY_OF: [&str; 13] = [
    "access",
    "account",
    "api",
    "auth",
    "client",
    "encryption",
    "license",
    "master",
    "private",
    "secret",
    "signing",
    "storage",
    "subscription",
];
/// Last parts of names that tell the place or kind of a secret, not the secret itself.
const ABOUT: [&str; 27] = [
    "cmd", "command", "dir", "endpoint", "env", "file", "helper", "host", "jar", "method", "mode", "name",
    "path", "policy", "port", "prompt", "provider", "realm", "scheme", "server", "sock", "socket", "stdin",
    "store", "type", "uri", "url",
];
/// Parts of names whose value may be a mere number.
const QUANTITY: [&str; 24] = [
    "age", "budget", "count", "expires", "expiry", "interval", "len", "length", "limit", "max", "min", "num",
    "number", "per", "rate", "retries", "size", "timeout", "tokens", "total", "ttl", "usage", "used",
    "window",
];
/// First parts of names that are switches without a value.
const SWITCH: [&str; 10] =
    ["allow", "disable", "enable", "has", "is", "no", "require", "show", "skip", "without"];

impl Name {
    pub(super) fn of(text: &str) -> Self {
        let mut parts: Vec<String> = Vec::new();
        let mut before = '-';
        for c in text.chars() {
            let begins =
                !before.is_ascii_alphanumeric() || (before.is_ascii_lowercase() && c.is_ascii_uppercase());
            match parts.last_mut() {
                Some(_) | None if !c.is_ascii_alphanumeric() => {}
                Some(part) if !begins => part.push(c.to_ascii_lowercase()),
                Some(_) | None => parts.push(c.to_ascii_lowercase().to_string()),
            }
            before = c;
        }
        Self { parts }
    }

    pub(super) fn is_secret(&self) -> bool {
        let about = self.parts.last().is_some_and(|last| ABOUT.contains(&last.as_str()));
        let pair = |two: &[String]| two[1] == "key" && KEY_OF.contains(&two[0].as_str());
        !about && (self.parts.windows(2).any(pair) || self.parts.iter().any(|part| self.is_secret_part(part)))
    }

    fn is_secret_part(&self, part: &str) -> bool {
        part.contains("secret")
            || part.contains("passw")
            || part.contains("passphrase")
            || part.starts_with("credential")
            || part.ends_with("token")
            || part.ends_with("apikey")
            || part.ends_with("accesskey")
            || part.ends_with("privatekey")
            || matches!(part, "tokens" | "auth" | "authorization" | "bearer" | "jwt")
            // Alone, these mean a working directory and a round.
            || (matches!(part, "pass" | "pwd") && self.parts.len() > 1)
    }

    /// Returns true if `name: value` is a header or a setting, and not a sentence about a token.
    pub(super) fn is_header(&self) -> bool {
        let alone = self.parts.len() == 1;
        self.takes_the_line()
            || (self.is_secret()
                && (!alone || self.parts[0].contains("passw") || self.parts[0].ends_with("apikey")))
    }

    /// Returns true if the value may have several words.
    pub(super) fn takes_the_line(&self) -> bool {
        self.parts.last().is_some_and(|last| last.ends_with("authorization") || last == "cookie")
    }

    /// Returns true if no value follows the name.
    pub(super) fn is_switch(&self) -> bool {
        self.parts.first().is_some_and(|first| SWITCH.contains(&first.as_str()))
    }

    /// Returns true if this value is no secret although the name promises one: a number of tokens.
    pub(super) fn shows(&self, value: &str) -> bool {
        let number = value.strip_suffix(['k', 'K', 'm', 'M']).unwrap_or(value);
        let numeric = number.starts_with(|c: char| c.is_ascii_digit())
            && number.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_' | ','));
        numeric && self.parts.iter().any(|part| QUANTITY.contains(&part.as_str()))
    }
}
