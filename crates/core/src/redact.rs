//! Replaces secrets with `***` in the commands and texts that people, records, events and notices show. The
//! executed command is never changed, and nothing here decides anything. The scan is one pass from left to right;
//! redacting twice changes nothing more. A secret is recognised by its name, its position or its shape; one without
//! any of these stays visible.

mod names;
mod programs;
mod shapes;
#[cfg(test)]
mod tests;

use names::{Name, is_name_char};
use programs::{Options, Style};

const HIDDEN: &str = "***";

/// Redacts a command whose words are known: a secret is the rest of its word, whatever it contains, or the next
/// word.
pub fn command(words: &[String]) -> Vec<String> {
    let mut due: Option<Name> = None;
    let mut line_follows = false;
    let mut options: Option<Options> = None;
    let mut style_due: Option<Style> = None;
    let mut shown = Vec::with_capacity(words.len());
    for word in words {
        let name = due.take();
        let style = style_due.take().filter(|_| !looks_like_an_option(word));
        let option = options.and_then(|options| programs::option_in(options, word));
        let of_program = match (style, option) {
            (Some(style), _) => hidden_value(style, word).or_else(|| Some(word.clone())),
            (None, Some((style, len))) if len < word.len() => {
                hidden_value(style, &word[len..]).map(|value| format!("{}{value}", &word[..len]))
            }
            (None, Some((style, _))) => {
                style_due = Some(style).filter(|style| *style != Style::Joined);
                None
            }
            (None, None) => None,
        };
        options = programs::options_of(word).or(options);
        if let Some(value) = of_program {
            shown.push(value);
            line_follows = false;
            continue;
        }
        let hidden = name.filter(|_| !looks_like_an_option(word));
        shown.push(match hidden {
            Some(name) if name.shows(word) => word.clone(),
            Some(_) => HIDDEN.to_owned(),
            None if line_follows => text(word),
            None => whole_word(word).unwrap_or_else(|| text(word)),
        });
        due = option_name(word).filter(|name| name.is_secret() && !name.is_switch());
        line_follows = takes_a_line(word);
    }
    shown
}

/// Returns a value with its secret hidden, if it has one.
fn hidden_value(style: Style, value: &str) -> Option<String> {
    programs::shown_of(style, value).map(|shown| format!("{}{HIDDEN}", &value[..shown]))
}

/// Redacts a text, which may be a line for the shell.
pub fn text(text: &str) -> String {
    let shown = String::with_capacity(text.len());
    let mut scan = Scan { text, at: 0, quote: None, options: None, shown };
    while scan.at < text.len() {
        scan.step();
    }
    scan.shown
}

/// Redacts `NAME=…`, `--name=…` or `Name: …` as one word of a command: all the rest is the value.
fn whole_word(word: &str) -> Option<String> {
    let end = word.find(|c| !is_name_char(c)).unwrap_or(word.len());
    let (name, rest) = (Name::of(&word[..end]), &word[end..]);
    if let Some(value) = rest.strip_prefix('=') {
        let hide = name.is_secret() && !name.shows(value);
        return hide.then(|| format!("{}={HIDDEN}", &word[..end]));
    }
    let value = rest.strip_prefix(':')?;
    let hide =
        name.is_header() && !value.starts_with(':') && !value.trim().is_empty() && !name.shows(value.trim());
    hide.then(|| format!("{}: {}{HIDDEN}", &word[..end], scheme(value.trim_start())))
}

/// Returns the name of a word that is only an option.
fn option_name(word: &str) -> Option<Name> {
    let option = word.starts_with('-') && word.chars().all(is_name_char);
    option.then(|| Name::of(word))
}

fn looks_like_an_option(word: &str) -> bool {
    match word.strip_prefix('-') {
        Some(rest) => {
            let long = rest
                .strip_prefix('-')
                .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
            long || (rest.len() == 1 && rest.starts_with(|c: char| c.is_ascii_alphabetic()))
        }
        None => false,
    }
}

/// Returns true if the next word is a program's text, as after `sh -c` and `bash -lc`.
fn takes_a_line(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.len() <= 3 && letters.ends_with('c') && letters.chars().all(|c| c.is_ascii_lowercase())
}

/// Returns the scheme of an `Authorization` header with its blank: it is not secret, and useful to know.
fn scheme(value: &str) -> &str {
    let end = value.find(' ').map_or(0, |blank| blank + 1);
    let known = ["Bearer ", "Basic ", "Token ", "Digest ", "Negotiate "];
    if known.iter().any(|it| it.eq_ignore_ascii_case(&value[..end])) { &value[..end] } else { "" }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// The quote that is open at this position.
    quote: Option<char>,
    /// Options with secrets of the program that this part of the line starts.
    options: Option<Options>,
    shown: String,
}

/// A value in a text, with its quotes. A value whose quote is never closed goes to the end: better too much than a
/// part of the secret.
struct Extent {
    /// The opening quote, if any.
    open: &'static str,
    closed: bool,
    len: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self) {
        let rest = self.rest();
        if let Some(len) = shapes::private_key(rest) {
            self.shown.push_str(HIDDEN);
            self.at += len;
        } else if rest.starts_with("://") {
            self.authority();
        } else if rest.starts_with(is_name_char) {
            self.name();
        } else {
            self.pass();
        }
    }

    /// Shows one character.
    fn pass(&mut self) {
        let Some(c) = self.rest().chars().next() else { return };
        if c == '"' || c == '\'' {
            match self.quote {
                None => self.quote = Some(c),
                Some(open) if open == c => self.quote = None,
                Some(_) => {}
            }
        }
        if matches!(c, ';' | '|' | '&' | '\n') {
            self.options = None;
        }
        self.shown.push(c);
        self.at += c.len_utf8();
    }

    fn show(&mut self, len: usize) {
        self.shown.push_str(&self.text[self.at..self.at + len]);
        self.at += len;
    }

    /// Scans a run of name characters, and the value that may follow it.
    fn name(&mut self) {
        let rest = self.rest();
        let run = &rest[..rest.find(|c| !is_name_char(c)).unwrap_or(rest.len())];
        if self.program_option(run) {
            return;
        }
        let in_query = self.shown.ends_with(['?', '&']);
        self.shown.push_str(&shapes::tokens(run));
        self.at += run.len();
        let name = Name::of(run);
        if self.rest().starts_with(char::is_whitespace) {
            self.options = programs::options_of(run).or(self.options);
        }
        let is_secret = name.is_secret() || (in_query && programs::is_secret_parameter(run));
        if self.rest().starts_with('=') && is_secret {
            self.show(1);
            self.value(&name, &[]);
        } else if self.closes_a_quoted_name() && name.is_secret() {
            self.entry(&name);
        } else if self.rest().starts_with(':') && !self.rest().starts_with("::") && name.is_header() {
            self.header(&name);
        } else if run.starts_with('-') && name.is_secret() && !name.is_switch() {
            let blank = blanks(self.rest());
            let next = &self.rest()[blank..];
            let word = &next[..next.find(char::is_whitespace).unwrap_or(next.len())];
            if blank > 0 && !looks_like_an_option(word) {
                self.show(blank);
                self.value(&name, &[]);
            }
        }
    }

    /// Shows an option of the started program and hides its secret; returns false if the word is no such option.
    fn program_option(&mut self, run: &str) -> bool {
        let begins = self.shown.ends_with(|c: char| c.is_whitespace() || c == '"' || c == '\'');
        let option = self.options.filter(|_| begins && run.starts_with('-'));
        let Some((style, len)) = option.and_then(|options| programs::option_in(options, run)) else {
            return false;
        };
        let after = &self.rest()[len..];
        let blank = blanks(after);
        let next = &after[blank..];
        let word = &next[..next.find(char::is_whitespace).unwrap_or(next.len())];
        let apart = blank > 0 || after.is_empty();
        if apart && (style == Style::Joined || looks_like_an_option(word)) {
            return false;
        }
        self.show(len + blank);
        let value = self.rest();
        let Extent { open, closed, len } = self.extent(&[]);
        let inner = open.len()..len - if closed && len > open.len() { open.len() } else { 0 };
        if let Some(shown) = programs::shown_of(style, value.get(inner.clone()).unwrap_or_default()) {
            self.shown.push_str(&value[..inner.start + shown]);
            self.shown.push_str(HIDDEN);
            self.shown.push_str(&value[inner.end..len]);
            self.at += len;
        }
        true
    }

    /// Returns true if a quote and a colon follow, as in JSON; within a quoted line, the quote may be escaped.
    fn closes_a_quoted_name(&self) -> bool {
        let rest = self.rest();
        let rest = rest.strip_prefix('\\').unwrap_or(rest);
        rest.strip_prefix(['"', '\'']).is_some_and(|rest| rest.trim_start_matches(' ').starts_with(':'))
    }

    /// Redacts `"name": "value"`.
    fn entry(&mut self, name: &Name) {
        while !self.rest().starts_with(':') {
            self.pass();
        }
        let blank = blanks(&self.rest()[1..]);
        self.show(1 + blank);
        self.value(name, &[',', '}', ']']);
    }

    /// Redacts `Name: value`. The value of an authorization header may have several words, up to the quote or the
    /// line's end.
    fn header(&mut self, name: &Name) {
        let blank = blanks(&self.rest()[1..]);
        self.show(1 + blank);
        if !name.takes_the_line() {
            return self.value(name, &[]);
        }
        let rest = self.rest();
        let quote = self.quote;
        let len = rest.find(|c| matches!(c, '\n' | '\r') || Some(c) == quote).unwrap_or(rest.len());
        if !rest[..len].trim().is_empty() {
            self.shown.push_str(scheme(&rest[..len]));
            self.shown.push_str(HIDDEN);
        }
        self.at += len;
    }

    /// Hides the value that begins here, unless the name says that such a value is no secret.
    fn value(&mut self, name: &Name, ends: &[char]) {
        let rest = self.rest();
        let Extent { open, closed, len } = self.extent(ends);
        if len == 0 || name.shows(rest[..len].trim_matches(['"', '\'', '\\'])) {
            return;
        }
        self.shown.push_str(open);
        self.shown.push_str(HIDDEN);
        self.shown.push_str(if closed { open } else { "" });
        self.at += len;
    }

    /// Returns the extent of the value that begins here.
    fn extent(&self, ends: &[char]) -> Extent {
        let rest = self.rest();
        for open in ["\\\"", "\\'"] {
            if let Some(inner) = rest.strip_prefix(open) {
                let close = inner.find(open);
                let len = close.map_or(rest.len(), |at| at + 2 * open.len());
                return Extent { open, closed: close.is_some(), len };
            }
        }
        let open = match rest.chars().next() {
            Some('"') if self.quote != Some('"') => "\"",
            Some('\'') if self.quote != Some('\'') => "'",
            Some(_) | None => "",
        };
        let (mut within, mut escaped) = (None, false);
        for (at, c) in rest.char_indices() {
            let stops = c.is_whitespace() || ";&|<>()`".contains(c) || ends.contains(&c);
            match within {
                _ if escaped => escaped = false,
                // A single quoted text has no escapes and ends at the next quote.
                Some('\'') if c != '\'' => {}
                Some(_) | None if c == '\\' => escaped = true,
                Some(quote) if c == quote => within = None,
                None if stops || Some(c) == self.quote => return Extent { open, closed: true, len: at },
                None if c == '"' || c == '\'' => within = Some(c),
                Some(_) | None => {}
            }
        }
        Extent { open, closed: within.is_none(), len: rest.len() }
    }

    /// Redacts the user and password between `://` and the host.
    fn authority(&mut self) {
        let scheme = self.shown.rsplit(|c| !is_name_char(c)).next().unwrap_or_default();
        let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        self.show(3);
        let rest = self.rest();
        let end = rest.find(|c: char| "/?#\"'<>`\\".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
        let Some(at) = rest[..end].rfind('@') else { return };
        match rest[..at].split_once(':') {
            Some((user, _)) if user.len() < LONG_USER => {
                self.shown.push_str(user);
                self.shown.push(':');
                self.shown.push_str(HIDDEN);
            }
            Some(_) => self.shown.push_str(HIDDEN),
            None if web && at >= LONG_USER => self.shown.push_str(HIDDEN),
            None => self.shown.push_str(&rest[..at]),
        }
        self.at += at;
    }
}

/// Length from which a user's name in an address is taken for a token.
const LONG_USER: usize = 16;

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}
