//! Any output, in any pieces: junk, huge lines, broken UTF-8, no newline at the end.

use crate::agent;
use proptest::prelude::*;
use tenure_agents::{Agent, Answer, Event, NoContent, OutputSummary, Reader};

const MOST: usize = 64;

fn mine() -> Agent {
    let text = "[agents.mine]\ncommand = 'mine'\nfresh = []\noutput = 'json-lines'\n\
                [agents.mine.read]\nsession = 's'\ndelta = 'd'\nmessage = 'm'\nerror = 'e'\nusage-input = 'i'\n\
                usage-of = 'step'\nfinal = ['f', 'where done=true']";
    agent("mine", text)
}

fn plain() -> Agent {
    agent("mine", "[agents.mine]\ncommand = 'mine'\nfresh = []")
}

fn read(agent: &Agent, chunks: &[&[u8]]) -> (Vec<Event>, OutputSummary) {
    let mut reader = Reader::bounded(agent, MOST);
    let mut events: Vec<_> = chunks.iter().flat_map(|chunk| reader.feed(chunk)).collect();
    let (last, told) = reader.finish();
    events.extend(last);
    (events, told)
}

fn delta(text: &str) -> Event {
    Event::Delta(text.to_owned())
}

#[test]
fn junk_between_the_lines_is_activity_and_no_more() {
    let output =
        b"Warning: old node\n{\"d\":\"a\"}\n\n\x1b[31m{\"d\"\n[1]\n{\"d\":\n{\"x\":1}\r\n  {\"d\":\"b\"}\r\n";
    let (events, told) = read(&mine(), &[output]);
    let junk = Event::Activity(NoContent::NotJson);
    let other = Event::Activity(NoContent::Other);
    let expected =
        [junk.clone(), delta("a"), junk.clone(), junk.clone(), junk.clone(), junk, other, delta("b")];
    assert_eq!(events, expected);
    assert_eq!(told.answer, Answer::Unfinished("b".to_owned()), "another line begins another message");
}

#[test]
fn junk_between_pieces_does_not_tear_the_message() {
    let (_, told) = read(&mine(), &[b"{\"d\":\"a\"}\njunk\n{\"d\":\"b\"}\n{\"done\":true}"]);
    assert_eq!(told.answer, Answer::Final("ab".to_owned()));
}

#[test]
fn a_huge_line_is_skipped_and_the_next_is_read() {
    let huge = format!("{{\"d\":\"{}\"}}\n{{\"f\":\"end\"}}", "x".repeat(1000));
    let (events, told) = read(&mine(), &[huge.as_bytes()]);
    assert_eq!(events, [Event::Activity(NoContent::TooLong), Event::Final("end".to_owned())]);
    assert_eq!(told.answer, Answer::Final("end".to_owned()));
}

#[test]
fn a_line_without_an_end_is_told_once_when_the_output_ends() {
    let mut reader = Reader::bounded(&mine(), MOST);
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..8 {
        assert!(reader.feed(&chunk).is_empty());
    }
    assert_eq!(reader.finish().0, [Event::Activity(NoContent::TooLong)]);
}

#[test]
fn a_message_in_too_many_pieces_is_cut_and_that_is_told() {
    let mut output = b"{\"d\":\"0123456789a\xc3\xa9\"}\n".repeat(5);
    output.extend(b"{\"done\":true}");
    let (events, told) = read(&mine(), &[&output]);
    let whole = "0123456789aé".repeat(5);
    assert_eq!(told.answer, Answer::Final(whole[..MOST - 1].to_owned()), "and no character torn");
    assert!(told.cut);
    assert_eq!(
        events.iter().filter(|event| matches!(event, Event::Delta(_))).count(),
        5,
        "the pieces are all told"
    );
    let (_, told) = read(&mine(), &[&output, b"\n{\"d\":\"short\"}\n{\"done\":true}"]);
    assert_eq!((told.answer, told.cut), (Answer::Final("short".to_owned()), false));
}

#[test]
fn broken_utf8_is_replaced_and_the_line_is_read() {
    let (events, _) = read(&mine(), &[b"{\"d\":\"a\xff\xfeb\"}\n\xff\n"]);
    assert_eq!(events, [delta("a\u{fffd}\u{fffd}b"), Event::Activity(NoContent::NotJson)]);
}

#[test]
fn a_session_that_cannot_be_a_name_is_not_learnt() {
    let (events, told) =
        read(&mine(), &[b"{\"s\":\"--danger\"}\n{\"s\":\"\"}\n{\"s\":\"a\"}\n{\"s\":\"a\"}\n{\"s\":\"b\"}"]);
    let bad = Event::Activity(NoContent::BadSession);
    assert_eq!(events[..2], [bad.clone(), bad]);
    let names = |event: &Event| if let Event::Session(name) = event { Some(name.to_string()) } else { None };
    assert_eq!(events.iter().filter_map(names).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(told.session.unwrap().as_str(), "b");
}

#[test]
fn of_several_final_texts_the_last_holds() {
    let (_, told) = read(&mine(), &[b"{\"f\":\"1\"}\n{\"e\":\"bad\"}\n{\"f\":\"2\"}\n{\"d\":\"more\"}"]);
    assert_eq!((told.answer, told.error.as_deref()), (Answer::Final("2".to_owned()), Some("bad")));
}

#[test]
fn plain_text_is_the_answer() {
    let (events, told) = read(&plain(), &[b"Two\n", b"lines.\n\n"]);
    let answer = "Two\nlines.".to_owned();
    assert_eq!(events, [delta("Two\n"), delta("lines.\n"), delta("\n"), Event::Final(answer.clone())]);
    assert_eq!(told.answer, Answer::Final(answer));
    let (events, told) = read(&plain(), &[]);
    assert_eq!((events, told), (vec![], OutputSummary::default()), "silence is no answer");
    assert!(read(&plain(), &["é".repeat(MOST).as_bytes()]).1.cut);
}

/// Lines of a kind that there may be.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        r#"{"s":"one"}"#,
        r#"{"s":"two"}"#,
        r#"{"d":"é€😀"}"#,
        r#"{"d":"b"}"#,
        r#"{"m":"m","i":3}"#,
        r#"{"e":["x","y"]}"#,
        r#"{"f":"f"}"#,
        r#"{"done":true}"#,
        r#"{"d":"#,
        "",
        "\r",
        "junk",
        r#"{"s":"-x"}"#,
        "{}",
        "[]",
    ]);
    prop_oneof![
        6 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..10),
        1 => (MOST - 3..MOST + 3).prop_map(|length| vec![b'x'; length]),
        1 => (MOST / 3..MOST).prop_map(|length| "€".repeat(length).into_bytes()),
    ]
}

proptest! {
    #[test]
    fn however_the_stream_is_cut_the_same_is_told(
        lines in prop::collection::vec(line(), 0..20),
        ended: bool,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut stream = lines.join(&b'\n');
        if ended {
            stream.push(b'\n');
        }
        let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.sort_unstable();
        let starts = std::iter::once(0).chain(at.iter().copied());
        let ends = at.iter().copied().chain([stream.len()]);
        let chunks: Vec<_> = starts.zip(ends).map(|(start, end)| &stream[start..end]).collect();
        let bytes: Vec<_> = stream.chunks(1).collect();
        for agent in [mine(), plain()] {
            let whole = read(&agent, &[&stream]);
            prop_assert_eq!(&read(&agent, &chunks), &whole);
            prop_assert_eq!(&read(&agent, &bytes), &whole);
        }
    }

    #[test]
    fn the_pieces_of_plain_text_are_the_text(text in "[a-zé€😀\n]{0,300}") {
        let (events, _) = read(&plain(), &[text.as_bytes()]);
        let piece = |event| if let Event::Delta(text) = event { Some(text) } else { None };
        prop_assert_eq!(events.into_iter().filter_map(piece).collect::<String>(), text);
    }
}
