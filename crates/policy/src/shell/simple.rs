//! Recognises a line that is one simple command: assignments, a program's name, its arguments and redirections.
//! Unlike [`analyse`] it leaves expansions to the shell, so it proves nothing about the line's effect. It serves to
//! put `exec` before the name, so that no shell stays between a keeper and the command. A scanner and the parser of
//! bash must agree; a line that either does not know is not a simple command.
//!
//! [`analyse`]: super::analyse

use super::words::check_command;
use super::{MAX_BYTES, parse};

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program's name, without quotes.
    pub name: String,
    /// The position of the name, in bytes.
    pub at: usize,
    /// The variables that are assigned for the program alone.
    pub assigned: Vec<String>,
    /// True if there is a redirection.
    pub redirects: bool,
}

/// Parses a line as one simple command that names a program; `None` if it is anything else, or may be.
pub fn simple_command(line: &str) -> Option<SimpleCommand> {
    if line.len() > MAX_BYTES || line.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return None;
    }
    let simple = Scanner { line, at: 0 }.command()?;
    parse::is_one_command(line, simple.at).then_some(simple)
}

/// A word, as far as it is known without the shell.
struct Word {
    /// The position of its first byte.
    at: usize,
    /// The text, if the shell would expand nothing in it.
    literal: Option<String>,
    quoted: bool,
}

/// The line, and the position reached.
struct Scanner<'a> {
    line: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn command(mut self) -> Option<SimpleCommand> {
        let mut name: Option<Word> = None;
        let (mut assigned, mut redirects) = (Vec::new(), false);
        loop {
            self.skip_blanks();
            match self.peek() {
                None => break,
                Some('#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                // Only blanks may follow the end of the command.
                Some('\n' | ';') if name.is_some() => {
                    if !self.rest()[1..].trim_matches([' ', '\t', '\n']).is_empty() {
                        return None;
                    }
                    break;
                }
                Some('\n') => self.at += 1,
                Some('<' | '>') => {
                    self.redirection()?;
                    redirects = true;
                }
                Some(_) => {
                    let word = self.word()?;
                    let is_descriptor = self.line[word.at..self.at].bytes().all(|b| b.is_ascii_digit())
                        && matches!(self.peek(), Some('<' | '>'));
                    match (name.is_some() || is_descriptor, self.assigned(&word)) {
                        (true, _) => {}
                        (false, Some(variable)) => assigned.push(variable),
                        (false, None) => name = Some(word),
                    }
                }
            }
        }
        let Word { at, literal, quoted } = name?;
        let name = literal.filter(|text| check_command(text, quoted).is_ok())?;
        Some(SimpleCommand { name, at, assigned, redirects })
    }

    /// Returns the variable that a word before the name assigns.
    fn assigned(&self, word: &Word) -> Option<String> {
        let (name, _) = self.line[word.at..self.at].split_once('=')?;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && name.starts_with(|c: char| !c.is_ascii_digit())).then(|| name.to_owned())
    }

    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips blanks. A backslash before a newline is skipped together with it.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.rest().starts_with("\\\n") => self.at += 2,
                _ => return,
            }
        }
    }

    /// Takes an operator that means the same in every shell, and the word after it.
    fn redirection(&mut self) -> Option<()> {
        const OPERATORS: [&str; 6] = [">>", ">|", ">&", "<&", ">", "<"];
        let operator = OPERATORS.into_iter().find(|operator| self.rest().starts_with(operator))?;
        self.at += operator.len();
        self.skip_blanks();
        // Here-documents, process substitutions and other operators with the same beginning are refused.
        if matches!(self.peek()?, '<' | '>' | '(' | '&' | '|' | ';' | '\n' | '#') {
            return None;
        }
        self.word().map(drop)
    }

    /// Takes the word that begins here.
    fn word(&mut self) -> Option<Word> {
        let at = self.at;
        let (mut text, mut quoted, mut expands) = (String::new(), false, false);
        while let Some(c) = self.peek() {
            if matches!(c, ' ' | '\t' | '\n' | ';' | '<' | '>') {
                break;
            }
            self.take();
            match c {
                '&' | '|' | '(' | ')' | '`' => return None,
                '\\' => {
                    let escaped = self.take()?;
                    if escaped != '\n' {
                        text.push(escaped);
                        quoted = true;
                    }
                }
                '\'' => {
                    let length = self.rest().find('\'')?;
                    text.push_str(&self.rest()[..length]);
                    self.at += length + 1;
                    quoted = true;
                }
                '"' => {
                    expands |= self.double_quoted(&mut text)?;
                    quoted = true;
                }
                '$' => expands |= self.expansion(&mut text, false)?,
                '*' | '?' | '[' | ']' | '{' | '}' | '~' => {
                    text.push(c);
                    expands = true;
                }
                c => text.push(c),
            }
        }
        (self.at > at).then_some(Word { at, literal: Some(text).filter(|_| !expands), quoted })
    }

    /// Takes the rest of a double-quoted text; returns true if something in it expands.
    fn double_quoted(&mut self, text: &mut String) -> Option<bool> {
        let mut expands = false;
        loop {
            match self.take()? {
                '"' => return Some(expands),
                '`' => return None,
                '$' => expands |= self.expansion(text, true)?,
                '\\' => match self.take()? {
                    '\n' => {}
                    c @ ('$' | '`' | '"' | '\\') => text.push(c),
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
    }

    /// Takes an expansion after a `$`; returns true if it expands. Only forms whose end every shell finds at the
    /// same position are accepted.
    fn expansion(&mut self, text: &mut String, in_quotes: bool) -> Option<bool> {
        match self.peek() {
            Some('{') => {
                let length = self.rest().find('}')?;
                let inner = &self.rest()[1..length];
                if inner.contains(['{', '\'', '"', '`', '\\', '(', '\n']) {
                    return None;
                }
                self.at += length + 1;
            }
            Some('(') => self.substitution()?,
            Some('\'' | '"') if !in_quotes => return None,
            Some('[') => return None,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let rest = self.rest();
                let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                self.at += length.unwrap_or(rest.len());
            }
            Some(c) if c.is_ascii_digit() || "?$!#@*-".contains(c) => self.at += 1,
            _ => {
                text.push('$');
                return Some(false);
            }
        }
        Some(true)
    }

    /// Takes `(…)` after a `$`, with nothing in it that could hide a parenthesis.
    fn substitution(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        let rest = self.rest();
        for (at, c) in rest.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\'' | '"' | '`' | '\\' | '#' | '\n' => return None,
                _ => {}
            }
            if depth == 0 {
                let inner = &rest[..at];
                if inner.contains("<<") || inner.contains("case") {
                    return None;
                }
                self.at += at + 1;
                return Some(());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_what_the_shell_expands_is_one_simple_command() {
        for (line, name, at, assigned, redirects) in [
            ("sleep 100", "sleep", 0, &[][..], false),
            ("  sleep 100 ; ", "sleep", 2, &[], false),
            ("\nsleep 1 # done; ls\n\n", "sleep", 1, &[], false),
            ("'sl'\"ee\"\\p 'a b' \"c $d\"", "sleep", 0, &[], false),
            ("sleep $((50 + 50)) ${X:-1} $HOME $(echo 1; ls | wc) $? \"$(date)\"", "sleep", 0, &[], false),
            ("sleep *.txt ~/x {a,b} a=b", "sleep", 0, &[], false),
            ("sleep 100 > out 2>&1 < /dev/null >> $log", "sleep", 0, &[], true),
            ("> out 2>&1 sleep 1", "sleep", 11, &[], true),
            ("A=1 B=\"x $y\" sleep 1", "sleep", 13, &["A", "B"], false),
            ("2>&1 A= sleep 1", "sleep", 8, &["A"], true),
            ("./a\\ b \\\n  c", "./a b", 0, &[], false),
            ("sleep 5 $", "sleep", 0, &[], false),
        ] {
            let simple = simple_command(line).unwrap_or_else(|| panic!("{line:?}"));
            let assigned: Vec<String> = assigned.iter().map(|&it: &&str| it.to_owned()).collect();
            assert_eq!(simple, SimpleCommand { name: name.to_owned(), at, assigned, redirects }, "{line:?}");
        }
    }

    #[test]
    fn what_is_more_than_that_or_no_program_is_none() {
        for line in [
            "",
            "  ",
            "# x",
            ";",
            "A=1",
            "A=1 B=2",
            "> out",
            "sleep 1; ls",
            "sleep 1\nls",
            "sleep 1 &",
            "a && b",
            "a || b",
            "a | b",
            "! sleep 1",
            "time sleep 1",
            "if a; then b; fi",
            "for i in a; do b; done",
            "while :; do a; done",
            "{ sleep 1; }",
            "(sleep 1)",
            "f() { ls; }",
            "cd /",
            "exec sleep 1",
            "exit 3",
            ". ./x",
            "source x",
            "eval ls",
            "trap 'ls' EXIT",
            "export A=1",
            "wait",
            "read x",
            "command ls",
            "$CMD 1",
            "~/bin/x",
            "*/x",
            "\"$a\" b",
            "$(which ls) a",
            "`which ls`",
            "ls `pwd`",
            "ls $'a'",
            "ls $\"a\"",
            "cat <<E\nhi\nE",
            "cat <<< hi",
            "cat <(ls)",
            "ls >(cat)",
            "ls &> f",
            "ls 3<> f",
            "A=(1 2) ls",
            "a[1]=2 ls",
            "A+=1 ls",
            "ls $[1+1]",
            "ls $(echo ')')",
            "ls $(case a in a) b;; esac)",
            "ls ${x:-'a'}",
            "ls ${x:-${y}}",
            "ls 'a",
            "ls \"a",
            "ls \\",
            "ls )",
            "ls >",
            "ls > ; x",
            "ls;; x",
            "ls | ",
            "[ a = b ]x;y",
            "[[ a = b ]]",
            "coproc ls",
            "ls \u{7}",
            "-x",
            "%1",
            "!x",
        ] {
            assert_eq!(simple_command(line), None, "{line:?}");
        }
    }
}
