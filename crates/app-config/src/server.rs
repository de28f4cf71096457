//! A stdio server in a configuration file, with the bytes that an edit needs.

use crate::Span;

/// A server that is started by a command.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// The keys that lead to it, for people.
    pub(crate) name: String,
    /// The program, decoded.
    pub(crate) program: String,
    /// The program's literal, with its quotes.
    pub(crate) command: Span,
    /// The arguments; `None` if the file names none.
    pub(crate) args: Option<Array>,
    /// The text to write between the command and an array of arguments that is added after it.
    pub(crate) separator: String,
}

/// An array of arguments.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    /// The array, with its brackets.
    pub(crate) span: Span,
    pub(crate) items: Vec<Item>,
}

/// An argument.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) span: Span,
    /// The decoded text; `None` for anything but a string.
    pub(crate) text: Option<String>,
}

impl Server {
    /// Returns true if the program is Tenure itself, which needs no guard.
    pub(crate) fn is_tenure(&self) -> bool {
        let file = self.program.rsplit(['/', '\\']).next().unwrap_or_default();
        file.strip_suffix(".exe").unwrap_or(file) == "tenure"
    }

    /// Returns the position of the guarded program among the arguments; `None` if the server is not guarded.
    pub(crate) fn guarded(&self) -> Option<usize> {
        let items = &self.args.as_ref().filter(|_| self.is_tenure())?.items;
        let is = |item: &Item, word: &str| item.text.as_deref() == Some(word);
        items.first().filter(|item| is(item, "guard"))?;
        let program = 1 + items.iter().position(|item| is(item, "--"))?;
        items.get(program).and_then(|item| item.text.as_ref()).map(|_| program)
    }
}

/// Returns the text from the beginning of a key's line to the key, if it is the line's first.
pub(crate) fn indentation(text: &str, key: usize) -> Option<&str> {
    let line = text[..key].rfind('\n').map_or(0, |end| end + 1);
    let lead = &text[line..key];
    lead.chars().all(|c| c == ' ' || c == '\t').then_some(lead)
}

/// Returns the line ending of a text.
pub(crate) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
