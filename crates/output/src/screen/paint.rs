//! Encodes a terminal's state as bytes that bring another terminal into it: a new emulator (a checkpoint), or the
//! one of a person who attaches. The emulator reveals neither its saved cursor nor its scroll region; both are
//! found by sending a copy of it there.

use super::terminal::Terminal;
use std::fmt::Write;
use vt100::{Parser, Screen};

/// Bytes that put a person's terminal into a known state before it is painted. They do not leave the alternate
/// screen, because that would move the cursor of a terminal that is not in it.
const LEAVE: &str = "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\
                         \x1b[?2004l\x1b[?2026l\x1b[?1l\x1b>\x1b[?6l\x1b[?7h\x1b[?25h\x1b[=0u\x1b[>4m\x1b[4l\x1b[r\
                         \x1b(B\x0f\x1b[m\x1b[0 q";

/// The terminal whose state is to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// A new emulator of the same size.
    Emulator,
    /// The terminal of a person.
    Person,
}

/// Encodes the state, see the module.
pub(crate) fn paint(terminal: &Terminal, to: For) -> String {
    let screen = terminal.screen();
    let mut out = String::new();
    if to == For::Person {
        out.push_str(LEAVE);
    }
    if screen.alternate_screen() {
        let main = after(screen, "\x1b[?47l");
        let below = Grid::of(main.screen());
        below.paint(&mut out, main.screen());
        match to {
            For::Emulator => out.push_str("\x1b[?47h"),
            For::Person => {
                // The switch itself saves the cursor, which is restored where it was saved.
                let _ = write!(out, "{}\x1b[?1049h", below.saved);
            }
        }
    }
    Grid::of(screen).paint(&mut out, screen);
    out.push_str(&screen.input_mode_formatted());
    out.push_str(if screen.hide_cursor() { "\x1b[?25l" } else { "\x1b[?25h" });
    let told = terminal.told();
    if told.focus {
        out.push_str("\x1b[?1004h");
    }
    for flags in &told.keyboard {
        let _ = write!(out, "\x1b[>{flags}u");
    }
    if !told.title.is_empty() {
        let _ = write!(out, "\x1b]2;{}\x1b\\", told.title);
    }
    out
}

/// Returns a copy of a screen after these bytes.
fn after(screen: &Screen, bytes: &str) -> Parser {
    let (rows, cols) = screen.size();
    let mut copy = Parser::new(rows, cols, 0);
    *copy.screen_mut() = screen.clone();
    copy.process(bytes.as_bytes());
    copy
}

/// Facts about the shown grid that must be found out by trial.
struct Grid {
    /// The bytes that go to the saved cursor, with the saved attributes.
    saved: String,
    /// The scroll region, if it is not the whole screen.
    region: Option<(u16, u16)>,
    /// True if rows are counted from the region's top.
    origin: bool,
}

impl Grid {
    fn of(screen: &Screen) -> Self {
        let restored = after(screen, "\x1b8");
        let (row, col) = restored.screen().cursor_position();
        let attributes = restored.screen().attributes_formatted();
        let saved = format!("\x1b[{};{}H{attributes}", row + 1, col.min(screen.size().1.get() - 1) + 1);
        let mut probe = after(screen, "\x1b[?6h");
        let (top, _) = probe.screen().cursor_position();
        probe.process(b"\x1b[65535B");
        let (bottom, _) = probe.screen().cursor_position();
        let whole = (top, bottom) == (0, screen.size().0.get() - 1);
        let origin = after(screen, "\x1b[2;3r\x1b[H").screen().cursor_position().0 == 1;
        Self { saved, region: (!whole).then_some((top, bottom)), origin }
    }

    fn paint(&self, out: &mut String, screen: &Screen) {
        out.push_str(&screen.contents_formatted());
        let _ = write!(out, "{}\x1b7\x1b[m", self.saved);
        if let Some((top, bottom)) = self.region {
            let _ = write!(out, "\x1b[{};{}r", top + 1, bottom + 1);
        }
        let (row, col) = screen.cursor_position();
        let cursor = screen.cursor_state_formatted();
        if self.origin {
            let top = self.region.map_or(0, |(top, _)| top);
            let _ = write!(out, "\x1b[?6h\x1b[{};{}H", row.saturating_sub(top) + 1, col + 1);
        } else if cursor.contains("\x1b7") {
            // That sequence would save the cursor on its way.
            let _ = write!(out, "\x1b[{};{}H", row + 1, col + 1);
        } else {
            out.push_str(&cursor);
        }
        out.push_str(&screen.attributes_formatted());
    }
}
