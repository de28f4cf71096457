//! Tracks the modes that output left switched on in a terminal that it was copied to, and returns the bytes that
//! switch them off. State that the output did not change is never touched.

use super::scanner::Scanner;
use std::collections::BTreeSet;
use std::fmt::Write;
use vte::{Params, Parser, Perform};

/// Private modes that are off by default, and that disturb the next user of the terminal: reverse video,
/// application keys, mouse and focus reports, bracketed paste, reports of size and colours, and the like.
const OFF_BY_DEFAULT: [u16; 19] =
    [1, 5, 9, 45, 66, 69, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 2031, 2048];
/// Private modes that are on by default: wrapping, and the cursor.
const ON_BY_DEFAULT: [u16; 2] = [7, 25];
/// Standard modes that are off by default: locked keys, insertion, line feeds that return.
const STANDARD: [u16; 3] = [2, 4, 20];
/// Origin mode, which moves the cursor when it is switched.
const ORIGIN: u16 = 6;
/// The modes of the alternate screen.
const ALTERNATE: [u16; 3] = [47, 1047, 1049];
/// Maximum length of an OSC string, of which the parser would keep everything; a longer one is dropped.
const MOST_STRING: u32 = 64 << 10;

/// Follows output on its way to a terminal. It must get all of it, in pieces cut anywhere.
#[derive(Default)]
pub struct ModeTracker {
    parser: Parser,
    /// Tells if the output ends within a sequence, and the length of a string.
    scanner: Scanner,
    left: Left,
}

impl std::fmt::Debug for ModeTracker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModeTracker").field("left", &self.left).finish_non_exhaustive()
    }
}

/// The state that differs from a terminal's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Left {
    /// Private modes that are on, and those that are off, contrary to the default.
    on: BTreeSet<u16>,
    off: BTreeSet<u16>,
    standard: BTreeSet<u16>,
    /// The mode by which the alternate screen was entered.
    alternate: Option<u16>,
    /// Kitty's keyboard flags: each screen has a stack of its own, the main one first.
    keyboard: [Keyboard; 2],
    features: BTreeSet<Feature>,
    /// Colours of text, background and cursor, by the number of their OSC.
    colours: BTreeSet<u16>,
}

/// State that has no mode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    /// The application keypad.
    Keypad,
    /// A scroll region.
    Region,
    /// Colours and styles of text.
    Attributes,
    /// Another character set as the first.
    Charset,
    /// Another character set than the first is in use.
    Shifted,
    CursorStyle,
    /// Keys with modifiers are reported in a long form.
    OtherKeys,
    /// Text is part of a link.
    Link,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Keyboard {
    pushed: u16,
    set: bool,
}

impl ModeTracker {
    /// Takes output.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (read, _) = self.scanner.next(bytes);
            self.parser.advance(&mut self.left, &bytes[..read]);
            if self.scanner.string_len() > MOST_STRING {
                // Continues within a string of an unknown kind, so that its end is ignored too.
                self.parser = Parser::new();
                self.parser.advance(&mut self.left, b"\x1b]9999;");
            }
            bytes = &bytes[read..];
        }
    }

    /// Returns true if the output shows the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.left.alternate.is_some()
    }

    /// Returns the bytes that switch off everything that the output left on; empty if there is nothing.
    pub fn undo(&self) -> String {
        let mut out = String::new();
        if !self.scanner.is_at_rest() {
            // Ends the sequence that the output was cut in.
            out.push('\x18');
        }
        self.left.undo(&mut out);
        out
    }
}

impl Left {
    // Writing to a String does not fail.
    fn undo(&self, out: &mut String) {
        // First, because otherwise the rest would not take effect.
        for mode in self.on.iter().rev().filter(|&&mode| mode != ORIGIN) {
            let _ = write!(out, "\x1b[?{mode}l");
        }
        for mode in &self.standard {
            let _ = write!(out, "\x1b[{mode}l");
        }
        if self.has(Feature::Keypad) {
            out.push_str("\x1b>");
        }
        self.keyboard[self.screen()].undo(out);
        self.undo_margins(out);
        if let Some(mode) = self.alternate {
            let _ = write!(out, "\x1b[?{mode}l");
            self.keyboard[0].undo(out);
        }
        let resets = [
            (Feature::OtherKeys, "\x1b[>4m"),
            (Feature::Charset, "\x1b(B"),
            (Feature::Shifted, "\x0f"),
            (Feature::Attributes, "\x1b[m"),
            (Feature::Link, "\x1b]8;;\x1b\\"),
            (Feature::CursorStyle, "\x1b[0 q"),
        ];
        resets.iter().filter(|(it, _)| self.has(*it)).for_each(|(_, reset)| out.push_str(reset));
        for colour in &self.colours {
            let _ = write!(out, "\x1b]{}\x1b\\", colour + 100);
        }
        for mode in &self.off {
            let _ = write!(out, "\x1b[?{mode}h");
        }
    }

    /// Resets the margins, which moves the cursor to the top: it is then put below everything shown, where the next
    /// line belongs. Leaving the alternate screen moves it again.
    fn undo_margins(&self, out: &mut String) {
        let origin = self.on.contains(&ORIGIN);
        if origin {
            let _ = write!(out, "\x1b[?{ORIGIN}l");
        }
        if self.has(Feature::Region) {
            out.push_str("\x1b[r");
        }
        if origin || self.has(Feature::Region) {
            out.push_str("\x1b[9999;1H");
        }
    }

    fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    fn set(&mut self, feature: Feature, left: bool) {
        note(&mut self.features, feature, left);
    }

    /// Returns the index of the shown screen.
    fn screen(&self) -> usize {
        usize::from(self.alternate.is_some())
    }

    fn private_mode(&mut self, mode: u16, on: bool) {
        if ALTERNATE.contains(&mode) {
            self.alternate = on.then_some(mode);
        } else if ON_BY_DEFAULT.contains(&mode) {
            note(&mut self.off, mode, !on);
        } else if mode == ORIGIN || OFF_BY_DEFAULT.contains(&mode) {
            note(&mut self.on, mode, on);
        }
    }

    fn keyboard(&mut self, how: u8, params: &Params) {
        let first = params.iter().next().and_then(|param| param.first()).copied().unwrap_or(0);
        let screen = self.screen();
        let keyboard = &mut self.keyboard[screen];
        match how {
            b'>' => keyboard.pushed = keyboard.pushed.saturating_add(1),
            b'<' => keyboard.pushed = keyboard.pushed.saturating_sub(first.max(1)),
            _ => keyboard.set = first != 0,
        }
    }

    /// Handles DECSTR, a reset that leaves mouse, focus and paste reports alone.
    fn soft_reset(&mut self) {
        self.on.retain(|mode| ![1, ORIGIN, 66].contains(mode));
        self.off.clear();
        self.standard.clear();
        self.features.retain(|it| matches!(it, Feature::CursorStyle | Feature::OtherKeys | Feature::Link));
    }
}

impl Keyboard {
    fn undo(self, out: &mut String) {
        if self.pushed > 0 {
            let _ = write!(out, "\x1b[<{}u", self.pushed);
        }
        if self.set {
            out.push_str("\x1b[=0u");
        }
    }
}

fn note<T: Ord>(all: &mut BTreeSet<T>, one: T, left: bool) {
    if left {
        all.insert(one);
    } else {
        all.remove(&one);
    }
}

impl Perform for Left {
    fn execute(&mut self, byte: u8) {
        match byte {
            0x0e => self.set(Feature::Shifted, true),
            0x0f => self.set(Feature::Shifted, false),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        match (intermediates, byte) {
            _ if ignore => {}
            ([], b'=') => self.set(Feature::Keypad, true),
            ([], b'>') => self.set(Feature::Keypad, false),
            ([], b'c') => *self = Self::default(),
            ([], b'n' | b'o') => self.set(Feature::Shifted, true),
            ([b'('], set) => self.set(Feature::Charset, set != b'B'),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        let numbers = || params.iter().filter_map(|param| param.first()).copied();
        let first = numbers().next().unwrap_or(0);
        match (intermediates, action) {
            _ if ignore => {}
            ([b'?'], 'h' | 'l') => numbers().for_each(|mode| self.private_mode(mode, action == 'h')),
            ([], 'h' | 'l') => numbers()
                .filter(|mode| STANDARD.contains(mode))
                .for_each(|mode| note(&mut self.standard, mode, action == 'h')),
            ([how @ (b'>' | b'<' | b'=')], 'u') => self.keyboard(*how, params),
            ([b'>'], 'm') if first == 4 => self.set(Feature::OtherKeys, numbers().nth(1).unwrap_or(0) != 0),
            ([], 'm') => self.set(Feature::Attributes, params.len() > 1 || first != 0),
            ([], 'r') => self.set(Feature::Region, params.len() > 1 || first != 0),
            ([b' '], 'q') => self.set(Feature::CursorStyle, first != 0),
            ([b'!'], 'p') => self.soft_reset(),
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        let number = params.first().and_then(|first| std::str::from_utf8(first).ok()?.parse::<u16>().ok());
        match (number, params) {
            (Some(8), [_, _, target, ..]) => self.set(Feature::Link, !target.is_empty()),
            (Some(_), [_, b"?", ..]) => {}
            (Some(colour @ 10..=12), [_, _, ..]) => note(&mut self.colours, colour, true),
            (Some(colour @ 110..=112), _) => note(&mut self.colours, colour - 100, false),
            _ => {}
        }
    }
}
