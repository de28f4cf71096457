//! What is taken apart is rendered to a line that is taken apart into the same words; nothing panics or hangs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use tenure_policy::shell::{analyse, render};

fuzz_target!(|line: &str| {
    let Ok(analysis) = analyse(line) else { return };
    let programs: Vec<PathBuf> = (0..analysis.segments().len()).map(|n| format!("/bin/p{n}").into()).collect();
    let Ok(rendered) = render(&analysis, &programs) else { return };
    let again = analyse(&rendered).expect("what was rendered is understood");
    assert_eq!(again.joins(), analysis.joins());
    for (n, (before, after)) in analysis.segments().iter().zip(again.segments()).enumerate() {
        assert_eq!(after.program(), format!("/bin/p{n}"));
        assert_eq!(before.argv()[1..], after.argv()[1..]);
    }
});
