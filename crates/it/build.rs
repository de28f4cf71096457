//! Fails the build if no module registers a test file: its tests would never run.

use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=tests");
    check(Path::new("tests/it"), &read(Path::new("tests/it/main.rs")));
}

/// Checks that `parent`, this directory's module, names each of its files, and that each of those names the
/// files below it.
fn check(dir: &Path, parent: &str) {
    for entry in fs::read_dir(dir).expect("a directory of tests").flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust && name != "main" {
            if !parent.lines().any(|line| line.trim() == format!("mod {name};")) {
                println!(
                    "cargo::error={} is registered by no module: its tests would never run",
                    path.display()
                );
            }
        } else if path.is_dir() {
            check(&path, &read(&path.with_extension("rs")));
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
