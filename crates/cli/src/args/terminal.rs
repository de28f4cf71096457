//! The command lines of the verbs for a run's terminal: `tenure attach`, `screen`, `send-keys`, `submit`, `paste` and `resize`.

use super::values::size;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use std::ffi::OsString;
use tenure_core::detach::{BadDetachKeys, DetachKeys};
use tenure_core::keys::{self, Key};
use tenure_core::spec::Size;

#[derive(Debug, Args)]
#[command(after_help = sections!(codes: usual_codes!("run"), examples: ["tenure resize 3f2a 200x50"]))]
pub(crate) struct ResizeArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Columns and rows, as in 120x30.
    #[arg(value_name = "COLSxROWS", value_parser = size)]
    pub(crate) size: Size,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "The run needs a terminal (--pty). If the run has ended, this is its last screen.",
    codes: usual_codes!("run"),
    examples: ["tenure screen 3f2a", "tenure screen 3f2a --json"],
))]
pub(crate) struct ScreenArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON: size, cursor, lines, title.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
A program that supports bracketed paste can tell the text from typing, and executes nothing before the end of the text.",
    codes: usual_codes!("run"),
    examples: [
        "tenure paste 3f2a 'several words'",
        "tenure paste 3f2a < notes.txt",
        "tenure paste --no-bracket 3f2a 'like typed text'",
    ],
))]
pub(crate) struct PasteArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Text to paste [default: read from stdin].
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<OsString>,
    /// Paste without brackets, even if the program enabled them.
    #[arg(long, conflicts_with = "bracket")]
    pub(crate) no_bracket: bool,
    /// Paste with brackets, even if the program did not enable them.
    #[arg(long, visible_alias = "bracketed")]
    pub(crate) bracket: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    codes: usual_codes!("run"),
    examples: ["tenure paste 3f2a 'what is left to do?' && tenure submit 3f2a"],
))]
pub(crate) struct SubmitArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
The run's terminal gets the size of this one. Several clients may be attached at once. Detaching leaves the run running.\n\n\
A run without a terminal works, too: its output is printed, and what you type goes to its stdin.",
    codes: concat!(
        "
  0      detached, or the command succeeded
  N      the command's own exit code
  1      the run cannot be attached to
  2      wrong usage
  4      no such run",
        run_codes!(),
    ),
    examples: ["tenure attach 3f2a", "tenure attach --detach-keys 'C-a d' 3f2a", "tenure attach --no-stdin 3f2a"],
))]
pub(crate) struct AttachArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Key sequence that detaches; `none` turns it off.
    #[arg(long, value_name = "SEQ", default_value = "C-p C-q", value_parser = detach)]
    pub(crate) detach_keys: DetachKeys,
    /// Watch only: type nothing, and keep the terminal's size.
    #[arg(long)]
    pub(crate) no_stdin: bool,
}

/// Parses the keys that detach.
fn detach(text: &str) -> Result<DetachKeys, BadDetachKeys> {
    DetachKeys::parse(text)
}

/// The arguments of `send-keys`, in the order of the command line, which a derived parser would not keep.
#[derive(Debug)]
pub(crate) struct SendKeysArgs {
    pub(crate) id: String,
    pub(crate) words: Vec<Word>,
}

/// An argument of `send-keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    Key { name: String, key: Key },
    Literal(String),
    Hex { digits: String, bytes: Vec<u8> },
}

impl Args for SendKeysArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let id = Arg::new("id").value_name("ID").required(true).help("Run id, or a unique beginning of it");
        let keys = Arg::new("keys").value_name("KEY").action(ArgAction::Append).num_args(0..);
        let keys = keys.value_parser(key).help("Key names, as in Enter, Up, F5, C-c, M-x, S-Tab, a");
        let literal = Arg::new("literal").long("literal").value_name("TEXT").action(ArgAction::Append);
        let literal =
            literal.value_parser(literal_text).allow_hyphen_values(true).help("Text to type as it is");
        let hex = Arg::new("hex").long("hex").value_name("BB").action(ArgAction::Append);
        let hex = hex.value_parser(hex_bytes).help("Bytes to send, in hexadecimal digits");
        command.arg(id).arg(keys).arg(literal).arg(hex).after_help(sections!(
            notes: "\
Keys, texts and bytes are typed in the order of the arguments. Keys have tmux's names or longer ones: Enter, Tab, Escape, Space, \
BSpace, Up, Down, Left, Right, Home, End, PgUp, PgDn, Insert, Delete, F1 to F12, and any character. C-, M- and S- add control, alt and \
shift.",
            codes: usual_codes!("run"),
            examples: [
                "tenure send-keys 3f2a C-c",
                "tenure send-keys 3f2a --literal 'make test' Enter",
                "tenure send-keys 3f2a Escape --literal ':wq' Enter",
                "tenure send-keys 3f2a --hex 1b5b41",
            ],
        ))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SendKeysArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found = Vec::new();
        for name in ["keys", "literal", "hex"] {
            let indices = matches.indices_of(name).into_iter().flatten();
            found.extend(indices.zip(matches.get_many::<Word>(name).into_iter().flatten().cloned()));
        }
        found.sort_by_key(|(index, _)| *index);
        if found.is_empty() {
            let why = "no keys to send: name at least one, as in `tenure send-keys ID C-c`";
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
