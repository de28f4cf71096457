//! The command lines of `tenure approvals` and `tenure allowlist`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
A request is a command that waits before exec starts it, with the id of its run, or a question of an ACP agent, with the \
options that the agent offers. Of these, allow-once, allow-always and deny choose the first of their kind.",
    codes: usual_codes!("request"),
    examples: [
        "tenure approvals",
        "tenure approvals show 3f2a",
        "tenure approvals allow-once 3f2a",
        "tenure approvals choose 3f2a allow_once",
        "tenure approvals deny 3f2a a07c",
    ],
))]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ApprovalsVerb>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsVerb {
    /// List open requests (same as `tenure approvals`).
    #[command(after_help = sections!(
        codes: usual_codes!(),
        examples: ["tenure approvals list", "tenure approvals list --all --json"],
    ))]
    List(ApprovalsListArgs),
    /// Show one request in full.
    #[command(after_help = sections!(
        codes: usual_codes!("request"),
        examples: ["tenure approvals show 3f2a", "tenure approvals show 3f2a --json"],
    ))]
    Show(ShowArgs),
    /// Allow requests this time.
    #[command(after_help = sections!(
        codes: usual_codes!("request"),
        examples: ["tenure approvals allow-once 3f2a"],
    ))]
    AllowOnce(ApprovalIds),
    /// Allow requests now and in future.
    #[command(after_help = sections!(
        notes: "From now on, exec starts the same command in the same directory without asking.",
        codes: usual_codes!("request"),
        examples: ["tenure approvals allow-always 3f2a"],
    ))]
    AllowAlways(ApprovalIds),
    /// Refuse requests.
    #[command(after_help = sections!(
        codes: usual_codes!("request"),
        examples: ["tenure approvals deny 3f2a a07c"],
    ))]
    Deny(ApprovalIds),
    /// Answer an ACP agent's request with one of its options.
    #[command(after_help = sections!(
        codes: usual_codes!("request"),
        examples: ["tenure approvals choose 3f2a allow_once"],
    ))]
    Choose(ChooseArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsListArgs {
    /// List answered and expired requests, too.
    #[arg(long, short)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Request id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalIds {
    /// Request ids, or unique beginnings of at least 4 characters.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ChooseArgs {
    /// Request id, or a unique beginning of at least 4 characters.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Id of the option, as `tenure approvals` shows it.
    #[arg(value_name = "OPTION")]
    pub(crate) option: String,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "A program is an absolute path, which may contain *, or a name that is searched in PATH.",
    codes: usual_codes!("entry"),
    examples: [
        "tenure allowlist",
        "tenure allowlist add git --args 'status|diff( .*)?'",
        "tenure allowlist add '/usr/bin/*sum' --agent builder",
        "tenure allowlist remove 7",
    ],
))]
pub(crate) struct AllowlistArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AllowlistVerb>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AllowlistVerb {
    /// List the entries (same as `tenure allowlist`).
    #[command(after_help = sections!(
        codes: usual_codes!(),
        examples: ["tenure allowlist list", "tenure allowlist list --json"],
    ))]
    List,
    /// Let a program run without asking.
    #[command(after_help = sections!(
        notes: "\
Without --args the program runs with any arguments in any directory, and may do whatever files there tell it to do (a \
Makefile, a repository's configuration and hooks). Only arguments that run other programs, write files or read instructions from \
elsewhere still need approval: git -C, sort -o, make -f.\n\n\
A symbolic link that matches PROGRAM's * is allowed if its target matches, too.",
        codes: usual_codes!(),
        examples: [
            "tenure allowlist add /usr/bin/make",
            "tenure allowlist add git --args 'status|diff( .*)?' --agent builder",
        ],
    ))]
    Add(AllowArgs),
    /// Remove entries.
    #[command(after_help = sections!(
        codes: usual_codes!("entry"),
        examples: ["tenure allowlist remove 7"],
    ))]
    Remove(AllowedIds),
}

#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// Absolute path, which may contain *, or a name.
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: String,
    /// Regular expression for the arguments [default: all but dangerous].
    ///
    /// The expression must match all arguments, joined by spaces.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Allow the program for this agent only.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AllowedIds {
    /// Entry ids, as `tenure allowlist` shows them.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}
