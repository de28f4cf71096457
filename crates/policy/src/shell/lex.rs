//! The single pass over a line. It reads each character once, keeps no stack, and refuses every character that it
//! does not know to be literal. The rules are those of POSIX.1-2017, XCU 2.2 and 2.3; where bash expands more, the
//! line is refused.

use super::words::check_command;
use super::{Analysis, Join, MAX_SEGMENTS, Segment, Unanalysable, Why};

/// The word that is being read.
#[derive(Debug, Default)]
struct Word {
    text: String,
    /// True if any part of it was quoted.
    quoted: bool,
    /// The position of its first byte.
    at: usize,
}

/// The line, and its analysis so far.
pub(super) struct Lexer<'a> {
    line: &'a str,
    /// The next position, in bytes.
    at: usize,
    word: Option<Word>,
    argv: Vec<String>,
    segments: Vec<Segment>,
    joins: Vec<Join>,
    /// An operator that still needs a command after it, and its position.
    wants: Option<(&'static str, usize)>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        let (segments, joins) = (Vec::new(), Vec::new());
        Self { line, at: 0, word: None, argv: Vec::new(), segments, joins, wants: None }
    }

    pub(super) fn analysis(mut self) -> Result<Analysis, Unanalysable> {
        for (at, c) in self.line.char_indices() {
            check_character(c).map_err(|why| Unanalysable { at, why })?;
        }
        while let Some(c) = self.peek() {
            let at = self.at;
            self.at += c.len_utf8();
            self.take(c, at)?;
        }
        self.end_word()?;
        self.end_command();
        if let Some((operator, at)) = self.wants {
            return Err(Unanalysable { at, why: Why::MissingCommand(operator) });
        }
        // An operator after the last command joins nothing.
        self.joins.truncate(self.segments.len().saturating_sub(1));
        if self.segments.is_empty() {
            return Err(Unanalysable { at: self.line.len(), why: Why::Empty });
        }
        Ok(Analysis { segments: self.segments, joins: self.joins })
    }

    /// Takes the unquoted character `c`, which is at `at`.
    fn take(&mut self, c: char, at: usize) -> Result<(), Unanalysable> {
        let refuse = |why| Err(Unanalysable { at, why });
        match c {
            ' ' | '\t' => self.end_word(),
            '\n' => self.newline(),
            ';' | '|' | '&' => self.operator(c, at),
            '#' if self.word.is_none() => {
                self.at = self.line[self.at..].find('\n').map_or(self.line.len(), |end| self.at + end);
                Ok(())
            }
            '\'' => self.single_quoted(at),
            '"' => self.double_quoted(at),
            '\\' => self.backslash(at),
            '`' => refuse(Why::Substitution),
            '$' => refuse(self.dollar()),
            '<' | '>' => refuse(Why::Redirection),
            '(' | ')' => refuse(Why::Parenthesis),
            '[' if self.word.is_none() && self.ends_here() => self.push(c, at),
            '[' if self.word.is_none() && self.peek() == Some('[') => refuse(Why::Reserved("[[".to_owned())),
            '*' | '?' | '[' => refuse(Why::Pattern(c)),
            '{' => self.brace(at),
            '~' if self.tilde_expands() => refuse(Why::Tilde),
            '!' if !(self.ends_here() || self.peek() == Some('=')) => refuse(Why::Bang),
            c if looks_like_another(c) => refuse(Why::LookAlike(c)),
            c => self.push(c, at),
        }
    }

    /// Returns the next character. A backslash before a newline is skipped together with it.
    fn peek(&mut self) -> Option<char> {
        while self.line[self.at..].starts_with("\\\n") {
            self.at += 2;
        }
        self.line[self.at..].chars().next()
    }

    /// Returns true if a word ends at this position.
    fn ends_here(&mut self) -> bool {
        self.peek().is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&'))
    }

    fn word(&mut self, at: usize) -> &mut Word {
        self.word.get_or_insert_with(|| Word { at, ..Word::default() })
    }

    // Always `Ok`, so that it fits into one table with functions that may fail.
    #[expect(clippy::unnecessary_wraps)]
    fn push(&mut self, c: char, at: usize) -> Result<(), Unanalysable> {
        self.word(at).text.push(c);
        Ok(())
    }

    fn dollar(&mut self) -> Why {
        let substitutes = self.line[self.at..].starts_with('(') && !self.line[self.at..].starts_with("((");
        if substitutes { Why::Substitution } else { Why::Expansion }
    }

    /// Takes a brace. `{}` at the end of a word is literal in every shell.
    fn brace(&mut self, at: usize) -> Result<(), Unanalysable> {
        if self.word.is_none() && self.ends_here() {
            return Err(Unanalysable { at, why: Why::Reserved("{".to_owned()) });
        }
        if self.peek() != Some('}') {
            return Err(Unanalysable { at, why: Why::Brace });
        }
        self.at += 1;
        if !self.ends_here() {
            return Err(Unanalysable { at, why: Why::Brace });
        }
        self.word(at).text.push_str("{}");
        Ok(())
    }

    /// Returns true if bash expands a tilde here: also after `=` and `:`, in words that look like assignments.
    fn tilde_expands(&self) -> bool {
        self.word.as_ref().is_none_or(|word| word.text.is_empty() || word.text.ends_with(['=', ':']))
    }

    fn single_quoted(&mut self, at: usize) -> Result<(), Unanalysable> {
        let rest = &self.line[self.at..];
        let Some(end) = rest.find('\'') else {
            return Err(Unanalysable { at, why: Why::OpenQuote("single") });
        };
        let word = self.word.get_or_insert_with(|| Word { at, ..Word::default() });
        word.quoted = true;
        word.text.push_str(&rest[..end]);
        self.at += end + 1;
        Ok(())
    }

    fn double_quoted(&mut self, at: usize) -> Result<(), Unanalysable> {
        self.word(at).quoted = true;
        loop {
            let here = self.at;
            let Some(c) = self.peek() else {
                return Err(Unanalysable { at, why: Why::OpenQuote("double") });
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(()),
                '`' => return Err(Unanalysable { at: here, why: Why::Substitution }),
                '$' => {
                    let why = self.dollar();
                    return Err(Unanalysable { at: here, why });
                }
                '\\' => {
                    // Before any other character, the backslash is literal. One before a newline was skipped by
                    // `peek`.
                    let escaped = self.line[self.at..].chars().next().filter(|c| "$`\"\\".contains(*c));
                    self.at += escaped.map_or(0, char::len_utf8);
                    self.word(at).text.push(escaped.unwrap_or('\\'));
                }
                c => self.word(at).text.push(c),
            }
        }
    }

    fn backslash(&mut self, at: usize) -> Result<(), Unanalysable> {
        let Some(c) = self.line[self.at..].chars().next() else {
            return Err(Unanalysable { at, why: Why::LastBackslash });
        };
        self.at += c.len_utf8();
        let word = self.word(at);
        word.quoted = true;
        word.text.push(c);
        Ok(())
    }

    fn newline(&mut self) -> Result<(), Unanalysable> {
        self.end_word()?;
        if self.end_command() {
            self.joins.push(Join::Newline);
        }
        Ok(())
    }

    fn operator(&mut self, c: char, at: usize) -> Result<(), Unanalysable> {
        self.end_word()?;
        let refuse = |why| Err(Unanalysable { at, why });
        let next = self.peek();
        let (join, text) = match (c, next) {
            (';', Some(';')) => return refuse(Why::DoubleSemicolon(";;")),
            (';', Some('&')) => return refuse(Why::DoubleSemicolon(";&")),
            (';', _) => (Join::Then, ";"),
            ('|', Some('|')) => (Join::Or, "||"),
            ('|', Some('&')) => return refuse(Why::PipeBoth),
            ('|', _) => (Join::Pipe, "|"),
            (_, Some('&')) => (Join::And, "&&"),
            (_, Some('>')) => return refuse(Why::Redirection),
            (_, _) => return refuse(Why::Background),
        };
        self.at += text.len() - 1;
        if !self.end_command() {
            return refuse(Why::MissingCommand(text));
        }
        self.joins.push(join);
        match join {
            Join::Then | Join::Newline => {}
            Join::And | Join::Or | Join::Pipe => self.wants = Some((text, at)),
        }
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), Unanalysable> {
        let Some(word) = self.word.take() else { return Ok(()) };
        if self.argv.is_empty() {
            let refuse = |why| Unanalysable { at: word.at, why };
            check_command(&word.text, word.quoted).map_err(refuse)?;
            if self.segments.len() == MAX_SEGMENTS {
                return Err(refuse(Why::TooManyCommands));
            }
            self.wants = None;
        }
        self.argv.push(word.text);
        Ok(())
    }

    /// Ends the command; returns true if there was one.
    fn end_command(&mut self) -> bool {
        let argv = std::mem::take(&mut self.argv);
        let any = !argv.is_empty();
        if any {
            self.segments.push(Segment { argv });
        }
        any
    }
}

/// Refuses control characters, except newline and tab, which are harmless to a terminal.
fn check_character(c: char) -> Result<(), Why> {
    match c {
        '\n' | '\t' => Ok(()),
        c if c.is_control() => Err(Why::Control(u32::from(c))),
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => Err(Why::Invisible(u32::from(c))),
        _ => Ok(()),
    }
}

/// Returns true for characters that look like blanks, quotes or operators, but are not.
fn looks_like_another(c: char) -> bool {
    let quote = matches!(c, '‘'..='‟' | '′'..='‷' | '«' | '»' | '‹' | '›' | '´' | '＂' | '＇' | '｀');
    let operator = matches!(c, '；' | '｜' | '＆' | '＜' | '＞' | '＄' | '\u{37e}');
    quote || operator || (c.is_whitespace() && !c.is_ascii())
}
