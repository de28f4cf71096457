//! Parses escape sequences just far enough to recognise the few that matter outside an emulator: queries to the
//! terminal, and entering and leaving the alternate screen. Its position is always that of the emulator's own
//! parser.

/// A sequence that was found in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spotted {
    /// The program queries its terminal.
    Query(Query),
    /// The program enters (or leaves) the alternate screen.
    Alternate(bool),
}

/// A query of a program to its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// The terminal's status (DSR 5).
    Health,
    /// The cursor's position (DSR 6; the answer may be marked as private).
    Cursor {
        /// True if the query has a `?`.
        private: bool,
    },
    /// The terminal's attributes (DA1).
    Attributes,
    /// The terminal's make and version (DA2).
    Make,
    /// The terminal's name (XTVERSION).
    Name,
    /// The state of a mode (DECRQM).
    Mode {
        /// The mode.
        mode: u16,
        /// True for one of DEC's private modes.
        private: bool,
    },
    /// The flags for reporting keys (kitty's keyboard protocol).
    Keyboard,
    /// The number of rows and columns (`18t`; `19t` means the whole display).
    Size {
        /// 18 or 19.
        what: u16,
    },
    /// The size of the window in pixels (`14t`).
    Pixels,
    /// The size of a cell in pixels (`16t`).
    CellPixels,
    /// A colour (OSC 10, 11, 12).
    Colour {
        /// The colour.
        which: Colour,
        /// True if the query ended with BEL, as the answer then must.
        bell: bool,
    },
}

/// A colour that can be queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// The colour of the text.
    Foreground,
    /// The colour behind the text.
    Background,
    /// The colour of the cursor.
    Cursor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    EscapeIntermediate,
    Csi,
    CsiIgnore,
    Osc(Osc),
    Dcs,
    /// SOS, PM or APC.
    Text,
}

/// The progress of an OSC string towards a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Osc {
    Number,
    Semicolon,
    Asked,
    Other,
}

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;

/// The scanner, see the module. It must get all of the output, in pieces cut anywhere.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    state: State,
    /// `<`, `=`, `>` or `?` before the parameters.
    private: Option<u8>,
    intermediate: Option<u8>,
    /// The parameter that is being read, and the first one.
    param: u16,
    first: u16,
    params: u8,
    alternate: bool,
    /// The length of the OSC string so far.
    string: u32,
}

impl Scanner {
    /// Returns true if the output up to here ends between two sequences.
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Ground
    }

    /// Returns true if these bytes contain a query, or the end of one.
    pub fn sees_query(&mut self, mut bytes: &[u8]) -> bool {
        let mut seen = false;
        while !bytes.is_empty() {
            let (read, spotted) = self.next(bytes);
            seen |= matches!(spotted, Some(Spotted::Query(_)));
            bytes = &bytes[read..];
        }
        seen
    }

    /// Reads to the end of the next recognised sequence, or of the bytes; returns the number of bytes read.
    pub fn next(&mut self, bytes: &[u8]) -> (usize, Option<Spotted>) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.state == State::Ground {
                let Some(escape) = rest.iter().position(|&byte| byte == ESC) else { break };
                at += escape + 1;
                self.state = State::Escape;
                continue;
            }
            at += 1;
            if let Some(spotted) = self.step(rest[0]) {
                return (at, Some(spotted));
            }
        }
        (bytes.len(), None)
    }

    /// Returns the length of the unfinished OSC string; 0 if there is none.
    pub(crate) fn string_len(&self) -> u32 {
        if matches!(self.state, State::Osc(_)) { self.string } else { 0 }
    }

    fn step(&mut self, byte: u8) -> Option<Spotted> {
        match (self.state, byte) {
            (State::Ground, _) => None,
            (State::Osc(osc), BEL | CAN | SUB | ESC) => {
                self.state = if byte == ESC { State::Escape } else { State::Ground };
                (osc == Osc::Asked && matches!(byte, BEL | ESC)).then(|| self.colour(byte == BEL)).flatten()
            }
            (State::Osc(osc), _) => {
                self.string = self.string.saturating_add(1);
                if byte >= 0x20 {
                    self.state = State::Osc(self.osc(osc, byte));
                }
                None
            }
            (_, CAN | SUB) => self.rest(),
            (_, ESC) => {
                self.state = State::Escape;
                None
            }
            (State::Escape, _) => self.escape(byte),
            (State::EscapeIntermediate, 0x30..=0x7e)
            | (State::CsiIgnore, 0x40..=0x7e)
            | (State::Dcs, 0x9c) => self.rest(),
            (State::Csi, 0x20..=0x7e) => self.csi(byte),
            (State::EscapeIntermediate | State::Csi | State::CsiIgnore | State::Dcs | State::Text, _) => None,
        }
    }

    fn rest(&mut self) -> Option<Spotted> {
        self.state = State::Ground;
        None
    }

    fn escape(&mut self, byte: u8) -> Option<Spotted> {
        match byte {
            0x20..=0x2f => self.state = State::EscapeIntermediate,
            b'[' => *self = Self { state: State::Csi, ..Self::default() },
            b']' => *self = Self { state: State::Osc(Osc::Number), ..Self::default() },
            b'P' => self.state = State::Dcs,
            b'X' | b'^' | b'_' => self.state = State::Text,
            0x30..=0x7e => self.state = State::Ground,
            _ => {}
        }
        None
    }

    fn csi(&mut self, byte: u8) -> Option<Spotted> {
        let begun = self.params > 0 || self.param > 0 || self.private.is_some();
        match byte {
            // A number after an intermediate makes the sequence invalid.
            0x30..=0x3f if self.intermediate.is_some() => self.state = State::CsiIgnore,
            b'0'..=b'9' => self.digit(byte),
            b';' | b':' => self.end_param(),
            b'<'..=b'?' if !begun => self.private = Some(byte),
            b'<'..=b'?' => self.state = State::CsiIgnore,
            0x20..=0x2f => self.intermediate = Some(byte),
            _ => {
                self.end_param();
                self.state = State::Ground;
                return self.dispatch(byte);
            }
        }
        None
    }

    fn digit(&mut self, byte: u8) {
        self.param = self.param.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
    }

    fn end_param(&mut self) {
        if self.params == 0 {
            self.first = self.param;
        }
        self.alternate |= matches!(self.param, 47 | 1047 | 1049);
        self.params = self.params.saturating_add(1);
        self.param = 0;
    }

    fn dispatch(&self, last: u8) -> Option<Spotted> {
        let one = self.params == 1;
        let query = match (self.private, self.intermediate, last, self.first) {
            (Some(b'?'), None, b'h' | b'l', _) if self.alternate => {
                return Some(Spotted::Alternate(last == b'h'));
            }
            (None, None, b'n', 5) if one => Query::Health,
            (None | Some(b'?'), None, b'n', 6) if one => Query::Cursor { private: self.private.is_some() },
            (None, None, b'c', 0) if one => Query::Attributes,
            (Some(b'>'), None, b'c', 0) if one => Query::Make,
            (Some(b'>'), None, b'q', 0) if one => Query::Name,
            (None | Some(b'?'), Some(b'$'), b'p', mode) if one => {
                Query::Mode { mode, private: self.private.is_some() }
            }
            (Some(b'?'), None, b'u', _) => Query::Keyboard,
            (None, None, b't', 14) if one => Query::Pixels,
            (None, None, b't', 16) if one => Query::CellPixels,
            (None, None, b't', what @ (18 | 19)) if one => Query::Size { what },
            _ => return None,
        };
        Some(Spotted::Query(query))
    }

    fn osc(&mut self, osc: Osc, byte: u8) -> Osc {
        match (osc, byte) {
            (Osc::Number, b'0'..=b'9') => {
                self.digit(byte);
                Osc::Number
            }
            (Osc::Number, b';') => Osc::Semicolon,
            (Osc::Semicolon, b'?') => Osc::Asked,
            (Osc::Number | Osc::Semicolon | Osc::Asked | Osc::Other, _) => Osc::Other,
        }
    }

    fn colour(&self, bell: bool) -> Option<Spotted> {
        let which = match self.param {
            10 => Colour::Foreground,
            11 => Colour::Background,
            12 => Colour::Cursor,
            _ => return None,
        };
        Some(Spotted::Query(Query::Colour { which, bell }))
    }
}
