//! Measures the conversion of 256 MiB of output to text: `cargo run --release -p tenure-output --example speed`.
//! The result is for people; nothing depends on it.

use std::path::Path;
use std::time::Instant;
use tenure_core::output::{Keep, Stream};
use tenure_output::text::{Ask, LineIndex, TextCursor, last, page, unread};
use tenure_output::{Cleaner, Writer};

const MIB: u32 = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plain = "   Compiling tenure-output v0.1.0 (/src/crates/output)\n\
                 \trunning: gcc -O2 -Wall -c src/file.c -o build/file.o\n\
                 warning: unused variable: `index` in a function that is not called by anybody\n";
    let colour = "\x1b[0m\x1b[1m\x1b[32m   Compiling\x1b[0m tenure-output v0.1.0\n\
                  \x1b[0m\x1b[1m\x1b[33mwarning\x1b[0m\x1b[0m\x1b[1m: unused variable\x1b[0m\n\
                  \x1b[38;5;12m  |\x1b[0m ─── é ───\r\n";
    for (name, line) in [("plain", plain), ("colour", colour)] {
        let block = line.repeat((1 << 20) / line.len());
        let dir = tempfile::tempdir()?;
        measure(name, block.as_bytes(), &dir.path().join("output"))?;
    }
    Ok(())
}

fn measure(name: &str, block: &[u8], dir: &Path) -> Result<(), tenure_output::Error> {
    let mut cleaner = Cleaner::new();
    let mut text = String::new();
    let times = ((MIB as usize) << 20) / block.len();
    timed(name, "cleaning alone", || {
        for _ in 0..times {
            text.clear();
            cleaner.push(block, &mut text);
        }
    });
    let mut writer = Writer::create(dir, Keep { head: 1 << 20, tail: 1 << 30 });
    for now in 0..times {
        writer.append(Stream::Stdout, block, now as u64);
    }
    timed(name, "unread, all", || unread(dir, TextCursor::default(), 30_000, false).map(drop))?;
    let mut index = LineIndex::new();
    let ask = Ask { offset: None, limit: None, cap_chars: 200_000, over: true };
    let first = timed(name, "page, first", || page(dir, &mut index, &ask))?;
    let middle = Ask { offset: Some(first.total_lines / 2), limit: Some(200), ..ask };
    timed(name, "page, second", || page(dir, &mut index, &middle).map(drop))?;
    timed(name, "last 2,000", || last(dir, 2_000, true).map(drop))
}

fn timed<T>(name: &str, what: &str, call: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = call();
    let took = begun.elapsed();
    let speed = f64::from(MIB) / took.as_secs_f64();
    println!("{name:7} {what:15} {:9.3} ms {speed:9.0} MB/s", took.as_secs_f64() * 1000.0);
    result
}
