//! A key that is named has bytes in every mode; nothing else is a key; hexadecimal reads back; no paste ends early.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_core::keys::{self, Modes};

fuzz_target!(|text: &str| {
    if let Ok(key) = keys::parse(text) {
        for application_cursor in [false, true] {
            for application_keypad in [false, true] {
                let modes = Modes { application_cursor, application_keypad };
                assert!(!keys::encode(&key, modes).is_empty(), "{text:?}");
            }
        }
    }
    if let Ok(bytes) = keys::hex(text) {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(keys::hex(&digits).ok(), Some(bytes));
    }
    let pasted = String::from_utf8(keys::paste(text, true)).expect("a text stays a text");
    assert_eq!(pasted.find("\x1b[201~"), Some(pasted.len() - 6));
});
