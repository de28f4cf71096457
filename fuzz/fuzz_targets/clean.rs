//! Any split of the bytes gives the same text, and the text has no control character but line ends and tabs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_output::Cleaner;

fn clean(parts: &[&[u8]]) -> String {
    let mut cleaner = Cleaner::new();
    let mut text = String::new();
    for part in parts {
        cleaner.push(part, &mut text);
    }
    cleaner.finish(&mut text);
    text
}

fuzz_target!(|input: (u16, Vec<u8>)| {
    let (at, bytes) = input;
    let whole = clean(&[&bytes]);
    let (left, right) = bytes.split_at(usize::from(at).min(bytes.len()));
    assert_eq!(clean(&[left, right]), whole);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(clean(&single), whole);
    assert!(whole.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
});
