//! Secrets known by their shape alone: the tokens that issuers made recognisable on purpose, and private keys.

use super::HIDDEN;
use std::borrow::Cow;

/// The prefix of a kind of token, and the minimum number of characters after it.
const TOKENS: [(&str, usize); 22] = [
    ("github_pat_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxa-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xoxe-", 10),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("npm_", 36),
    ("hf_", 30),
    ("AIza", 35),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ya29.", 20),
];

/// Maximum length of a run that is searched for the marks of a token. A run may begin anew at every dash, so no
/// search may go to its end.
const MAX_SEARCH: usize = 128;

/// Returns a run of name characters with its token hidden, from the token's beginning to the run's end.
pub(super) fn tokens(run: &str) -> Cow<'_, str> {
    let mut before = '-';
    for (at, c) in run.char_indices() {
        if !before.is_ascii_alphanumeric() && is_token(&run[at..]) {
            return Cow::Owned(format!("{}{HIDDEN}", &run[..at]));
        }
        before = c;
    }
    Cow::Borrowed(run)
}

fn is_token(text: &str) -> bool {
    let known = TOKENS.iter().any(|(start, least)| {
        text.strip_prefix(start)
            .is_some_and(|rest| rest.len() >= *least && rest.is_ascii() && has_no_gap(rest, *least))
    });
    known || is_api_key(text) || is_jwt(text)
}

/// Returns true if the first `least` characters have no dot, as the names of files and hosts have.
fn has_no_gap(rest: &str, least: usize) -> bool {
    rest.bytes().take(least).all(|b| b != b'.')
}

/// Recognises `sk-` keys. Words also begin with `sk-`, but a key is long and has a digit.
fn is_api_key(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("sk-") else { return false };
    let body = &rest.as_bytes()[..rest.len().min(MAX_SEARCH)];
    let body = body.split(|&b| b == b'.').next().unwrap_or_default();
    body.len() >= 20 && body.iter().any(u8::is_ascii_digit)
}

/// Recognises JSON Web Tokens: `eyJ` is base64 for the brace and quote that a JSON object begins with.
fn is_jwt(text: &str) -> bool {
    if !text.starts_with("eyJ") {
        return false;
    }
    let head = text.as_bytes().iter().take(MAX_SEARCH).position(|&b| b == b'.').unwrap_or_default();
    head >= 12 && text.bytes().skip(head + 1).take(4).filter(|&b| b != b'.').count() == 4
}

/// Returns the length of the private key at the beginning of the text. A key that is cut off goes to the end.
pub(super) fn private_key(text: &str) -> Option<usize> {
    const HEAD: &str = "PRIVATE KEY-----";
    const FOOT: &str = "-----END ";
    const LONGEST_KIND: usize = 32;
    let kind = text.strip_prefix("-----BEGIN ")?;
    let label = kind.as_bytes().get(..kind.len().min(LONGEST_KIND + HEAD.len()))?;
    let head = label.windows(HEAD.len()).position(|it| it == HEAD.as_bytes())?;
    let plain = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ';
    if !label[..head].iter().all(plain) {
        return None;
    }
    let Some(foot) = text.find(FOOT) else { return Some(text.len()) };
    let close = foot + FOOT.len();
    Some(text[close..].find("-----").map_or(text.len(), |at| close + at + 5))
}
