//! Tables in the documents that are generated from the code's own lists, between `<!-- generated: NAME -->` and
//! `<!-- end -->`. A table that is stale fails; `just docs-tables` writes all of them anew.

use crate::args;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tenure_settings::Settings;

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end -->";

/// Renders a table.
type Render = fn() -> String;

/// The tables by name.
const TABLES: &[(&str, Render)] = &[
    ("verbs", verbs),
    ("exit-codes", exit_codes),
    ("settings", settings),
    ("routes", routes),
    ("problem-codes", problem_codes),
    ("event-kinds", event_kinds),
    ("metrics", metrics),
    ("pause-points", pause_points),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A Markdown table.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        writeln!(text, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | ")).unwrap();
    }
    text
}

fn code(word: &str) -> String {
    format!("`{word}`")
}

/// The verbs of the command line, with those below them.
fn verbs() -> String {
    fn collect(above: &str, command: &clap::Command, rows: &mut Vec<[String; 2]>) {
        let shown = |verb: &&clap::Command| !verb.is_hide_set() && verb.get_name() != "help";
        for verb in command.get_subcommands().filter(shown) {
            let name = format!("{above} {}", verb.get_name());
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            rows.push([code(&name), about]);
            collect(&name, verb, rows);
        }
    }
    let mut rows = Vec::new();
    collect("tenure", &args::definition(), &mut rows);
    table(["verb", "does"], rows)
}

/// The exit codes of `run` and `wait`, from the help of `run`.
fn exit_codes() -> String {
    let help = args::definition().find_subcommand("run").unwrap().get_after_help().unwrap().to_string();
    let list = help.split("Exit codes:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    // The first line is about the command's own code.
    let rows = list.lines().skip(1).map(|line| line.trim().split_once(' ').expect("a code and its meaning"));
    table(["code", "meaning"], rows.map(|(number, meaning)| [code(number), meaning.trim().to_owned()]))
}

/// The settings with their variables and defaults.
fn settings() -> String {
    let settings = Settings::defaults(PathBuf::from("~/.local/state/tenure"));
    let row = |shown: tenure_settings::Shown| {
        [code(shown.key), code(shown.variable), code(&shown.value), shown.about.to_owned()]
    };
    table(["key in `config.toml`", "variable", "default", "meaning"], settings.shown().into_iter().map(row))
}

/// The routes of the API, as `openapi.json` describes them.
fn routes() -> String {
    let snapshot = read("crates/daemon/src/faces/api/openapi.json.snap");
    let api = snapshot.splitn(3, "---\n").nth(2).expect("a snapshot");
    let api: serde_json::Value = serde_json::from_str(api).expect("JSON");
    let mut rows = Vec::new();
    for (path, methods) in api["paths"].as_object().expect("paths") {
        for (method, route) in methods.as_object().expect("methods") {
            let summary = route["summary"].as_str().unwrap_or_default().to_owned();
            rows.push([code(&format!("{} {path}", method.to_uppercase())), summary]);
        }
    }
    table(["route", "does"], rows)
}

/// An item of a list in the sources: its doc comment, and its line.
struct Item {
    doc: String,
    line: String,
}

/// Returns the documented items between two lines of a source file.
fn items(file: &str, from: &str, to: &str) -> Vec<Item> {
    let source = read(file);
    let list = source.split(from).nth(1).and_then(|rest| rest.split(to).next());
    let list = list.unwrap_or_else(|| panic!("{file} has no list between {from:?} and {to:?}"));
    let mut items = Vec::new();
    let mut doc = String::new();
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("/// ") {
            Some(more) if doc.is_empty() => more.clone_into(&mut doc),
            Some(more) => doc = format!("{doc} {more}"),
            None => items.push(Item { doc: std::mem::take(&mut doc), line: line.to_owned() }),
        }
    }
    items
}

/// The text in the first quotes of a line.
fn quoted(line: &str) -> &str {
    line.split('"').nth(1).expect("a quoted word")
}

/// The problem codes of the API.
fn problem_codes() -> String {
    let items = items("crates/core/src/problem.rs", "\ncodes! {\n", "\n}\n");
    let status = |line: &str| line.split_whitespace().nth(2).expect("a status").to_owned();
    let mut rows: Vec<_> =
        items.iter().map(|it| [code(quoted(&it.line)), status(&it.line), it.doc.clone()]).collect();
    rows.sort_by_key(|[word, ..]| word.clone());
    table(["code", "status", "meaning"], rows)
}

/// The kinds of events.
fn event_kinds() -> String {
    let items = items("crates/store/src/events.rs", "\n    kinds! {\n", "\n    }\n");
    table(["kind", "meaning"], items.iter().map(|it| [code(quoted(&it.line)), it.doc.clone()]))
}

/// The metrics, as they are registered and exposed.
fn metrics() -> String {
    let source = read("crates/daemon/src/metrics.rs");
    let row = |call: &str| {
        let arguments = call.split(");").next().expect("arguments");
        let mut words = arguments.split('"').skip(1).step_by(2);
        let name = words.next().expect("a name");
        let (kind, suffix) = match arguments {
            gauge if gauge.contains("now(") => ("gauge", ""),
            histogram if histogram.contains("latency") => ("histogram", ""),
            _ => ("counter", "_total"),
        };
        [
            code(&format!("tenure_{name}{suffix}")),
            kind.to_owned(),
            words.next().expect("a meaning").to_owned(),
        ]
    };
    table(["metric", "kind", "meaning"], source.split(".register(").skip(1).map(row))
}

/// The pause points: those of a run in the order in which it passes them, then those of a state root and of a daemon.
fn pause_points() -> String {
    use tenure_os::pause::{DAEMON_POINTS, POINTS};
    let rows = POINTS.iter().chain(&DAEMON_POINTS).map(|point| {
        let (process, place) = point.split_once('-').expect("a process and a place");
        let process = if process == "instance" { "first user of a state root" } else { process };
        [code(point), process.to_owned(), place.replace('-', " ")]
    });
    table(["pause point", "process", "place"], rows)
}

/// Returns the document with its tables generated anew, and their names.
fn rendered(document: &str) -> (String, Vec<&str>) {
    let mut names = Vec::new();
    let mut parts = document.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").expect("a name");
        let (_, rest) = rest.split_once(END).unwrap_or_else(|| panic!("table {name} has no end"));
        let (_, render) =
            TABLES.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no table {name}"));
        write!(text, "{BEGIN}{name} -->\n{}{END}{rest}", render()).unwrap();
        names.push(name);
    }
    (text, names)
}

/// The documents that may have tables.
fn documents() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(repository().join("docs")).expect("a folder");
    let pages = folder.flatten().map(|entry| entry.path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages
        .chain(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| repository().join(name)))
        .collect()
}

#[test]
fn tables_in_the_documents_are_up_to_date() {
    let accepts = std::env::var_os("DOCS_TABLES").is_some_and(|how| how == "write");
    let (mut stale, mut used) = (Vec::new(), Vec::new());
    for path in documents() {
        let document = std::fs::read_to_string(&path).expect("a document");
        let (text, names) = rendered(&document);
        used.extend(names.into_iter().map(str::to_owned));
        if text != document && accepts {
            std::fs::write(&path, text).expect("a document");
        } else if text != document {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "stale tables in {stale:?}: `just docs-tables` writes them anew");
    let unused: Vec<_> = TABLES.iter().filter(|(name, _)| !used.iter().any(|it| it == name)).collect();
    assert!(
        unused.is_empty(),
        "tables of no document: {:?}",
        unused.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
}

#[test]
fn a_stale_table_is_regenerated_and_the_rest_stays() {
    let document = "before\n<!-- generated: exit-codes -->\n| old |\n<!-- end -->\nafter\n";
    let (text, names) = rendered(document);
    assert_eq!(names, ["exit-codes"]);
    assert!(text.starts_with("before\n<!-- generated: exit-codes -->\n| code | meaning |\n"), "{text}");
    assert!(
        text.contains("| `124` |") && !text.contains("old") && text.ends_with("<!-- end -->\nafter\n"),
        "{text}"
    );
}

#[test]
fn every_list_of_the_sources_is_found() {
    let rows = |text: String| text.lines().count() - 2;
    assert_eq!(rows(event_kinds()), tenure_store::kind::ALL.len());
    assert_eq!(rows(settings()), Settings::defaults(PathBuf::new()).shown().len());
    assert!(items("crates/core/src/problem.rs", "\ncodes! {\n", "\n}\n").iter().all(|it| !it.doc.is_empty()));
    assert!(rows(metrics()) > 10 && rows(problem_codes()) > 20);
}

fn is_source(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "rs")
}

/// A file is named as in ARCHITECTURE.md, by its crate and its path below `src`, or from the crate's folder.
#[test]
fn files_that_the_documents_name_exist() {
    let mut missing = Vec::new();
    for path in documents() {
        let document = std::fs::read_to_string(&path).expect("a document");
        // Code stands between backticks, so every second part.
        for name in document.split('`').skip(1).step_by(2).filter(|name| is_source(name)) {
            let Some((of, rest)) = name.split_once('/') else { continue };
            let folder = repository().join("crates").join(of);
            if folder.is_dir() && !folder.join("src").join(rest).is_file() && !folder.join(rest).is_file() {
                missing.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
