//! The terminal's answers to queries of a program: they claim no more than this emulator can do.

use super::scanner::{Colour, Query};
use super::terminal::Terminal;
use vt100::{MouseProtocolEncoding, MouseProtocolMode};

/// The size of a cell in pixels, for programs that insist on one.
const CELL: (u32, u32) = (8, 16);

/// Returns the bytes to write to the program's input.
pub(crate) fn answer(query: Query, terminal: &Terminal) -> String {
    let size = terminal.size();
    let (cols, rows) = (u32::from(size.cols), u32::from(size.rows));
    match query {
        Query::Health => "\x1b[0n".to_owned(),
        Query::Cursor { private } => {
            let cursor = terminal.cursor();
            let mark = if private { "?" } else { "" };
            format!("\x1b[{mark}{};{}R", cursor.row + 1, cursor.col + 1)
        }
        // A VT220 with colours.
        Query::Attributes => "\x1b[?62;22c".to_owned(),
        // A version so old that no program expects more than the basics.
        Query::Make => "\x1b[>0;10;0c".to_owned(),
        Query::Name => format!("\x1bP>|tenure({})\x1b\\", env!("CARGO_PKG_VERSION")),
        Query::Mode { mode, private } => {
            let (mark, state) = if private { ("?", private_mode(mode, terminal)) } else { ("", 0) };
            format!("\x1b[{mark}{mode};{state}$y")
        }
        Query::Keyboard => format!("\x1b[?{}u", terminal.modes().keyboard),
        Query::Size { what } => format!("\x1b[{};{rows};{cols}t", what - 10),
        Query::Pixels => format!("\x1b[4;{};{}t", rows * CELL.1, cols * CELL.0),
        Query::CellPixels => format!("\x1b[6;{};{}t", CELL.1, CELL.0),
        Query::Colour { which, bell } => {
            let end = if bell { "\x07" } else { "\x1b\\" };
            let (number, colour) = match which {
                Colour::Foreground => (10, "e5e5/e5e5/e5e5"),
                Colour::Background => (11, "0000/0000/0000"),
                Colour::Cursor => (12, "e5e5/e5e5/e5e5"),
            };
            format!("\x1b]{number};rgb:{colour}{end}")
        }
    }
}

/// Returns 1 for set, 2 for reset, 0 for unknown.
fn private_mode(mode: u16, terminal: &Terminal) -> u8 {
    let screen = terminal.screen();
    let mouse = |mode: MouseProtocolMode| screen.mouse_protocol_mode() == mode;
    let encoding = |encoding: MouseProtocolEncoding| screen.mouse_protocol_encoding() == encoding;
    let set = match mode {
        1 => screen.application_cursor(),
        9 => mouse(MouseProtocolMode::Press),
        25 => !screen.hide_cursor(),
        47 | 1049 => screen.alternate_screen(),
        1000 => mouse(MouseProtocolMode::PressRelease),
        1002 => mouse(MouseProtocolMode::ButtonMotion),
        1003 => mouse(MouseProtocolMode::AnyMotion),
        1004 => terminal.told().focus,
        1005 => encoding(MouseProtocolEncoding::Utf8),
        1006 => encoding(MouseProtocolEncoding::Sgr),
        2004 => screen.bracketed_paste(),
        _ => return 0,
    };
    if set { 1 } else { 2 }
}
