//! Lines of honest and of hostile callers.

mod everyday;
mod fuzz;
mod hostile;
mod oracle;

use super::*;
use std::path::PathBuf;

fn argvs(line: &str) -> Vec<Vec<String>> {
    let analysis = analyse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
    analysis.segments().iter().map(|segment| segment.argv().to_vec()).collect()
}

fn why(line: &str) -> Why {
    match analyse(line) {
        Ok(analysis) => panic!("{line:?} was accepted: {analysis:?}"),
        Err(error) => error.why,
    }
}

#[test]
fn plain_commands_are_taken_apart() {
    let table: &[(&str, &[&[&str]])] = &[
        ("git status", &[&["git", "status"]]),
        ("  git\t status  ", &[&["git", "status"]]),
        ("git  status", &[&["git", "status"]]),
        ("\"git\" status", &[&["git", "status"]]),
        ("g\\it status", &[&["git", "status"]]),
        ("g''i\"\"t 'sta'tus", &[&["git", "status"]]),
        ("git status; rm -rf /", &[&["git", "status"], &["rm", "-rf", "/"]]),
        ("git status\nrm", &[&["git", "status"], &["rm"]]),
        ("git status;", &[&["git", "status"]]),
        ("\n\na\n\nb\n\n", &[&["a"], &["b"]]),
        ("a;b", &[&["a"], &["b"]]),
        ("a ;\nb", &[&["a"], &["b"]]),
        ("a &&\n\n b", &[&["a"], &["b"]]),
        ("a | # why\n b", &[&["a"], &["b"]]),
        ("echo 'a\nb'", &[&["echo", "a\nb"]]),
        ("echo \"a\nb\"", &[&["echo", "a\nb"]]),
        ("echo \"a\\\nb\"", &[&["echo", "ab"]]),
        ("echo 'a\\\nb'", &[&["echo", "a\\\nb"]]),
        ("echo a \\\n b", &[&["echo", "a", "b"]]),
        ("a |\\\nb", &[&["a"], &["b"]]),
        ("echo a # b; c", &[&["echo", "a"]]),
        ("echo a#b \\#c '#d'", &[&["echo", "a#b", "#c", "#d"]]),
        ("# a\necho b", &[&["echo", "b"]]),
        ("echo '' \"\"", &[&["echo", "", ""]]),
        ("echo '$(id)' '`id`' '*' '~' '{a,b}'", &[&["echo", "$(id)", "`id`", "*", "~", "{a,b}"]]),
        ("echo \\$x \"\\$x\" \\` \"\\`\"", &[&["echo", "$x", "$x", "`", "`"]]),
        (r#"echo "a\b\"c\\""#, &[&["echo", r#"a\b"c\"#]]),
        (r"echo \\ \; \| \&", &[&["echo", "\\", ";", "|", "&"]]),
        ("echo \"it's\" 'say \"x\"'", &[&["echo", "it's", "say \"x\""]]),
        ("echo \"a;b|c&d<e>f(g)*?~!\"", &[&["echo", "a;b|c&d<e>f(g)*?~!"]]),
        ("[ -f x ]", &[&["[", "-f", "x", "]"]]),
        ("find . ! -name x", &[&["find", ".", "!", "-name", "x"]]),
        ("test a != b", &[&["test", "a", "!=", "b"]]),
        ("find . -exec x {} +", &[&["find", ".", "-exec", "x", "{}", "+"]]),
        ("git show HEAD~1 HEAD^ x~", &[&["git", "show", "HEAD~1", "HEAD^", "x~"]]),
        ("make A=1 if then }", &[&["make", "A=1", "if", "then", "}"]]),
        ("\"time\" x", &[&["time", "x"]]),
        ("echo \"“\" 'a\u{a0}b' é 日本", &[&["echo", "“", "a\u{a0}b", "é", "日本"]]),
        ("/bin/ls -la --color=no a,b:c@d%e+f", &[&["/bin/ls", "-la", "--color=no", "a,b:c@d%e+f"]]),
    ];
    for (line, wanted) in table {
        assert_eq!(argvs(line), *wanted, "{line:?}");
    }
}

#[test]
fn what_only_the_lexer_reads_is_refused() {
    let table: &[(&str, &[&[&str]], usize)] = &[
        // A line may be broken between words, but not in a word, in an operator or after the last one.
        ("echo a\\\nb", &[&["echo", "ab"]], 5),
        ("echo a\\\n#b", &[&["echo", "a#b"]], 5),
        ("a &\\\n& b", &[&["a"], &["b"]], 5),
        ("echo a \\\n", &[&["echo", "a"]], 6),
        // The parser ends a word early where an escaped character follows a quote, or an escaped tab follows
        // anything.
        ("echo 'a'\\ b", &[&["echo", "a b"]], 5),
        ("echo \"a\"\\(b", &[&["echo", "a(b"]], 5),
        ("echo a\\\tb", &[&["echo", "a\tb"]], 5),
        ("a\n\\b", &[&["a"], &["b"]], 1),
        // The parser knows more operators and fewer names.
        ("echo ==", &[&["echo", "=="]], 5),
        ("[ a=b ]", &[&["[", "a=b", "]"]], 0),
        ("a%", &[&["a%"]], 0),
        ("echo ] }", &[&["echo", "]", "}"]], 5),
    ];
    for (line, wanted, _) in table {
        let lexed = lex::Lexer::new(line).analysis().unwrap();
        let argvs: Vec<_> = lexed.segments().iter().map(|segment| segment.argv().to_vec()).collect();
        assert_eq!(argvs, *wanted, "{line:?}");
        assert_eq!(why(line), Why::TwoReadings, "{line:?}");
    }
    let ats: Vec<_> = table.iter().map(|(line, ..)| analyse(line).unwrap_err().at).collect();
    let wanted: Vec<_> = table.iter().map(|(.., at)| *at).collect();
    assert_eq!(ats, wanted);
}

#[test]
fn joins_are_kept_in_their_order() {
    let analysis = analyse("a && b || c | d; e\nf").unwrap();
    assert_eq!(analysis.joins(), [Join::And, Join::Or, Join::Pipe, Join::Then, Join::Newline]);
    assert_eq!(analysis.segments().len(), 6);
    assert_eq!(analyse("a\n;").unwrap_err().why, Why::MissingCommand(";"));
    assert!(analyse("a;\n\n").unwrap().joins().is_empty());
}

#[test]
fn what_a_shell_would_interpret_is_refused() {
    let table: &[(&str, Why)] = &[
        ("git status &", Why::Background),
        ("a & b", Why::Background),
        ("echo $(id)", Why::Substitution),
        ("echo \"$(id)\"", Why::Substitution),
        ("a`b`", Why::Substitution),
        ("\"a`b`\"", Why::Substitution),
        ("echo $x", Why::Expansion),
        ("echo \"${x}\"", Why::Expansion),
        ("echo $((1+1))", Why::Expansion),
        ("echo $'x'", Why::Expansion),
        ("echo $\"x\"", Why::Expansion),
        ("echo a$", Why::Expansion),
        ("$x", Why::Expansion),
        ("cat <(x)", Why::Redirection),
        ("tee >(x)", Why::Redirection),
        ("x > y", Why::Redirection),
        ("x 2>&1", Why::Redirection),
        ("x &> y", Why::Redirection),
        ("x <<E\nE", Why::Redirection),
        ("x <<< y", Why::Redirection),
        ("> y", Why::Redirection),
        ("x |& y", Why::PipeBoth),
        ("(a)", Why::Parenthesis),
        ("a() { b; }", Why::Parenthesis),
        ("ls *.c", Why::Pattern('*')),
        ("ls a?", Why::Pattern('?')),
        ("ls [ab]", Why::Pattern('[')),
        ("ls a[", Why::Pattern('[')),
        ("echo a{b,c}", Why::Brace),
        ("echo {1..3}", Why::Brace),
        ("echo {}x", Why::Brace),
        ("echo y{},a}x", Why::Brace),
        ("~/x", Why::Tilde),
        ("ls ~", Why::Tilde),
        ("ls ~root", Why::Tilde),
        ("make X=~/y", Why::Tilde),
        ("make X=a:~/y", Why::Tilde),
        ("!!", Why::Bang),
        ("echo !x", Why::Bang),
        ("!x", Why::Bang),
        ("%1", Why::OddCommand('%')),
        ("=ls", Why::OddCommand('=')),
        ("-x", Why::OddCommand('-')),
        ("case x in x) a;; esac", Why::Reserved("case".into())),
        ("a;;b", Why::DoubleSemicolon(";;")),
        ("a;&b", Why::DoubleSemicolon(";&")),
        ("''", Why::EmptyCommand),
        ("\"\" x", Why::EmptyCommand),
        ("", Why::Empty),
        (" \n\t", Why::Empty),
        ("# a", Why::Empty),
        ("\\\n", Why::Empty),
        ("; a", Why::MissingCommand(";")),
        ("a && ; b", Why::MissingCommand(";")),
        ("a &&", Why::MissingCommand("&&")),
        ("a ||\n# b", Why::MissingCommand("||")),
        ("| a", Why::MissingCommand("|")),
        ("a | | b", Why::MissingCommand("|")),
        ("a ||| b", Why::MissingCommand("|")),
        ("echo 'a", Why::OpenQuote("single")),
        ("echo \"a", Why::OpenQuote("double")),
        ("echo \"a\\\"", Why::OpenQuote("double")),
        ("echo a\\", Why::LastBackslash),
        ("git status\r\n", Why::Control(0x0d)),
        ("echo 'a\0b'", Why::Control(0)),
        ("echo '\u{1b}[2J'", Why::Control(0x1b)),
        ("echo \u{7f}", Why::Control(0x7f)),
        ("echo \u{85}", Why::Control(0x85)),
        ("echo '\u{202e}x'", Why::Invisible(0x202e)),
        ("echo \u{200b}", Why::Invisible(0x200b)),
        ("echo \u{2028}rm", Why::Invisible(0x2028)),
        ("echo “a; b”", Why::LookAlike('“')),
        ("echo ‘a’", Why::LookAlike('‘')),
        ("echo\u{a0}a", Why::LookAlike('\u{a0}')),
        ("echo a；b", Why::LookAlike('；')),
    ];
    for (line, wanted) in table {
        assert_eq!(why(line), *wanted, "{line:?}");
    }
}

#[test]
fn words_of_the_language_are_no_commands() {
    for line in [
        "if a; then b; fi",
        "for x in a; do b; done",
        "while a; do b; done",
        "until a; do b; done",
        "{ a; }",
        "} a",
        "! a",
        "time a",
        "coproc a",
        "function f",
        "select x in a",
        "[[ a ]]",
        "a; then b",
        "do a",
        "a | time b",
    ] {
        assert!(matches!(why(line), Why::Reserved(_)), "{line:?}: {}", why(line));
    }
}

#[test]
fn assignments_name_the_variable_to_pass() {
    for line in ["FOO=1 a", "FOO=", "FOO+=1 a", "a; FOO='x y' b", "F'OO'=1", "FOO\\=1"] {
        assert_eq!(why(line), Why::Assignment("FOO".into()), "{line:?}");
    }
}

#[test]
fn what_the_shell_does_itself_has_advice() {
    for name in [
        "cd", "export", "eval", ".", "source", "alias", "set", "exec", "trap", "builtin", "command", ":",
        "exit", "unset", "read", "umask", "wait", "type", "pushd", "'cd'", "\\cd", "c\"d\"",
    ] {
        let line = format!("a && {name} x");
        assert!(matches!(why(&line), Why::Builtin { .. }), "{line:?}");
    }
    assert!(analyse("cd /x && ls").unwrap_err().to_string().contains("workdir"));
    assert!(analyse("echo cd").is_ok());
}

#[test]
fn a_refusal_says_where_and_what_to_do() {
    let error = analyse("git log > x").unwrap_err();
    assert_eq!(error.at, 8);
    let text = error.to_string();
    assert!(
        text.contains("byte 8") && text.contains("redirections") && text.contains("leave it out"),
        "{text}"
    );
}

#[test]
fn long_and_hostile_lines_are_bounded() {
    let long = "a".repeat(MAX_BYTES);
    assert_eq!(argvs(&long)[0][0].len(), MAX_BYTES);
    assert_eq!(why(&format!("{long}a")), Why::TooLong);
    assert_eq!(argvs(&vec!["a"; MAX_SEGMENTS].join(";")).len(), MAX_SEGMENTS);
    assert_eq!(why(&vec!["a"; MAX_SEGMENTS + 1].join("\n")), Why::TooManyCommands);
    for piece in [
        "(", "$(", "`", "{", "{ ", "\"$(", "if ", "'", "\"", "\\", "\\\n", "\n", "a ", "''", "\"\"", "#\n",
        "!",
    ] {
        let line = piece.repeat(MAX_BYTES / piece.len());
        // The result does not matter, only that it comes at once and without a deep stack.
        let _ = analyse(&line);
        let _ = analyse(&format!("a {}", &line[..line.len() - 2]));
    }
}

#[test]
fn a_line_is_rendered_with_nothing_left_to_interpret() {
    let analysis = analyse("git  log \"it's\" | wc -l && x").unwrap();
    let programs = ["/usr/bin/git", "/usr/bin/wc", "/opt/my x"].map(PathBuf::from);
    let wanted = r"'/usr/bin/git' 'log' 'it'\''s' | '/usr/bin/wc' '-l' && '/opt/my x'";
    assert_eq!(render(&analysis, &programs).unwrap(), wanted);
}

#[test]
fn programs_that_cannot_be_written_are_refused() {
    let analysis = analyse("a").unwrap();
    assert_eq!(render(&analysis, &[]), Err(Unrenderable::Count { segments: 1, programs: 0 }));
    assert!(matches!(render(&analysis, &["a".into()]), Err(Unrenderable::Relative { .. })));
}
