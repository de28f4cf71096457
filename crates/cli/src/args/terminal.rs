//! The verbs that work on a run's terminal.

use super::values::size;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use std::ffi::OsString;
use tenure_core::detach::{BadDetachKeys, DetachKeys};
use tenure_core::keys::{self, Key};
use tenure_core::spec::Size;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tenure resize 3f2 200x50")]
pub(crate) struct ResizeArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Columns and rows.
    #[arg(value_name = "COLSxROWS", value_parser = size)]
    pub(crate) size: Size,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The run needs a terminal (`--pty`). It may have ended: then this is what it left.

Examples:
  tenure screen 3f2
  tenure screen 3f2 --json")]
pub(crate) struct ScreenArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON: size, cursor, lines, title.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A program that asked for it is told that this is no typing, so that nothing is carried out before the end.

Examples:
  tenure paste 3f2 'several words'
  tenure paste 3f2 < notes.txt
  tenure paste --no-bracket 3f2 'as if it was typed'")]
pub(crate) struct PasteArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// What to paste; standard input if it is left out.
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<OsString>,
    /// Without brackets, even if the program asked for them.
    #[arg(long, conflicts_with = "bracket")]
    pub(crate) no_bracket: bool,
    /// With brackets, even if the program did not ask for them.
    #[arg(long, visible_alias = "bracketed")]
    pub(crate) bracket: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tenure paste 3f2 'what is left to do?' && tenure submit 3f2")]
pub(crate) struct SubmitArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The run's terminal gets the size of this one. Several may sit at it at once.
With --no-stdin nothing is typed and the run's terminal keeps its size: looking on changes nothing.
On a run without a terminal this prints what it writes, and sends it what is typed.
Exit code: 0 after detaching; otherwise that of `tenure run`.

Examples:
  tenure attach 3f2
  tenure attach --detach-keys 'C-a d' 3f2
  tenure attach --no-stdin 3f2")]
pub(crate) struct AttachArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The keys that leave the run alone, one after the other; `none` for none.
    #[arg(long, value_name = "SEQ", default_value = "C-p C-q", value_parser = detach)]
    pub(crate) detach_keys: DetachKeys,
    /// Only look on.
    #[arg(long)]
    pub(crate) no_stdin: bool,
}

fn detach(text: &str) -> Result<DetachKeys, BadDetachKeys> {
    DetachKeys::parse(text)
}

/// The words of `send-keys` in the order in which they were written, which no derived parser keeps.
#[derive(Debug)]
pub(crate) struct SendKeysArgs {
    pub(crate) id: String,
    pub(crate) words: Vec<Word>,
}

/// One thing to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    Key { name: String, key: Key },
    Literal(String),
    Hex { digits: String, bytes: Vec<u8> },
}

impl Args for SendKeysArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let id =
            Arg::new("id").value_name("ID").required(true).help("The run; any unique beginning of its id");
        let keys = Arg::new("keys").value_name("KEY").action(ArgAction::Append).num_args(0..);
        let keys = keys.value_parser(key).help("Keys by name: Enter, Up, F5, C-c, M-x, S-Tab, a");
        let literal = Arg::new("literal").long("literal").value_name("TEXT").action(ArgAction::Append);
        let literal = literal.value_parser(literal_text).allow_hyphen_values(true).help("Text as it is");
        let hex = Arg::new("hex").long("hex").value_name("BB").action(ArgAction::Append);
        let hex = hex.value_parser(hex_bytes).help("Bytes in hexadecimal digits");
        command.arg(id).arg(keys).arg(literal).arg(hex).after_help(
            "\
Everything is typed in the order in which it is written. Keys have the names that tmux gives them, or longer
ones: Enter, Tab, Escape, Space, BSpace, Up, Down, Left, Right, Home, End, PgUp, PgDn, Insert, Delete, F1 to F12,
and any character; C-, M- and S- hold control, alt and shift.

Examples:
  tenure send-keys 3f2 C-c
  tenure send-keys 3f2 --literal 'make test' Enter
  tenure send-keys 3f2 Escape --literal ':wq' Enter
  tenure send-keys 3f2 --hex 1b5b41",
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SendKeysArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found = Vec::new();
        for name in ["keys", "literal", "hex"] {
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(places.zip(matches.get_many::<Word>(name).into_iter().flatten().cloned()));
        }
        found.sort_by_key(|(place, _)| *place);
        if found.is_empty() {
            let why = "no keys: write which to type, as in `tenure send-keys ID C-c`";
            return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, why));
        }
        let id = matches.get_one::<String>("id").cloned().unwrap_or_default();
        Ok(Self { id, words: found.into_iter().map(|(_, word)| word).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn key(text: &str) -> Result<Word, keys::UnknownKey> {
    keys::parse(text).map(|key| Word::Key { name: text.to_owned(), key })
}

#[expect(clippy::unnecessary_wraps, reason = "a parser of the command line may fail")]
fn literal_text(text: &str) -> Result<Word, String> {
    Ok(Word::Literal(text.to_owned()))
}

fn hex_bytes(text: &str) -> Result<Word, keys::BadHex> {
    keys::hex(text).map(|bytes| Word::Hex { digits: text.to_owned(), bytes })
}
