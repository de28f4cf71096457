//! The screen shows the written output.

use super::{Run, SIZE, view};
use crate::screen::Cursor;
use tenure_core::output::Keep;
use tenure_core::spec::Size;

#[test]
fn text_cursor_title_and_size_are_those_of_a_terminal() {
    let view = view("one\r\n  two  \x1b]2;a title\x07\x1b[4;3Hx");
    assert_eq!(view.lines, ["one", "  two", "", "  x", ""]);
    assert_eq!((view.cursor, view.size), (Cursor { row: 3, col: 3, visible: true }, SIZE));
    assert_eq!((view.title.as_str(), view.alternate_screen), ("a title", false));
}

#[test]
fn a_view_is_the_promised_json() {
    let json = serde_json::to_value(view("a\x1b[?25l")).unwrap();
    let promised = serde_json::json!({
        "rows": 5, "cols": 20, "cursor": {"row": 0, "col": 1, "visible": false},
        "lines": ["a", "", "", "", ""], "title": "", "alternateScreen": false,
    });
    assert_eq!(json, promised);
}

#[test]
fn the_alternate_screen_hides_the_other_and_gives_it_back() {
    let mut run = Run::with("shell\x1b[?1049h\x1b[Hvim");
    let mut screen = run.screen();
    assert_eq!((screen.view().lines[0].as_str(), screen.view().alternate_screen), ("vim", true));
    run.write("\x1b[?1049l");
    screen.advance().unwrap();
    assert_eq!((screen.view().lines[0].as_str(), screen.view().alternate_screen), ("shell", false));
}

#[test]
fn what_is_added_is_taken_in_also_when_cut_inside_a_sequence() {
    let text = "grün\x1b[31m\x1b[2;2H\x1b]2;title\x1b\\\u{4f60}!".as_bytes();
    for cut in 0..text.len() {
        let mut run = Run::with(&text[..cut]);
        let mut screen = run.screen();
        run.write(&text[cut..]);
        screen.advance().unwrap();
        assert_eq!(screen.view(), view(text), "{cut}");
        assert_eq!((screen.offset(), screen.replayed()), (text.len() as u64, text.len() as u64));
    }
}

#[test]
fn modes_are_known() {
    let modes = Run::with("\x1b[?1h\x1b=\x1b[?2004h\x1b[?1000;1006h\x1b[?1004h\x1b[>1u").screen().modes();
    assert!(modes.application_cursor && modes.application_keypad && modes.bracketed_paste);
    assert!(modes.mouse && modes.focus);
    assert_eq!(modes.keyboard, 1);
    assert_eq!(
        Run::with("\x1b[?2004h\x1b[?2004l\x1b[>1u\x1b[<u").screen().modes(),
        crate::screen::Modes::default()
    );
}

#[test]
fn each_byte_is_shown_in_the_size_that_it_was_made_for() {
    let mut run = Run::new();
    run.write("12345678901234567890wrapped\r\n");
    run.writer.resized(Size { cols: 40, rows: 5 });
    run.write("123456789012345678901234567890 whole");
    let mut screen = run.screen();
    let whole = ["12345678901234567890", "wrapped", "123456789012345678901234567890 whole", "", ""];
    assert_eq!(screen.view().lines, whole);
    run.writer.resized(Size { cols: 10, rows: 2 });
    screen.advance().unwrap();
    assert_eq!(screen.view().size, Size { cols: 10, rows: 2 });
    assert_eq!(run.screen().view(), screen.view());
}

#[test]
fn a_gap_clears_the_screen_and_keeps_the_modes() {
    let mut run = Run::keeping(Keep { head: 64, tail: 64 << 10 });
    run.write("\x1b[?1h\x1b[?1049h\x1b[31mold\x1b[2;4r\x1b]2;never ended");
    for line in 0..20_000 {
        run.write(format!("line {line}\r\n"));
    }
    assert!(run.writer.totals().dropped_bytes > 0, "there is a gap");
    let screen = run.screen();
    assert_eq!(screen.view().lines, ["line 19996", "line 19997", "line 19998", "line 19999", ""]);
    assert!(screen.view().alternate_screen && screen.modes().application_cursor);
    assert_eq!(screen.offset(), run.writer.totals().bytes);
}

#[test]
fn a_run_without_output_has_an_empty_screen() {
    let dir = tempfile::tempdir().unwrap();
    let mut screen =
        crate::screen::Screen::open(&dir.path().join("none"), SIZE, &dir.path().join("screen")).unwrap();
    screen.advance().unwrap();
    assert_eq!(screen.view().lines, [""; 5]);
}
