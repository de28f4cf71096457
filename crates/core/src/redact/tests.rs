//! The texts that are hidden, those that are not, and random texts that must not break the scan.

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn shown(command_words: &[&str]) -> String {
    command(&words(command_words)).join("␣")
}

#[test]
fn the_values_of_secret_options_are_hidden() {
    for option in [
        "--token",
        "--api-key",
        "--apikey",
        "--password",
        "--secret",
        "--secret-key",
        "--auth",
        "--auth-token",
        "--client-secret",
        "--access-key",
        "--db-pass",
        "--private-key",
        "--credentials",
        "--githubToken",
        "-token",
    ] {
        assert_eq!(shown(&["x", option, "s3 cr;et", "y"]), format!("x␣{option}␣***␣y"));
        assert_eq!(shown(&["x", &format!("{option}=s3 cr&et"), "y"]), format!("x␣{option}=***␣y"));
        assert_eq!(text(&format!("x {option} s3cret y")), format!("x {option} *** y"));
        assert_eq!(text(&format!("x {option}='s3 cret' y")), format!("x {option}='***' y"));
    }
}

#[test]
fn harmless_things_are_shown() {
    for word in [
        "--author me",
        "--keyboard de",
        "monkey=1",
        "tokenizer=bpe",
        "--tokenizer bpe",
        "--token-count 5",
        "--max-tokens 4096",
        "--max-tokens=8k",
        "max_tokens=100",
        "--token-limit 10",
        "--token-file /run/t",
        "-p 80",
        "--password-stdin now",
        "--no-auth build",
        "--auth-type basic",
        "PWD=/home",
        "--pass 2",
        "SSH_AUTH_SOCK=/tmp/s",
        "--sort-key name",
        "https://host/a@b",
        "git@github.com:a/b.git",
        "ssh://git@host/x",
        "https://me@host/",
        "unexpected token: '}'",
        "a secret: none",
        "api_token::new()",
        "task-force-of-the-north-2024",
        "sk-learn",
        "npm test",
        "eyJ.x",
        "AKIA",
        "-----BEGIN CERTIFICATE-----",
        "don't",
        "x --token",
        "--token; ls",
        "key=value",
    ] {
        assert_eq!(text(word), word);
        let split: Vec<&str> = word.split(' ').collect();
        assert_eq!(command(&words(&split)), words(&split));
    }
    assert_eq!(shown(&["x", "--token", "--verbose", "-q"]), "x␣--token␣--verbose␣-q");
}

#[test]
fn a_number_is_hidden_where_it_is_no_count() {
    assert_eq!(shown(&["--token", "12345"]), "--token␣***");
    assert_eq!(text("PASSWORD=12345"), "PASSWORD=***");
    assert_eq!(shown(&["--max-token-secret", "abc"]), "--max-token-secret␣***");
}

#[test]
fn variables_with_secret_names_are_hidden() {
    for name in
        ["GITHUB_TOKEN", "OPENAI_API_KEY", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "AWS_SECRET_ACCESS_KEY"]
    {
        assert_eq!(shown(&["env", &format!("{name}=a b;c"), "npm"]), format!("env␣{name}=***␣npm"));
        assert_eq!(text(&format!("{name}=abc npm")), format!("{name}=*** npm"));
    }
}

#[test]
fn secrets_in_a_line_for_the_shell_are_hidden_and_the_rest_is_shown() {
    for (line, expected) in [
        ("TOKEN=abc npm test; echo ok", "TOKEN=*** npm test; echo ok"),
        ("export TOKEN='a b' && x", "export TOKEN='***' && x"),
        ("TOKEN=a\\ b x", "TOKEN=*** x"),
        ("TOKEN=a'b c'd x", "TOKEN=*** x"),
        ("curl -H 'Authorization: Bearer abc' https://h", "curl -H 'Authorization: Bearer ***' https://h"),
        ("curl -H \"X-Api-Key: abc\" h", "curl -H \"X-Api-Key: ***\" h"),
        ("curl 'https://h/?access_token=abc&x=1'", "curl 'https://h/?access_token=***&x=1'"),
        ("curl -d '{\"api_key\": \"a b\", \"n\": 1}' h", "curl -d '{\"api_key\": \"***\", \"n\": 1}' h"),
        ("curl -d \"{\\\"token\\\":\\\"a b\\\"}\" h", "curl -d \"{\\\"token\\\":\\\"***\\\"}\" h"),
        ("bash -c \"TOKEN=abc npm\" x", "bash -c \"TOKEN=*** npm\" x"),
        ("bash -c \"env TOKEN=abc\" x", "bash -c \"env TOKEN=***\" x"),
        ("x --password \"a 'b' c\" y", "x --password \"***\" y"),
        ("x --password \"open end", "x --password \"***"),
    ] {
        assert_eq!(text(line), expected);
        assert_eq!(shown(&["sh", "-c", line]), format!("sh␣-c␣{expected}"));
        assert_eq!(shown(&["bash", "-lc", line]), format!("bash␣-lc␣{expected}"));
    }
}

#[test]
fn headers_in_one_word_are_hidden() {
    for (header, expected) in [
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("authorization:Basic dTpw", "authorization: Basic ***"),
        ("Proxy-Authorization: abc def", "Proxy-Authorization: ***"),
        ("X-Api-Key: abc", "X-Api-Key: ***"),
        ("Cookie: a=1; b=2", "Cookie: ***"),
        ("X-Auth-Token: a b", "X-Auth-Token: ***"),
        ("Accept: text/plain", "Accept: text/plain"),
    ] {
        assert_eq!(shown(&["curl", "-H", header, "h"]), format!("curl␣-H␣{expected}␣h"));
    }
    assert_eq!(shown(&["curl", "-HAuthorization: Bearer abc"]), "curl␣-HAuthorization: Bearer ***");
    assert_eq!(shown(&["curl", "--header=X-Api-Key: abc"]), "curl␣--header=X-Api-Key: ***");
    assert_eq!(text("Authorization: Bearer abc\nAccept: x"), "Authorization: Bearer ***\nAccept: x");
}

#[test]
fn what_stands_before_a_host_is_hidden() {
    for (url, expected) in [
        ("https://user:pass@host/x", "https://user:***@host/x"),
        ("postgres://app:p@ss@db:5432/x?y=a@b", "postgres://app:***@db:5432/x?y=a@b"),
        ("https://0123456789abcdef0123@github.com/a", "https://***@github.com/a"),
        ("https://0123456789abcdef0123:x-oauth-basic@h", "https://***@h"),
        ("redis://:pw@h", "redis://:***@h"),
    ] {
        assert_eq!(text(url), expected);
        assert_eq!(shown(&["git", "clone", url]), format!("git␣clone␣{expected}"));
        assert_eq!(shown(&[&format!("--url={url}")]), format!("--url={expected}"));
    }
}

#[test]
fn tokens_are_known_by_their_shape() {
    let long = "0123456789abcdefABCDEF0123456789abcdef01";
    for start in ["ghp_", "github_pat_", "sk-", "sk-ant-api03-", "xoxb-", "glpat-", "npm_", "hf_", "AIza"] {
        assert_eq!(text(&format!("got {start}{long}, sorry")), "got ***, sorry");
        assert_eq!(shown(&["x", &format!("{start}{long}")]), "x␣***");
    }
    assert_eq!(text("key AKIAIOSFODNN7EXAMPLE!"), "key ***!");
    assert_eq!(text("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig_x-y z"), "jwt *** z");
    assert_eq!(text(&format!("url=x.ghp_{long}")), "url=x.***");
}

#[test]
fn a_private_key_is_hidden_whole_even_if_it_is_cut_off() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMII\nabc\n-----END RSA PRIVATE KEY-----";
    assert_eq!(text(&format!("a {key} b")), "a *** b");
    assert_eq!(text(&format!("a {} b", &key[..38])), "a ***");
    assert_eq!(text("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"), "***\n");
}

/// A small deterministic generator.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

/// The pieces of random texts.
const PIECES: &[&str] = &[
    "--token",
    "--token=",
    "TOKEN=",
    "password",
    "password:",
    "Authorization:",
    "Bearer",
    "\"token\":",
    "\\\"",
    "\\",
    "'",
    "\"",
    " ",
    "\n",
    ";",
    "&",
    "=",
    ":",
    "://",
    "@",
    "/",
    "a",
    "s3cret",
    "***",
    "*",
    "é",
    "漢",
    "\u{1f600}",
    "ghp_0123456789abcdefghij",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
    "-----",
    "-c",
    "-",
    "--",
    "\0",
    "{",
    "}",
    ",",
    "max_tokens=",
    "5",
    "eyJhbGciOiJIU",
    ".",
    "api",
    "Key",
    "\u{feff}",
    "x@y",
    "\t",
    "$(",
    ")",
    "`",
];

#[test]
fn any_text_is_taken_and_a_second_time_changes_nothing() {
    let mut dice = Dice(7);
    for _ in 0..20_000 {
        let list: Vec<String> = (0..=dice.next(3))
            .map(|_| (0..dice.next(9)).map(|_| PIECES[dice.next(PIECES.len())]).collect())
            .collect();
        let once = text(&list[0]);
        assert_eq!(text(&once), once, "{:?}", list[0]);
        let once = command(&list);
        assert_eq!(command(&once), once, "{list:?}");
        assert_eq!(once.len(), list.len());
    }
}

#[test]
fn a_long_text_takes_time_in_proportion() {
    for piece in [
        "://",
        "--token ",
        "-----BEGIN ",
        "\"token\":",
        "\\\"",
        "ghp_",
        "'",
        "a.",
        "TOKEN='",
        "sk-",
        "eyJ-",
        "a:",
        "x@",
    ] {
        let long = piece.repeat(50_000 / piece.len());
        assert!(text(&long).len() <= long.len() + HIDDEN.len());
    }
}

#[test]
fn the_secrets_of_programs_short_options_are_hidden() {
    for (line, hidden) in [
        ("mysql -u root -pS3cret db", "mysql -u root -p*** db"),
        ("/usr/bin/mariadb-dump -pS3cret --all", "/usr/bin/mariadb-dump -p*** --all"),
        ("sshpass -p S3cret ssh -p 22 me@host", "sshpass -p *** ssh -p *** me@host"),
        ("sshpass -pS3cret ssh host", "sshpass -p*** ssh host"),
        ("curl -u me:S3cret https://h/", "curl -u me:*** https://h/"),
        ("curl -ume:S3cret https://h/", "curl -ume:*** https://h/"),
        ("curl -sSu me:S3cret https://h/", "curl -sSu me:*** https://h/"),
        ("curl --user me:S3cret https://h/", "curl --user me:*** https://h/"),
        ("docker login -u me -p S3cret reg", "docker login -u me -p *** reg"),
        ("redis-cli -a S3cret ping", "redis-cli -a *** ping"),
        ("smbclient -U me%S3cret //h/s", "smbclient -U me%*** //h/s"),
        ("curl https://h/b?sv=1&sig=S3cret&key=S3cret", "curl https://h/b?sv=1&sig=***&key=***"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        // Behind sshpass, ssh's own -p is hidden too: better than a password shown.
        assert_eq!(shown(&words), hidden.replace(' ', "␣"), "{line}");
        assert_eq!(text(line), hidden, "{line}");
        assert_eq!(text(&format!("cd x; {line}")), format!("cd x; {hidden}"), "{line}");
        assert_eq!(shown(&["sh", "-c", line]), format!("sh␣-c␣{hidden}"), "{line}");
    }
    assert_eq!(text("curl -u 'me:S3 cret' h"), "curl -u 'me:***' h");
    assert_eq!(text("mysql -p\"S3 cret\" db"), "mysql -p\"***\" db");
    assert_eq!(shown(&["curl", "-u", "me:S3 cr;et", "h"]), "curl␣-u␣me:***␣h");
}

#[test]
fn the_same_letters_are_harmless_elsewhere() {
    for line in [
        "ssh -p22 host",
        "ssh -p 22 host",
        "mkdir -p dir",
        "docker run -p8080:80 -p 9090:90 image",
        "serve -p8080",
        "mysql -u root -p db",
        "mysql -P3306 -h host",
        "curl -u me https://h/",
        "curl -o out -sSL https://h/p?page=2&sort=key",
        "sort -u file:x",
        "ps -u me:x",
        "mysql -e x; mkdir -pv dir",
        "echo key=5 sig=4",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(text(line), line);
        if !line.contains(';') {
            assert_eq!(shown(&words), line.replace(' ', "␣"));
        }
    }
}
