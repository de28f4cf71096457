# What people and CI run. `just` lists the recipes.
_default:
    @just --list

# Everything that a change must pass, or with --all the longer parts as well: just check --all
check *args:
    ./check {{args}}

# The tests, or those that match: just test bomb
test *filter:
    cargo nextest run --workspace {{filter}}

# All tests, the long ones and whole ranges of values too.
test-all *filter:
    TENURE_TEST_ALL=1 cargo nextest run --workspace --profile all {{filter}}

# The same with programs that begin late, so that whoever does not wait for them is found: just shake tree
shake *filter:
    LATE_MS=700 cargo nextest run -p tenure-it {{filter}}

# Accept every text as it is now (help, errors, tables, JSON); read the diff. The command line prints the daemon's answers.
snapshots:
    INSTA_UPDATE=always cargo nextest run -p tenure-daemon --lib faces
    INSTA_UPDATE=always cargo nextest run -p tenure-cli --lib faces

# Write the generated tables in the documents (settings, codes, events, metrics …) anew; read the diff.
docs-tables:
    DOCS_TABLES=write cargo nextest run -p tenure-cli --lib docs_tables

# Record README's terminal picture with the real program.
demo:
    cargo build --release
    scripts/demo target/release/tenure docs/demo.svg

# Tenure itself: just run run -- echo hello
run *args:
    cargo run --release -- {{args}}

# Start, output, stop, memory and the API, each against the same done raw in the same minute: just bench start pty
bench *args:
    cargo run --release -p tenure-it --bin bench -- {{args}}

# Daemons are killed so often, at every point between an end and its acceptance and at any moment: just chaos-tasks 5000
chaos-tasks kills="1000":
    CHAOS_KILLS={{kills}} cargo nextest run -p tenure-it --profile chaos tasks::crash:: --no-capture

# MCP clients that others wrote, against a fresh daemon; they are installed into target/mcp.
mcp-conformance *binary:
    scripts/mcp-conformance/run {{binary}}

# Real agents from npm call Tenure's tools and carry out its sessions' turns, with a scripted model: just real-agents codex-acp
real-agents *agents:
    [ -n "${TENURE:-}" ] || cargo build --bin tenure
    scripts/real-agents/run {{agents}}

# Windows and macOS from Linux: clippy for both, tests for Windows under Wine, the link for macOS.
cross:
    scripts/cross/check

# Format the sources.
fmt:
    cargo fmt --all

# What clippy and cargo-deny have to say (advisories need github.com, so they are not in here).
lint:
    cargo clippy --workspace --all-targets -- -D warnings
    cargo deny check bans licenses sources

# The API's documentation.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace

# The manual pages, in target/man.
man:
    cargo run --release -- man target/man

# Fuzz one target for a while: just fuzz shell 60. Targets: clean, keys, paging, shell.
fuzz target seconds="60":
    command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
    RUSTC_BOOTSTRAP=1 cargo fuzz run {{target}} -- -max_total_time={{seconds}} -timeout=20 -rss_limit_mb=2048
