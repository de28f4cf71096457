//! A corpus of configuration files as applications write them goes through `wrap` and `unwrap`, and so do files with random
//! edits.

use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::{Value, json};
use std::path::Path;
use tenure_app_config::{APPS, App, BadFile, ConfigFile, Directories, Syntax, unwrap, wrap};

const TENURE: &str = "/usr/local/bin/tenure";

/// Each file of the corpus is named after its application.
fn corpus() -> Vec<(String, ConfigFile, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> =
        std::fs::read_dir(dir).expect("the corpus").flatten().map(|file| file.path()).collect();
    files.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let app = App::named(name.split('-').next().expect("an application")).expect("an application");
        let text = std::fs::read_to_string(&path).expect("a text");
        (name, app.project_file(Path::new("project")), text)
    };
    files.into_iter().map(read).collect()
}

/// Reads a file as its application does.
fn parsed(text: &str, syntax: Syntax) -> Value {
    match syntax {
        Syntax::Json => {
            let parsed =
                jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
            parsed.expect("JSON").value.expect("a value").into()
        }
        Syntax::Toml => toml::from_str(text).expect("TOML"),
    }
}

/// Wraps the servers of a parsed file by the rule alone.
fn wrapped(value: &mut Value, tables: &[&[&str]]) {
    fn server(object: &mut Value) {
        if object["command"].is_object() {
            return command(&mut object["command"], "path");
        }
        command(object, "command");
    }
    fn command(object: &mut Value, key: &str) {
        let Some(program) = object[key].as_str().map(str::to_owned) else { return };
        let args = object.get("args").cloned().unwrap_or(json!([]));
        if program.ends_with("tenure") || !args.is_array() {
            return;
        }
        let mut all = vec![json!("guard"), json!("--"), json!(program)];
        all.extend(args.as_array().expect("an array").iter().cloned());
        object[key] = json!(TENURE);
        object["args"] = Value::Array(all);
    }
    fn walk(value: &mut Value, table: &[&str]) {
        let Some(object) = value.as_object_mut() else { return };
        for (key, value) in object {
            match table {
                [] if value.is_object() => server(value),
                [wanted, rest @ ..] if *wanted == "*" || wanted == key => walk(value, rest),
                _ => {}
            }
        }
    }
    for table in tables {
        walk(value, table);
    }
}

#[test]
fn unwrap_gives_back_the_bytes_that_wrap_was_given() {
    let corpus = corpus();
    assert!(corpus.len() >= 30);
    for (name, file, text) in corpus {
        let guarded = wrap(&text, file.syntax, file.tables, TENURE).expect("a good file");
        assert_eq!(guarded.servers.is_empty(), guarded.text == text, "{name}");
        let restored = unwrap(&guarded.text, file.syntax, file.tables).expect("a good file");
        assert_eq!(restored.text, text, "{name}");
        assert_eq!(restored.servers, guarded.servers, "{name}");
    }
}

#[test]
fn each_stdio_server_is_wrapped_and_nothing_else_changes() {
    for (name, file, text) in corpus() {
        // Equal keys are merged by the reader of this test.
        if text.is_empty() || name == "claude-duplicates.json" {
            continue;
        }
        let mut expected = parsed(&text, file.syntax);
        wrapped(&mut expected, file.tables);
        let guarded = wrap(&text, file.syntax, file.tables, TENURE).expect("a good file");
        assert_eq!(parsed(&guarded.text, file.syntax), expected, "{name}:\n{}", guarded.text);
    }
}

#[test]
fn a_second_wrap_or_unwrap_changes_nothing() {
    for (name, file, text) in corpus() {
        let guarded = wrap(&text, file.syntax, file.tables, TENURE).expect("a good file");
        let again = wrap(&guarded.text, file.syntax, file.tables, TENURE).expect("a good file");
        assert_eq!((again.text, again.servers.len()), (guarded.text.clone(), 0), "{name}");
        let plain = unwrap(&text, file.syntax, file.tables).expect("a good file");
        assert_eq!((plain.text, plain.servers.len()), (text, 0), "{name}");
    }
}

#[test]
fn a_guard_at_another_path_gets_the_present_one() {
    for (name, file, text) in corpus() {
        let before = wrap(&text, file.syntax, file.tables, "/old/tenure").expect("a good file");
        let now = wrap(&before.text, file.syntax, file.tables, TENURE).expect("a good file");
        assert_eq!(now, wrap(&text, file.syntax, file.tables, TENURE).expect("a good file"), "{name}");
    }
}

#[test]
fn options_that_a_person_gave_the_guard_go_with_it() {
    let tables = App::named("claude").expect("an application").project_file(Path::new("")).tables;
    let text = r#"{"mcpServers": {"a": {"command": "/x/tenure", "args": ["guard", "--grace", "5s", "--", "npx", "-y"]}}}"#;
    let plain = unwrap(text, Syntax::Json, tables).expect("a good file");
    assert_eq!(plain.text, r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y"]}}}"#);
}

#[test]
fn a_reformatted_guard_is_unwrapped() {
    let tables = App::named("zed").expect("an application").project_file(Path::new("")).tables;
    let text = "{\"context_servers\": {\"a\": {\n  \"command\": \"/x/tenure\",\n  \"args\": [\n    \"guard\",\n    \"--\",\n    \"a\",\n  ],\n}}}";
    let plain = unwrap(text, Syntax::Json, tables).expect("a good file");
    assert_eq!(
        plain.text,
        "{\"context_servers\": {\"a\": {\n  \"command\": \"a\",\n  \"args\": [\n    \n  ],\n}}}"
    );
}

#[test]
fn a_comment_inside_the_guard_is_refused_with_its_line() {
    let tables = App::named("zed").expect("an application").project_file(Path::new("")).tables;
    let text = "{\"agent_servers\": {\"a\": {\"command\": \"tenure\",\n\"args\": [\"guard\", // keep\n\"--\", \"a\"]}}}";
    let refused = unwrap(text, Syntax::Json, tables).expect_err("a comment would be lost");
    assert_eq!(refused, BadFile::Comment { line: 2, server: "agent_servers.a".to_owned() });
}

#[test]
fn a_file_that_does_not_parse_is_refused_with_its_line() {
    let table: &[tenure_app_config::TablePath] = &[&["mcpServers"]];
    let refused =
        wrap("{\n  \"mcpServers\": {\n    \"a\" {}\n}", Syntax::Json, table, TENURE).expect_err("bad");
    assert!(matches!(refused, BadFile::Syntax { line: 3, .. }), "{refused}");
    let refused = wrap("a = 1\n\nb = = 2\n", Syntax::Toml, table, TENURE).expect_err("bad");
    assert!(matches!(refused, BadFile::Syntax { line: 3, .. }), "{refused}");
}

/// Random edits of the corpus: what still parses goes there and back without a change.
#[test]
fn no_edit_of_a_file_makes_a_byte_get_lost() {
    let pieces = [
        "\"",
        ",",
        "{",
        "}",
        "[",
        "]",
        ":",
        "//x\n",
        "/* */",
        "\n",
        " ",
        "#y\n",
        "=",
        "\\",
        "--",
        "é",
        "\"args\": [],",
        "\"guard\"",
        "a.b = 1\n",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below.max(1) as u64).expect("small")
    };
    let mut parsed = 0;
    for (name, file, text) in corpus().iter().cycle().take(12_000) {
        let mut chars: Vec<char> = text.chars().collect();
        for _ in 0..=next(3) {
            let (at, len) = (next(chars.len() + 1), next(4));
            let end = (at + len).min(chars.len());
            chars.splice(at..end, pieces[next(pieces.len())].chars());
        }
        let edited: String = chars.into_iter().collect();
        let Ok(guarded) = wrap(&edited, file.syntax, file.tables, TENURE) else { continue };
        parsed += 1;
        match unwrap(&guarded.text, file.syntax, file.tables) {
            // A file in which a guard stood before is unwrapped as well.
            Ok(restored) if !edited.contains("tenure") => assert_eq!(restored.text, edited, "{name}"),
            Ok(_) | Err(BadFile::Comment { .. }) => {}
            Err(error) => panic!("{name}: {error}:\n{}", guarded.text),
        }
    }
    assert!(parsed > 1_000, "only {parsed} of the edited files parsed");
}

#[test]
fn each_application_has_its_files_where_it_looks_for_them() {
    let directories = Directories {
        home: "/home/ann".into(),
        config: "/home/ann/.config".into(),
        claude: None,
        codex: None,
    };
    let files: Vec<_> = APPS
        .iter()
        .map(|app| {
            format!(
                "{} {} {}",
                app.name,
                app.user_file(&directories).path.display(),
                app.project_file(Path::new("/p")).path.display()
            )
        })
        .map(|line: String| line.replace('\\', "/"))
        .collect();
    assert_eq!(
        files,
        [
            "claude /home/ann/.claude.json /p/.mcp.json",
            "codex /home/ann/.codex/config.toml /p/.codex/config.toml",
            "zed /home/ann/.config/zed/settings.json /p/.zed/settings.json",
            "cursor /home/ann/.cursor/mcp.json /p/.cursor/mcp.json",
            "vscode /home/ann/.config/Code/User/mcp.json /p/.vscode/mcp.json",
            "gemini /home/ann/.gemini/settings.json /p/.gemini/settings.json",
        ]
    );
}
