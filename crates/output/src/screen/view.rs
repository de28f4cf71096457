//! The visible content of a screen.

use serde::Serialize;
use tenure_core::spec::Size;

/// The visible content at one moment.
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
    /// True for the alternate screen, which full-screen programs use.
    pub alternate_screen: bool,
}

/// The cursor's position, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cursor {
    /// The row, from the top.
    pub row: u16,
    /// The column, from the left.
    pub col: u16,
    /// True if the program shows it.
    pub visible: bool,
}

/// The modes that the program has set and that matter for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the modes of a terminal are on or off")]
pub struct Modes {
    /// Cursor keys send application sequences.
    pub application_cursor: bool,
    /// The keypad sends application sequences.
    pub application_keypad: bool,
    /// Pasted text is bracketed.
    pub bracketed_paste: bool,
    /// Mouse events are reported.
    pub mouse: bool,
    /// Focus changes of the window are reported.
    pub focus: bool,
    /// The flags of kitty's keyboard protocol; 0 is off.
    pub keyboard: u8,
}
