//! The names of keys: tmux's, and the common alternatives.

use super::Base;

use Base::{Backspace, Char, Cursor, Enter, Escape, Function, Keypad, Numbered, Tab};

/// Every name with its key; errors and help show the first name of a key.
pub(super) const NAMES: [(&str, Base); 57] = [
    ("Enter", Enter),
    ("Return", Enter),
    ("Tab", Tab),
    ("BTab", Tab),
    ("Escape", Escape),
    ("Esc", Escape),
    ("Space", Char(' ')),
    ("BSpace", Backspace),
    ("Backspace", Backspace),
    ("Up", Cursor('A')),
    ("Down", Cursor('B')),
    ("Right", Cursor('C')),
    ("Left", Cursor('D')),
    ("Home", Cursor('H')),
    ("End", Cursor('F')),
    ("Insert", Numbered(2)),
    ("Ins", Numbered(2)),
    ("IC", Numbered(2)),
    ("Delete", Numbered(3)),
    ("Del", Numbered(3)),
    ("DC", Numbered(3)),
    ("PageUp", Numbered(5)),
    ("PgUp", Numbered(5)),
    ("PPage", Numbered(5)),
    ("PageDown", Numbered(6)),
    ("PgDn", Numbered(6)),
    ("PgDown", Numbered(6)),
    ("NPage", Numbered(6)),
    ("F1", Function('P')),
    ("F2", Function('Q')),
    ("F3", Function('R')),
    ("F4", Function('S')),
    ("F5", Numbered(15)),
    ("F6", Numbered(17)),
    ("F7", Numbered(18)),
    ("F8", Numbered(19)),
    ("F9", Numbered(20)),
    ("F10", Numbered(21)),
    ("F11", Numbered(23)),
    ("F12", Numbered(24)),
    ("KP0", Keypad('0', 'p')),
    ("KP1", Keypad('1', 'q')),
    ("KP2", Keypad('2', 'r')),
    ("KP3", Keypad('3', 's')),
    ("KP4", Keypad('4', 't')),
    ("KP5", Keypad('5', 'u')),
    ("KP6", Keypad('6', 'v')),
    ("KP7", Keypad('7', 'w')),
    ("KP8", Keypad('8', 'x')),
    ("KP9", Keypad('9', 'y')),
    ("KP*", Keypad('*', 'j')),
    ("KP+", Keypad('+', 'k')),
    ("KP,", Keypad(',', 'l')),
    ("KP-", Keypad('-', 'm')),
    ("KP.", Keypad('.', 'n')),
    ("KP/", Keypad('/', 'o')),
    ("KPEnter", Keypad('\r', 'M')),
];

/// Finds the key with this name, in any case.
pub(super) fn find(text: &str) -> Option<(&'static str, Base)> {
    NAMES.iter().copied().find(|(name, _)| name.eq_ignore_ascii_case(text))
}

/// Returns up to three names that were probably meant.
pub(super) fn near(text: &str) -> Vec<&'static str> {
    const LONGEST: usize = 12;
    if text.len() < 2 || text.len() > LONGEST {
        return Vec::new();
    }
    let text = text.to_ascii_lowercase();
    let mut near: Vec<(usize, &str)> = NAMES
        .iter()
        .map(|(name, _)| (distance(&text, &name.to_ascii_lowercase()), *name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len().min(text.len()))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    let nearest = near.first().map_or(0, |(distance, _)| *distance);
    near.into_iter().take_while(|(distance, _)| *distance == nearest).map(|(_, name)| name).take(3).collect()
}

/// Returns the number of letters to add, remove or change.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in to.chars().enumerate() {
            let changed = corner + usize::from(a != b);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
