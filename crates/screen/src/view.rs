//! What a screen shows, for whoever asks.

use serde::Serialize;
use tenure_core::spec::Size;

/// A screen as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// Rows and columns.
    #[serde(flatten)]
    pub size: Size,
    /// The cursor.
    pub cursor: Cursor,
    /// The text, row by row, without trailing blanks.
    pub lines: Vec<String>,
    /// The window's title.
    pub title: String,
    /// Whether this is the alternate screen, which programs use that fill it.
    pub alternate_screen: bool,
}

/// Where the cursor is, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cursor {
    /// From the top.
    pub row: u16,
    /// From the left.
    pub col: u16,
    /// Whether the program shows it.
    pub visible: bool,
}

/// What the program asked of its terminal that matters to whoever types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the modes of a terminal are on or off")]
pub struct Modes {
    /// Cursor keys are sent as an application's.
    pub application_cursor: bool,
    /// The keypad is an application's.
    pub application_keypad: bool,
    /// What is pasted is bracketed.
    pub bracketed_paste: bool,
    /// The mouse is reported.
    pub mouse: bool,
    /// That the window has or loses the focus is reported.
    pub focus: bool,
    /// The flags of kitty's keyboard protocol; 0 is off.
    pub keyboard: u8,
}
