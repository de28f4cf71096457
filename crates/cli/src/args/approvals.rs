//! The command lines of `tenure approvals` and `tenure allowlist`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
A command that waits for approval has the id that its run will have. What an ACP agent asks is answered by one of the
options that it offers.
Allowed always: the same command in the same directory needs no asking from then on.

Examples:
  tenure approvals
  tenure approvals show 3f2
  tenure approvals allow-once 3f2
  tenure approvals choose 3f2 allow_once
  tenure approvals deny 3f2 a07")]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ApprovalsVerb>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsVerb {
    /// List what waits for an answer; what `tenure approvals` alone does.
    #[command(after_help = "Examples:\n  tenure approvals list\n  tenure approvals list --all --json")]
    List(ApprovalsListArgs),
    /// Print one question, all of it.
    #[command(after_help = "Examples:\n  tenure approvals show 3f2\n  tenure approvals show 3f2 --json")]
    Show(ShowArgs),
    /// Let commands run this time.
    #[command(after_help = "Example:\n  tenure approvals allow-once 3f2")]
    AllowOnce(ApprovalIds),
    /// Let commands run, now and without asking from then on.
    #[command(after_help = "Example:\n  tenure approvals allow-always 3f2")]
    AllowAlways(ApprovalIds),
    /// Let commands not run.
    #[command(after_help = "Example:\n  tenure approvals deny 3f2 a07")]
    Deny(ApprovalIds),
    /// Answer what an ACP agent asks with one of the options that it offers.
    #[command(after_help = "Example:\n  tenure approvals choose 3f2 allow_once")]
    Choose(ChooseArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsListArgs {
    /// Also those that were answered or have expired.
    #[arg(long, short)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The question; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalIds {
    /// The commands; any unique beginnings of their ids.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ChooseArgs {
    /// The question; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The id of the option, as the list shows it.
    #[arg(value_name = "OPTION")]
    pub(crate) option: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A program is an absolute path, which may hold *, or a bare name that is looked up in the PATH.

Examples:
  tenure allowlist
  tenure allowlist add git --args 'status|diff( .*)?'
  tenure allowlist add '/usr/bin/*sum' --agent builder
  tenure allowlist remove 7")]
pub(crate) struct AllowlistArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AllowlistVerb>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AllowlistVerb {
    /// List what needs no asking; what `tenure allowlist` alone does.
    #[command(after_help = "Examples:\n  tenure allowlist list\n  tenure allowlist list --json")]
    List,
    /// Let a program run without asking.
    #[command(after_help = "\
Without --args the program runs with any arguments, in any directory, and may do all that it can there, what files
tell it to do included (a Makefile, a repository's configuration and hooks). Only arguments that are known to run other
programs, to write to files, or to have it look elsewhere for what to do are still asked about: git -C, sort -o, make -f.
A link that PROGRAM's * matches is allowed if what it leads to is matched, too.

Examples:
  tenure allowlist add /usr/bin/make
  tenure allowlist add git --args 'status|diff( .*)?' --agent builder")]
    Add(AllowArgs),
    /// Take entries out of it.
    #[command(after_help = "Example:\n  tenure allowlist remove 7")]
    Remove(AllowedIds),
}

#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// The program: an absolute path, which may hold *, or a bare name.
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: String,
    /// A regular expression that its arguments match as a whole, joined by blanks [default: any but dangerous ones].
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Only for this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AllowedIds {
    /// The entries' numbers, as the list shows them.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}
