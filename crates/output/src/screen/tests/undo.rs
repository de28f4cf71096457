use crate::screen::ModeTracker;

fn left_by(output: &str) -> String {
    let mut tracker = ModeTracker::default();
    // The output is cut anywhere: every byte comes alone.
    output.as_bytes().chunks(1).for_each(|piece| tracker.feed(piece));
    tracker.undo()
}

#[test]
fn output_that_left_nothing_on_is_followed_by_nothing() {
    let polite = "\x1b[?1049h\x1b[?1000;1006h\x1b[?25l\x1b=\x1b[>1u\x1b[2;4r\x1b[31mx\x1b[m\x1b[r\x1b[<u\x1b>\
                  \x1b[?25h\x1b[?1006;1000l\x1b[?1049l";
    for output in ["", "plain\n", "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", polite, "\x1b[?25l\x1b[?1000h\x1bc"]
    {
        assert_eq!(left_by(output), "", "{output:?}");
    }
}

#[test]
fn what_was_left_on_is_switched_off_and_nothing_else() {
    let cases = [
        ("\x1b[?1049h\x1b[?1000h\x1b[?25lx", "\x1b[?1000l\x1b[?1049l\x1b[?25h"),
        ("\x1b[?47h", "\x1b[?47l"),
        ("\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b=", "\x1b[?2004l\x1b[?1004l\x1b[?1l\x1b>"),
        ("\x1b[?1002;1006h\x1b[?1002l", "\x1b[?1006l"),
        ("\x1b[1;31mred", "\x1b[m"),
        ("\x1b[4h\x1b[?7l", "\x1b[4l\x1b[?7h"),
        ("\x1b(0\x0e", "\x1b(B\x0f"),
        ("\x1b[5 q\x1b]12;red\x07", "\x1b[0 q\x1b]112\x1b\\"),
        ("\x1b]8;;https://example.org\x1b\\link", "\x1b]8;;\x1b\\"),
        ("\x1b[>4;2m", "\x1b[>4m"),
        ("\x1b[3;10r", "\x1b[r\x1b[9999;1H"),
        ("\x1b[?25l\x1b[!p", ""),
    ];
    for (output, undo) in cases {
        assert_eq!(left_by(output), undo, "{output:?}");
    }
}

#[test]
fn keyboard_flags_are_taken_off_the_screen_that_they_were_put_on() {
    assert_eq!(left_by("\x1b[>1u\x1b[?1049h\x1b[>3u\x1b[>5u"), "\x1b[<2u\x1b[?1049l\x1b[<1u");
    assert_eq!(left_by("\x1b[=5u"), "\x1b[=0u");
}

#[test]
fn a_sequence_that_was_cut_is_ended_first() {
    assert_eq!(left_by("\x1b[?25l\x1b[?10"), "\x18\x1b[?25h");
    assert_eq!(left_by("\x1b]2;a title without"), "\x18");
}

#[test]
fn a_string_without_end_takes_no_memory_and_hides_nothing() {
    let mut tracker = ModeTracker::default();
    tracker.feed(b"\x1b]2;");
    (0..300).for_each(|_| tracker.feed(&[b'x'; 1000]));
    tracker.feed(b"\x07\x1b[?25l");
    assert_eq!(tracker.undo(), "\x1b[?25h");
}

/// An independent emulator agrees: the undo reverts every part of its state that the output changed.
#[test]
fn an_emulator_is_as_before_after_the_undo() {
    let outputs = [
        "\x1b[?1049h\x1b[?1000h\x1b[?25lx",
        "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1003;1006h\x1b[7mx",
        "\x1b[?47h\x1b[?1005h\x1b[?9h\x1b[?25l",
        "text\x1b[?25l\x1b[?1002h\x1b[?100",
    ];
    for output in outputs {
        let mut parser = vt100::Parser::default();
        let fresh = parser.screen().input_mode_formatted();
        let mut tracker = ModeTracker::default();
        for bytes in [output, &left_by(output)] {
            parser.process(bytes.as_bytes());
            tracker.feed(bytes.as_bytes());
        }
        let screen = parser.screen();
        assert_eq!(screen.input_mode_formatted(), fresh, "{output:?}");
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.inverse(), "{output:?}");
        assert_eq!(tracker.undo(), "", "{output:?}: an undo leaves nothing to undo");
    }
}
