//! The second reader: tree-sitter's parse of the line with its grammar of bash, flattened to commands, joins and
//! words. It gets only lines that the lexer accepted. An error in the tree, or a node that is not in [`role`],
//! fails the reading.

use super::Join;
use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree, TreeCursor};

/// Size of the parts in which the parser gets a line, in bytes.
const CHUNK: usize = 1024;
/// Maximum number of requests for each part, and of all requests beyond that. The parser looks ahead for the end of
/// some tokens, again and again: after every `==`, to the end of the line.
const ASKS_PER_CHUNK: usize = 8;
const ASKS: usize = 64;

/// The parser's reading.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) commands: Vec<Vec<Word>>,
    pub(super) joins: Vec<Join>,
    /// The length of the line.
    pub(super) end: usize,
}

/// A word without its quotes, and its position.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) at: usize,
    pub(super) text: String,
}

/// The parser failed, or found something other than a plain command, near this byte.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) at: usize,
}

/// The role of a node.
enum Role {
    /// A container, whose children matter.
    Holds,
    /// A command, whose children matter.
    Command,
    Word,
    Joins(Join),
    Nothing,
}

pub(super) fn read(line: &str) -> Result<Reading, Unread> {
    let tree = tree(line)?;
    let mut reader =
        Reader { line, reading: Reading { end: line.len(), ..Reading::default() }, join: None, ended: 0 };
    let mut cursor = tree.walk();
    // The kinds of the nodes around the cursor. Some trees are thousands deep, so this is not recursive.
    let mut around = vec![""];
    let mut first = true;
    loop {
        let node = cursor.node();
        let role =
            role(around[around.len() - 1], node.kind(), first).ok_or(Unread { at: node.start_byte() })?;
        let holds = matches!(role, Role::Holds | Role::Command);
        reader.take(&role, node, around.len() == 2)?;
        if holds && cursor.goto_first_child() {
            around.push(node.kind());
            first = true;
            continue;
        }
        first = false;
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(reader.reading);
            }
            around.pop();
        }
    }
}

/// Returns true if a line is one command whose name begins at this byte, with redirections or without.
pub(super) fn is_one_command(line: &str, name_at: usize) -> bool {
    let Ok(tree) = tree(line) else { return false };
    let root = tree.root_node();
    let mut statement = None;
    for child in root.children(&mut root.walk()) {
        match child.kind() {
            "comment" | ";" | "\n" => {}
            "command" | "redirected_statement" if statement.is_none() => statement = Some(child),
            _ => return false,
        }
    }
    let command = statement.and_then(|statement| match statement.kind() {
        "command" => Some(statement),
        _ => statement.child_by_field_name("body").filter(|body| body.kind() == "command"),
    });
    let name = command.and_then(|command| command.child_by_field_name("name"));
    name.is_some_and(|name| name.start_byte() == name_at)
}

/// Parses `line`; a tree with errors fails.
fn tree(line: &str) -> Result<Tree, Unread> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Unread { at: 0 })?;
    let mut at = 0;
    // Stop at the first error, because recovery takes long and is of no use here.
    let mut go_on = |state: &ParseState| {
        at = state.current_byte_offset();
        if state.has_error() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let mut asks = Some(ASKS + line.len().div_ceil(CHUNK) * ASKS_PER_CHUNK);
    let mut text = |at: usize, _| {
        asks = asks.and_then(|asks| asks.checked_sub(1));
        let end = if asks.is_some() { line.len().min(at + CHUNK) } else { at };
        &line.as_bytes()[at..end]
    };
    let tree = parser.parse_with_options(&mut text, None, Some(options));
    let tree = tree.filter(|_| asks.is_some()).ok_or(Unread { at })?;
    let root = tree.root_node();
    if root.has_error() {
        return Err(Unread { at: first_error(root) });
    }
    Ok(tree)
}

fn first_error(root: Node) -> usize {
    let mut node = root;
    while let Some(child) = node.children(&mut node.walk()).find(Node::has_error) {
        node = child;
    }
    node.start_byte()
}

/// Returns the role of a node of one kind inside one of another; `None` if no plain command has it there.
fn role(parent: &str, kind: &str, first: bool) -> Option<Role> {
    Some(match (parent, kind) {
        // Grouping is not compared: the grammar reads `a | b | c && d` as `a | { b | c && d; }`.
        ("", "program") | ("program" | "list" | "pipeline", "list" | "pipeline") => Role::Holds,
        ("program" | "list" | "pipeline", "command" | "test_command") => Role::Command,
        ("program" | "list" | "pipeline", "comment") => Role::Nothing,
        ("program", ";") => Role::Joins(Join::Then),
        ("list", "&&") => Role::Joins(Join::And),
        ("list", "||") => Role::Joins(Join::Or),
        ("pipeline", "|") => Role::Joins(Join::Pipe),
        ("command", "command_name") if first => Role::Holds,
        ("command" | "command_name", "word" | "number" | "string" | "raw_string" | "concatenation") => {
            Role::Word
        }
        ("command", "==") => Role::Word,
        // Between brackets the grammar reads expressions, but the shell reads plain words.
        ("test_command" | "unary_expression" | "binary_expression", inner) => match inner {
            "unary_expression" | "binary_expression" => Role::Holds,
            "[" | "]" | "=" | "==" | "!=" | "!" | "test_operator" | "extglob_pattern" => Role::Word,
            inner => return is_word(inner).then_some(Role::Word),
        },
        _ => return None,
    })
}

fn is_word(kind: &str) -> bool {
    matches!(kind, "word" | "number" | "string" | "raw_string" | "concatenation")
}

struct Reader<'a> {
    line: &'a str,
    reading: Reading,
    /// The operator between the last command and the next, once it was seen.
    join: Option<Join>,
    /// The position where the last statement ends.
    ended: usize,
}

impl Reader<'_> {
    /// Takes a node; `top` is true if it is not inside another one.
    fn take(&mut self, role: &Role, node: Node, top: bool) -> Result<(), Unread> {
        let at = node.start_byte();
        if top && matches!(role, Role::Holds | Role::Command) {
            // The tree has no nodes for newlines.
            if self.join.is_none()
                && self.line[self.ended..at].contains('\n')
                && !self.reading.commands.is_empty()
            {
                self.join = Some(Join::Newline);
            }
            self.ended = node.end_byte();
        }
        match role {
            Role::Holds | Role::Nothing => {}
            Role::Command => {
                match self.join.take() {
                    Some(join) => self.reading.joins.push(join),
                    None if self.reading.commands.is_empty() => {}
                    None => return Err(Unread { at }),
                }
                self.reading.commands.push(Vec::new());
            }
            Role::Joins(join) => {
                if self.join.replace(*join).is_some() {
                    return Err(Unread { at });
                }
            }
            Role::Word => {
                let text = word(self.line, node).ok_or(Unread { at })?;
                self.reading.commands.last_mut().ok_or(Unread { at })?.push(Word { at, text });
            }
        }
        Ok(())
    }
}

/// Returns the text of a word.
fn word(line: &str, node: Node) -> Option<String> {
    let mut text = String::new();
    if node.kind() != "concatenation" {
        piece(line, node, &mut node.walk(), &mut text)?;
        return Some(text);
    }
    let mut end = node.start_byte();
    for child in node.children(&mut node.walk()) {
        if child.start_byte() != end {
            return None;
        }
        piece(line, child, &mut child.walk(), &mut text)?;
        end = child.end_byte();
    }
    (end == node.end_byte()).then_some(text)
}

/// Appends the text of one piece of a word, which has a single kind of quoting.
fn piece<'a>(line: &str, node: Node<'a>, cursor: &mut TreeCursor<'a>, text: &mut String) -> Option<()> {
    let written = &line[node.byte_range()];
    match node.kind() {
        "raw_string" => text.push_str(written.strip_prefix('\'')?.strip_suffix('\'')?),
        "string" => {
            if !node.children(cursor).all(|child| matches!(child.kind(), "\"" | "string_content")) {
                return None;
            }
            let inner = written.strip_prefix('"')?.strip_suffix('"')?;
            unescape(inner, |c| matches!(c, '$' | '`' | '"' | '\\' | '\n'), text);
        }
        "concatenation" => return None,
        _ => unescape(written, |_| true, text),
    }
    Some(())
}

/// Removes the backslashes before `special` characters.
fn unescape(written: &str, special: fn(char) -> bool, text: &mut String) {
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        let escaped = if c == '\\' { rest.clone().next().filter(|&next| special(next)) } else { None };
        match escaped {
            None => text.push(c),
            Some(escaped) => {
                rest.next();
                // The escaped newline disappears together with its backslash.
                text.extend((escaped != '\n').then_some(escaped));
            }
        }
    }
}
