//! The emulator, kept within bounds: sizes that would take gigabytes are clamped, and strings that never end are
//! cut. What it does not keep itself (title, focus, keyboard flags) is kept here.

use crate::scanner::{Scanner, Spotted};
use crate::view::{Cursor, Modes, View};
use std::num::NonZeroU16;
use tenure_core::spec::Size;
use vt100::{Callbacks, MouseProtocolMode, Parser};

/// So many columns are more than any window has; wider ones are for output that must not wrap.
const MOST_COLS: u16 = 4096;
/// A cell takes 32 bytes, and there are two screens.
const MOST_CELLS: u32 = 512 << 10;
/// An OSC string longer than this is dropped: the emulator would keep all of it.
const MOST_STRING: u32 = 64 << 10;
/// What is shown of a title.
const MOST_TITLE: usize = 1024;
/// How deep the stack of keyboard flags gets.
const MOST_FLAGS: usize = 16;
/// U+FE0F, which makes the character before it wide. In the last column of a row that scrolls, vt100 0.18.1 leaves half
/// of one behind, and panics when something is written over it. Without it the character stays narrow.
const WIDENER: [u8; 3] = [0xef, 0xb8, 0x8f];

/// See the module.
pub(crate) struct Terminal {
    parser: Parser<Told>,
    scanner: Scanner,
    /// How much of a widener the output ends with; that is held back.
    held: usize,
}

/// What the emulator tells and does not keep.
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

    /// A terminal in the state that these bytes bring a new one into.
    pub(crate) fn restored(size: Size, state: &str) -> Self {
        let mut terminal = Self::new(size);
        terminal.parser.process(state.as_bytes());
        terminal
    }

    /// Takes output in, up to and including the next thing worth knowing; says how much that was.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> (usize, Option<Spotted>) {
        let (read, spotted) = self.scanner.next(bytes);
        self.process(&bytes[..read]);
        if self.scanner.string_len() > MOST_STRING {
            // Goes on in a string of a kind that nobody knows, so that its end is ignored too.
            self.renew();
            self.parser.process(b"\x1b]9999;");
        }
        (read, spotted)
    }

    /// Gives the emulator these bytes without the wideners, which may come in pieces.
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

    /// Some output is missing. What was on the screen is not any more; the modes are the best guess that there is,
    /// because programs that fill the screen set them once, at their start.
    pub(crate) fn gap(&mut self) {
        self.renew();
        self.scanner = Scanner::default();
        self.held = 0;
        self.parser.process(b"\x1b[m\x1b[?6l\x1b[r\x1b[2J\x1b[H");
    }

    /// Whether its state can be written down: the output stands between two sequences.
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

    /// The cursor. After the last column of a row it waits there for the next character.
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

    /// The same screen with a parser that stands between two sequences, and holds nothing.
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

/// Rows and columns that an emulator can be given.
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

/// There are five flags.
fn flags(param: u16) -> u8 {
    u8::try_from(param & 0x1f).unwrap_or(0)
}
