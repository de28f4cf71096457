//! Everyday lines of agents. Both readers must understand all of them.

use super::super::*;

#[rustfmt::skip]
const LINES: [&str; 79] = [
    "git log --oneline | grep fix | head -n 3 && echo found || echo none",
    "a | b | c && d; e | f | g || h",
    "cargo build\\\n  --release\\\n  --locked",
    "test a == b && echo same",
    "[ a = 'b c' ] || [ ! -f x ] || [ 1 -lt 2 ] || [ -n \"x\" -a a != b ]",
    "echo \"two  blanks\n  and a line\n\" \" \" \"\"",
    "printf '%s' 'it'\\''s' \"it\"\\''s' a\\ b\\ c",
    "git status --short --branch",
    "git log --oneline -n 20 --format='%h %an %s'",
    "git log --since=\"2 weeks ago\" --author='O'\\''Brien' -- src/",
    "git diff HEAD~1 HEAD^ -- crates/policy/src/shell.rs",
    "git diff origin/main...HEAD --stat | tail -n 1",
    "git commit -m \"fix: don't split words\" -m 'Second \"line\"'",
    "git commit -m \"shell: two readers\n\n- one lexer\n- one parser\n\"",
    "git rev-parse HEAD@'{1}' && git stash list",
    "git show HEAD:Cargo.toml | grep -n '^version'",
    "git checkout -b feature/two-readers#12",
    "git grep -nE 'fn (parse|lex)\\(' -- '*.rs'",
    "git config --get remote.origin.url || echo none",
    "cargo test -p tenure-policy -- --nocapture shell::tests",
    "cargo clippy --all-targets --all-features -- -D warnings",
    "cargo +nightly fmt --all -- --check; cargo build --release",
    "cargo build --features=a,b --target x86_64-unknown-linux-musl 'a::b'",
    "rustc --print cfg | sort -u | head -5",
    "npm ci && npm run build && npm test -- --watch=false",
    "npm install --save-dev typescript@5.4.2 @types/node",
    "npx eslint 'src/**/*.{ts,tsx}' --max-warnings 0",
    "npx prettier --write \"src/**/*.ts\" || true",
    "node -e 'console.log(JSON.stringify({a: 1, b: [2, 3]}))'",
    "node -e \"console.log('it works: ' + process.version)\"",
    "python3 -c 'import sys; print(sys.version_info[:2])'",
    "python3 -c \"import json; print(json.dumps({'a': 1}))\"",
    "python3 -c \"print(\\\"quoted\\\", 'and', \\\"more\\\\n\\\")\"",
    "python3 -c 'for x in range(3):\n    print(x)\n'",
    "python3 -m pytest -q tests/test_shell.py::test_words -k 'not slow'",
    "python -m venv .venv && .venv/bin/pip install -r requirements.txt",
    "pip install 'requests>=2,<3' \"flask[async]==3.0.*\"",
    "grep -rn \"TODO\\|FIXME\" src --include='*.rs'",
    "grep -E '^[a-z_]+\\s*=\\s*\"[^\"]*\"$' Cargo.toml",
    "grep -c \"a\\\\.b\" file.txt",
    "grep -v ^# /etc/hosts",
    "rg -n --hidden -g '!.git' 'unsafe \\{' crates",
    "rg \"fn\\s+(\\w+)\" -o -r '$1' src/lib.rs",
    "sed -n '10,20p' src/main.rs",
    "sed -i 's/foo\\/bar/baz/g; s|a|b|' x.txt",
    "sed -e \"s/it's/it is/\" -e '/^$/d' notes.md",
    "awk -F: '{ print $1 \" \" $7 }' /etc/passwd | sort | uniq -c | sort -rn",
    "awk 'NR==1 || /x/ {n++} END {print n}' a.txt",
    "find . -type f -name '*.rs' -not -path './target/*' | xargs wc -l",
    "find . -maxdepth 2 \\( -name a -o -name b \\) -print",
    "find . ! -name x -size +10k",
    "find src -newer Cargo.toml -mtime -1 | head",
    "ls -la --color=never /tmp; df -h .; uname -a",
    "cat a.txt b.txt | tr -s ' ' '\\n' | wc -l",
    "tail -n 100 /var/log/syslog | grep -i error || echo 'no errors'",
    "curl -sS -H 'Accept: application/json' \"https://api.example.com/v1/items?limit=5&page=2\"",
    "curl -X POST -H \"Content-Type: application/json\" -d '{\"a\": [1, 2], \"b\": \"it'\\''s\"}' http://localhost:8080/x",
    "curl -fsSL https://example.com/a#frag -o /dev/null -w '%{http_code}\\n'",
    "curl -u user:pa\\$\\$word --data-urlencode 'q=a b&c' https://x.test/~me/",
    "wget -qO- https://example.com/a%20b.tar.gz | tar tzf -",
    "jq '.items[] | select(.a == \"b\") | {id, n: .name}' data.json",
    "jq -r '.scripts | keys[]' package.json | sort",
    "jq --arg v 1.2 '.version = $v' package.json",
    "docker ps --format '{{.Names}}\\t{{.Status}}'",
    "docker inspect --format \"{{.State.Running}}\" web && docker logs --tail=50 web",
    "docker run --rm -v /work:/work -w /work rust:1.95 cargo test",
    "docker compose -f docker-compose.yml up -d --build",
    "kubectl get pods -n default -o jsonpath='{.items[*].metadata.name}'",
    "kubectl get pods -l 'app in (a,b)' --field-selector=status.phase!=Running",
    "gh pr list --json number,title --jq '.[] | \"\\(.number) \\(.title)\"'",
    "psql -c \"select count(*) from t where a = 'b' and c <> 1;\"",
    "sqlite3 db.sqlite 'select * from runs limit 5;'",
    "tar -czf out.tar.gz --exclude='*.log' dir/ && sha256sum out.tar.gz",
    "cargo build \\\n  --release \\\n  --locked &&\ncargo test",
    "# what is here\nls -1 # the names\npwd",
    "echo \"done: 100%\" ; printf '%s\\n' \"a b\" c\\ d",
    "test -f Cargo.toml && echo yes || echo no",
    "[ -d target ] && du -sh target | cut -f1",
    "echo 'héllo wörld' \"日本語\" naïve ✓ a=b 1 2.5 -3 0x1F",
];

#[test]
fn everyday_lines_are_analysed() {
    let refused: Vec<_> =
        LINES.iter().filter_map(|line| analyse(line).err().map(|error| (line, error))).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn the_parser_alone_reads_everyday_lines_as_the_lexer_alone_does() {
    for line in LINES {
        let lexed = lex::Lexer::new(line).analysis().unwrap();
        let reading = parse::read(line).unwrap();
        let words = |command: Vec<parse::Word>| command.into_iter().map(|word| word.text).collect::<Vec<_>>();
        let parsed: Vec<_> = reading.commands.into_iter().map(words).collect();
        let argvs: Vec<_> = lexed.segments().iter().map(|segment| segment.argv().to_vec()).collect();
        assert_eq!((parsed, &*reading.joins), (argvs, lexed.joins()), "{line:?}");
    }
}
