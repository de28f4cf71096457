//! However output is written and read, polls joined are the text, and so are the head and the pages after it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tenure_core::output::{Keep, Stream};
use tenure_output::Writer;
use tenure_output::text::{Ask, LineIndex, TextCursor, head, page, unread};

const ALL: usize = usize::MAX;

fn whole(dir: &Path) -> String {
    unread(dir, TextCursor::default(), ALL, true).expect("it can be read").text
}

fuzz_target!(|input: (Vec<(bool, Vec<u8>)>, u8, u8)| {
    let (writes, limit, cap) = input;
    let place = tempfile::tempdir().expect("a place");
    let dir = place.path().join("output");
    let mut writer = Writer::create(&dir, Keep::default());
    let (mut mark, mut polled) = (TextCursor::default(), String::new());
    for (stdout, bytes) in &writes {
        let stream = if *stdout { Stream::Stdout } else { Stream::Stderr };
        writer.append(stream, bytes, 1);
        let new = unread(&dir, mark, ALL, false).expect("it can be read");
        polled.push_str(&new.text);
        mark = new.to;
    }
    polled.push_str(&unread(&dir, mark, ALL, true).expect("it can be read").text);
    let text = whole(&dir);
    assert_eq!(polled, text);

    let (mut index, mut offset, mut paged) = (LineIndex::new(), 0, String::new());
    loop {
        let ask = Ask { offset: Some(offset), limit: Some(u64::from(limit) + 1), cap_chars: ALL, over: true };
        let page = page(&dir, &mut index, &ask).expect("it can be read");
        paged.push_str(&page.text);
        match page.next_line {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(paged, text);

    // A line that is longer than the cap is cut inside, and says so.
    let cap = usize::from(cap) + 64;
    if text.lines().all(|line| line.chars().count() < cap) {
        let head = head(&dir, cap, true).expect("it can be read");
        let rest: String = match head.next_line {
            Some(line) => text.split_inclusive('\n').skip(usize::try_from(line).expect("a line")).collect(),
            None => String::new(),
        };
        assert_eq!(head.text + &rest, text);
    }
});
