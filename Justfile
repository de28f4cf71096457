# What people and CI run. `just` lists the recipes.
_default:
    @just --list

# Everything that must pass: set-up, format, lints, tests, docs, spelling.
check:
    ./check

# The tests, or those that match: just test bomb
test *filter:
    cargo nextest run --workspace {{filter}}

# Tenure itself: just run run -- echo hello
run *args:
    cargo run --release -- {{args}}

# Start, output, stop, memory and the API, each against the same done raw in the same minute: just bench start pty
bench *args:
    cargo run --release -p tenure-it --bin bench -- {{args}}

# Real MCP hosts from npm call Tenure's tools, driven by a scripted model on loopback: just real-agents claude
real-agents *hosts:
    [ -n "${TENURE:-}" ] || cargo build --bin tenure
    scripts/real-agents/run {{hosts}}

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
