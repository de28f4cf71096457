//! Reads escape sequences just far enough to know the few that matter outside of an emulator: questions to the
//! terminal, and the way into and out of the alternate screen. It stands where the emulator's own parser stands.

/// Something that was found in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spotted {
    /// The program asks its terminal something.
    Query(Query),
    /// The program enters (or leaves) the alternate screen.
    Alternate(bool),
}

/// What a program asks its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// Are you well? (DSR 5)
    Health,
    /// Where is the cursor? (DSR 6; with the answer marked as private or not)
    Cursor {
        /// Whether it was asked with a `?`.
        private: bool,
    },
    /// What are you? (DA1)
    Attributes,
    /// Which make and version are you? (DA2)
    Make,
    /// What is your name? (XTVERSION)
    Name,
    /// Is this mode set? (DECRQM)
    Mode {
        /// Which.
        mode: u16,
        /// Whether it is one of DEC's.
        private: bool,
    },
    /// Which way of reporting keys is in use? (kitty's keyboard protocol)
    Keyboard,
    /// How many rows and columns are there? (`18t`; `19t` asks of the whole display)
    Size {
        /// 18 or 19.
        what: u16,
    },
    /// How large is the window, in pixels? (`14t`)
    Pixels,
    /// How large is a cell, in pixels? (`16t`)
    CellPixels,
    /// Which colour is this? (OSC 10, 11, 12)
    Colour {
        /// Which.
        which: Colour,
        /// Whether the question ended with BEL, as the answer then does.
        bell: bool,
    },
}

/// A colour that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Of the text.
    Foreground,
    /// Behind the text.
    Background,
    /// Of the cursor.
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

/// How far an OSC string has come on its way to being a question.
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

/// See the module. It is given all of the output, in pieces cut anywhere.
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
    /// How long the OSC string is so far.
    string: u32,
}

impl Scanner {
    /// Whether the output up to here stands between two sequences.
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Ground
    }

    /// Whether these bytes hold (the end of) a question.
    pub fn sees_query(&mut self, mut bytes: &[u8]) -> bool {
        let mut seen = false;
        while !bytes.is_empty() {
            let (read, spotted) = self.next(bytes);
            seen |= matches!(spotted, Some(Spotted::Query(_)));
            bytes = &bytes[read..];
        }
        seen
    }

    /// Reads on to the end of the next thing worth knowing, or of the bytes, and says how many were read.
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

    /// The length of the OSC string that the output stands in; 0 if it stands in none.
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
            // A number after an intermediate is no sequence any more.
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
