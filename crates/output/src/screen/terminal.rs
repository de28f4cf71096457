//! The emulator within bounds: sizes that would take gigabytes are clamped, and unterminated strings are cut. State
//! that the emulator does not keep (title, focus, keyboard flags) is kept here.

use super::scanner::{Scanner, Spotted};
use super::view::{Cursor, Modes, View};
use std::num::NonZeroU16;
use tenure_core::spec::Size;
use vt100::{Callbacks, MouseProtocolMode, Parser};

/// Maximum number of columns, more than any window has; wider sizes are meant for output that must not wrap.
const MOST_COLS: u16 = 4096;
/// Maximum number of cells. A cell takes 32 bytes, and there are two screens.
const MOST_CELLS: u32 = 512 << 10;
/// Maximum length of an OSC string, of which the emulator would keep everything; a longer one is dropped.
const MOST_STRING: u32 = 64 << 10;
/// Maximum length of a shown title.
const MOST_TITLE: usize = 1024;
/// Maximum depth of the stack of keyboard flags.
const MOST_FLAGS: usize = 16;
/// U+FE0F, which makes the character before it wide. In the last column of a row that scrolls, vt100 0.18.1 leaves
/// half of such a character behind, and panics when it is overwritten. Without U+FE0F the character stays narrow.
const WIDENER: [u8; 3] = [0xef, 0xb8, 0x8f];

/// The terminal, see the module.
pub(crate) struct Terminal {
    parser: Parser<Told>,
    scanner: Scanner,
    /// The number of bytes of an unfinished widener at the end of the output, which are held back.
    held: usize,
}

/// State that the emulator reports and does not keep.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) title: String,
    pub(crate) focus: bool,
    /// Kitty's keyboard flags, the current ones last.
    pub(crate) keyboard: Vec<u8>,
}

impl Terminal {
    pub(crate) fn new(size: Size) -> Self {
        Self { parser: parser(size, Told::default()), scanner: Scanner::default(), held: 0 }
    }

    /// Makes a terminal in the state that these bytes produce in a new one.
    pub(crate) fn restored(size: Size, state: &str) -> Self {
        let mut terminal = Self::new(size);
        terminal.parser.process(state.as_bytes());
        terminal
    }

    /// Takes output, up to and including the next recognised sequence; returns its length.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> (usize, Option<Spotted>) {
        let (read, spotted) = self.scanner.next(bytes);
        self.process(&bytes[..read]);
        if self.scanner.string_len() > MOST_STRING {
            // Continues within a string of an unknown kind, so that its end is ignored too.
            self.renew();
            self.parser.process(b"\x1b]9999;");
        }
        (read, spotted)
    }

    /// Passes bytes to the emulator without the wideners, which may come in pieces.
    fn process(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            if self.held == 0 {
                let plain = bytes.iter().position(|&byte| byte == WIDENER[0]).unwrap_or(bytes.len());
                self.parser.process(&bytes[..plain]);
                self.held = usize::from(plain < bytes.len());
                bytes = bytes.get(plain + 1..).unwrap_or_default();
            } else if byte == WIDENER[self.held] {
                self.held = (self.held + 1) % WIDENER.len();
                bytes = &bytes[1..];
            } else {
                self.parser.process(&WIDENER[..std::mem::take(&mut self.held)]);
            }
        }
    }

    /// Handles missing output: clears the screen and keeps the modes. The modes are the best guess, because
    /// full-screen programs set them once, at their start.
    pub(crate) fn gap(&mut self) {
        self.renew();
        self.scanner = Scanner::default();
        self.held = 0;
        self.parser.process(b"\x1b[m\x1b[?6l\x1b[r\x1b[2J\x1b[H");
    }

    /// Returns true if its state can be encoded: the output ends between two sequences.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.held == 0 && self.scanner.is_at_rest()
    }

    pub(crate) fn resize(&mut self, size: Size) {
        let (rows, cols) = dimensions(size);
        self.parser.set_size(rows, cols);
    }

    pub(crate) fn size(&self) -> Size {
        let (rows, cols) = self.parser.screen().size();
        Size { cols: cols.get(), rows: rows.get() }
    }

    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    pub(crate) fn told(&self) -> &Told {
        self.parser.callbacks()
    }

    /// Returns the cursor. After the last column of a row it waits there for the next character.
    pub(crate) fn cursor(&self) -> Cursor {
        let (row, col) = self.screen().cursor_position();
        let last = self.size().cols - 1;
        Cursor { row, col: col.min(last), visible: !self.screen().hide_cursor() }
    }

    pub(crate) fn view(&self) -> View {
        let size = self.size();
        let line = |row: String| row.trim_end_matches(' ').to_owned();
        View {
            size,
            cursor: self.cursor(),
            lines: self.screen().rows(0, size.cols).map(line).collect(),
            title: self.told().title.clone(),
            alternate_screen: self.screen().alternate_screen(),
        }
    }

    pub(crate) fn modes(&self) -> Modes {
        let screen = self.screen();
        Modes {
            application_cursor: screen.application_cursor(),
            application_keypad: screen.application_keypad(),
            bracketed_paste: screen.bracketed_paste(),
            mouse: screen.mouse_protocol_mode() != MouseProtocolMode::None,
            focus: self.told().focus,
            keyboard: self.told().keyboard.last().copied().unwrap_or(0),
        }
    }

    /// Replaces the parser with one that is between two sequences and holds nothing; the screen stays.
    fn renew(&mut self) {
        let screen = self.parser.screen().clone();
        let told = std::mem::take(self.parser.callbacks_mut());
        self.parser = parser(self.size(), told);
        *self.parser.screen_mut() = screen;
    }
}

fn parser(size: Size, told: Told) -> Parser<Told> {
    let (rows, cols) = dimensions(size);
    Parser::new_with_callbacks(rows, cols, 0, told)
}

/// Returns the rows and columns for an emulator, clamped.
pub(crate) fn dimensions(size: Size) -> (NonZeroU16, NonZeroU16) {
    let cols = size.cols.clamp(1, MOST_COLS);
    let most_rows = u16::try_from(MOST_CELLS / u32::from(cols)).unwrap_or(u16::MAX);
    let at_least_one = |number: u16| NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN);
    (at_least_one(size.rows.min(most_rows)), at_least_one(cols))
}

impl Callbacks for Told {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        let text = String::from_utf8_lossy(title);
        self.title = text.chars().filter(|c| !c.is_control()).take(MOST_TITLE).collect();
    }

    fn unhandled_csi(
        &mut self,
        _: &mut vt100::Screen,
        i1: Option<u8>,
        i2: Option<u8>,
        params: &[&[u16]],
        c: char,
    ) {
        let param = |n: usize| params.get(n).and_then(|param| param.first()).copied().unwrap_or(0);
        match (i1, i2, c) {
            (Some(b'?'), None, 'h' | 'l') if params.contains(&&[1004][..]) => self.focus = c == 'h',
            (Some(b'>'), None, 'u') => self.push_keyboard(flags(param(0))),
            (Some(b'<'), None, 'u') => {
                let left = self.keyboard.len().saturating_sub(usize::from(param(0).max(1)));
                self.keyboard.truncate(left);
            }
            (Some(b'='), None, 'u') => {
                let now = self.keyboard.pop().unwrap_or(0);
                let given = flags(param(0));
                self.push_keyboard(match param(1) {
                    2 => now | given,
                    3 => now & !given,
                    _ => given,
                });
            }
            _ => {}
        }
    }
}

impl Told {
    fn push_keyboard(&mut self, flags: u8) {
        if self.keyboard.len() == MOST_FLAGS {
            self.keyboard.remove(0);
        }
        self.keyboard.push(flags);
    }
}

/// Reduces a parameter to the five flags.
fn flags(param: u16) -> u8 {
    u8::try_from(param & 0x1f).unwrap_or(0)
}
