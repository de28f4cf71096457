//! Arbitrary output and window sizes: no panic, and no more memory than a screen takes.

use super::{Dice, Run, SIZE};
use crate::screen::scanner::Scanner;
use crate::screen::terminal::{Terminal, dimensions};
use tenure_core::spec::Size;

/// Pieces that real programs write, and that reach the corners of an emulator.
const PIECES: [&str; 46] = [
    "\x1b[",
    "\x1b]",
    "\x1bP",
    "\x1b_",
    "\x1b7",
    "\x1b8",
    "\x1bM",
    "\x1bc",
    "\x1b[H",
    "\x1b[J",
    "\x1b[1J",
    "\x1b[2J",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[L",
    "\x1b[9999L",
    "\x1b[M",
    "\x1b[9999M",
    "\x1b[P",
    "\x1b[65535P",
    "\x1b[@",
    "\x1b[65535@",
    "\x1b[X",
    "\x1b[9999X",
    "\x1b[S",
    "\x1b[T",
    "\x1b[9999S",
    "\x1b[9999T",
    "\x1b[2;3r",
    "\x1b[r",
    "\x1b[?6h",
    "\x1b[?6l",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?47h",
    "\x1b[?47l",
    "\x1b[65535;65535H",
    "\x1b[0;0H",
    "\x1b[300b",
    "\u{4f60}",
    "e\u{301}",
    "1\u{fe0f}",
    "\u{200d}",
    "\r\n",
    "\x08",
    "\t",
];

#[test]
fn a_character_made_wide_at_the_edge_of_a_row_that_scrolls_does_no_harm() {
    let text = "\x1b[5;20H\u{2764}\u{fe0f}\x1b[Hfirst\x1b[4;20Hover it, and \u{ff01}".as_bytes();
    for cut in 0..text.len() {
        let mut run = Run::with(&text[..cut]);
        let mut screen = run.screen();
        run.write(&text[cut..]);
        screen.advance().unwrap();
        assert_eq!(screen.view().lines[4], "ver it, and \u{ff01}     \u{2764}", "{cut}");
    }
}

/// A stream of pieces, numbers and raw bytes.
fn noise(dice: &mut Dice, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < len {
        match dice.below(8) {
            0..=3 => bytes.extend_from_slice(PIECES[dice.below(PIECES.len())].as_bytes()),
            4 => bytes.extend_from_slice(format!("{}", dice.below(70_000)).as_bytes()),
            5 => bytes.extend_from_slice(&b";:?>$ mhlABCDnctqu\x07\x1b\x18"[dice.below(18)..][..1]),
            6 => bytes.extend((0..dice.below(12)).map(|_| b'a')),
            _ => bytes.extend(dice.roll().to_le_bytes()),
        }
    }
    bytes
}

fn a_size(dice: &mut Dice) -> Size {
    let side = |dice: &mut Dice| [1, 2, 3, 5, 24, 80][dice.below(6)];
    Size { cols: side(dice), rows: side(dice) }
}

/// Calls every function of a terminal.
fn use_all(terminal: &Terminal) {
    let view = terminal.view();
    assert_eq!(view.lines.len(), usize::from(view.size.rows));
    assert!(view.cursor.row < view.size.rows && view.cursor.col < view.size.cols);
    let state = crate::screen::paint::paint(terminal, crate::screen::paint::For::Emulator);
    crate::screen::paint::paint(terminal, crate::screen::paint::For::Person);
    let restored = Terminal::restored(view.size, &state);
    assert_eq!(restored.screen().alternate_screen(), view.alternate_screen);
}

#[test]
fn noise_in_any_size_does_no_harm() {
    for seed in 1..400 {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let mut terminal = Terminal::new(a_size(&mut dice));
        for _ in 0..30 {
            let bytes = noise(&mut dice, 200);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (read, _) = terminal.feed(rest);
                assert!(read > 0);
                rest = &rest[read..];
            }
            match dice.below(4) {
                0 => terminal.resize(a_size(&mut dice)),
                1 => terminal.gap(),
                _ => {}
            }
            use_all(&terminal);
        }
    }
}

#[test]
fn the_scanner_finds_the_same_however_the_bytes_are_cut() {
    for seed in 1..200 {
        let mut dice = Dice(seed);
        let bytes = noise(&mut dice, 400);
        let found = |chunk: usize| {
            let (mut scanner, mut found, mut at) = (Scanner::default(), Vec::new(), 0);
            for piece in bytes.chunks(chunk) {
                let mut rest = piece;
                while !rest.is_empty() {
                    let (read, spotted) = scanner.next(rest);
                    at += read;
                    found.extend(spotted.map(|spotted| (at, spotted)));
                    rest = &rest[read..];
                }
            }
            (found, scanner.is_at_rest())
        };
        let whole = found(bytes.len());
        for chunk in [1, 2, 7] {
            assert_eq!(found(chunk), whole, "{seed} {chunk}");
        }
    }
}

#[test]
fn where_the_scanner_rests_the_emulator_prints() {
    for seed in 1..300 {
        let mut dice = Dice(seed * 31);
        let mut bytes = noise(&mut dice, 150);
        // An unfinished character would take the next byte for its own.
        bytes.push(b'.');
        let mut scanner = Scanner::default();
        scanner.sees_query(&bytes);
        let mut parser = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 0);
        parser.process(&bytes);
        parser.process(b"\r\x0b");
        let before = parser.screen().cursor_position();
        parser.process(b"~");
        let printed = parser.screen().cursor_position() != before;
        if scanner.is_at_rest() {
            assert!(printed, "{seed}: {:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn a_string_that_never_ends_takes_no_memory_and_its_end_is_heard() {
    let mut terminal = Terminal::new(SIZE);
    let mut feed = |mut bytes: &[u8]| {
        while !bytes.is_empty() {
            bytes = &bytes[terminal.feed(bytes).0..];
        }
        terminal.view()
    };
    feed(b"\x1b]2;short\x07\x1b]2;");
    let text = vec![b'x'; 64 << 10];
    // Each of these rounds renews the parser, which releases its memory.
    for _ in 0..300 {
        feed(&text);
    }
    let view = feed(b"\x07after");
    assert_eq!((view.lines[0].as_str(), view.title.as_str()), ("after", "short"));
}

#[test]
fn sizes_are_kept_within_bounds() {
    for (cols, rows) in [(0, 0), (1, 1), (1, 65535), (65535, 1), (65535, 65535), (4096, 4096), (80, 24)] {
        let (r, c) = dimensions(Size { cols, rows });
        assert!(u32::from(r.get()) * u32::from(c.get()) <= 512 << 10, "{cols}x{rows}");
        assert!(r.get() <= rows.max(1) && c.get() <= cols.max(1));
    }
    assert_eq!(dimensions(Size { cols: 500, rows: 300 }), (300.try_into().unwrap(), 500.try_into().unwrap()));
    let run = Run::with("x\x1b[65535;65535Hy");
    let mut screen = run.open();
    screen.resize(Size { cols: 65535, rows: 65535 });
    screen.advance().unwrap();
    assert_eq!(screen.view().lines[0], "x");
}

#[test]
fn a_title_of_control_characters_is_no_way_into_somebodys_terminal() {
    let screen = Run::with("\x1b]2;a\u{9b}31m\u{85}b\x07").screen();
    assert_eq!(screen.view().title, "a31mb");
}
