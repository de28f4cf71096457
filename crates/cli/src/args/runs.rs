//! The command lines of `tenure run`, `wait`, `cancel`, `write` and `rm`.

use super::values::{
    ActivityArg, Limit, OnEscapeArg, OrphanArg, StdinArg, cpus, limit, number, rlimit, word,
};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::ffi::OsString;
use std::path::PathBuf;
use tenure_core::resources::Rlimit;
use tenure_core::task::NotifyPolicy;

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
Stdin, stdout, stderr and the exit code are the command's. Ctrl-C ends the run, a second Ctrl-C kills it at once; with \
--pty the keys go to the program.\n\n\
Durations: 500ms, 2s, 5m, 1h; 0 is off.",
    codes: concat!("\n  N      the command's own exit code", run_codes!()),
    examples: [
        "tenure run -- npm test",
        "tenure run --timeout 5m --grace 10s -- make check",
        "tenure run --no-output-timeout 2m --activity cpu -- ./build.sh",
        "tenure run --pty -- vim notes.txt",
        "id=$(tenure run --bg --label web -- npm run dev)",
    ],
))]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line are bools")]
pub(crate) struct RunArgs {
    /// Start in the background and print the run's id.
    #[arg(long)]
    pub(crate) bg: bool,
    /// Give the command a terminal of its own.
    #[arg(long)]
    pub(crate) pty: bool,
    /// Start in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set an environment variable; may be repeated.
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<OsString>,
    /// End the run after this long.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// End the run after this long without output.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) no_output_timeout: Option<Limit>,
    /// Activity that restarts --no-output-timeout.
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    pub(crate) activity: ActivityArg,
    /// Time between SIGTERM and SIGKILL [default: 5s].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) grace: Option<Limit>,
    /// Session that the run belongs to.
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// Allow only one live run with this key.
    #[arg(long, value_name = "KEY")]
    pub(crate) scope: Option<String>,
    /// End the scope's live run first.
    ///
    /// The new run starts when the old one's whole tree is gone.
    #[arg(long, requires = "scope")]
    pub(crate) replace: bool,
    /// Name for people, shown in lists.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// With --bg: events to notify the session of [default: the end].
    ///
    /// `done_only` is the end; `state_changes` is also the start and the progress; `silent` is nothing.
    #[arg(long, value_name = "WHAT", requires = "bg", value_parser = word(NotifyPolicy::ALL, NotifyPolicy::word))]
    pub(crate) notify: Option<NotifyPolicy>,
    /// Treatment of a process that leaves the session and stays.
    ///
    /// This concerns processes that call setsid or daemonize, and that are alive when the command has exited.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) on_escape: OnEscapeArg,
    /// Treatment of the run when its owner is lost.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) orphan: OrphanArg,
    /// With --bg: end the run this long after its owner is lost.
    ///
    /// Without this flag, a run in the background has no owner.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) orphan_grace: Option<Limit>,
    /// Limit the memory of the whole tree, as in 512MiB.
    ///
    /// Needs a cgroup with the memory controller.
    #[arg(long, value_name = "BYTES", value_parser = tenure_settings::size)]
    pub(crate) memory: Option<u64>,
    /// Limit the CPUs of the whole tree, as in 1.5.
    ///
    /// Needs a cgroup with the cpu controller.
    #[arg(long, value_name = "N", value_parser = cpus)]
    pub(crate) cpus: Option<u32>,
    /// Limit the processes and threads of the whole tree.
    ///
    /// Needs a cgroup with the pids controller.
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub(crate) processes: Option<u32>,
    /// Set a system limit for each process; may be repeated.
    ///
    /// The names are as, cpu, nproc, fsize, nofile, core, stack and memlock.
    #[arg(long, value_name = "NAME=N", value_parser = rlimit)]
    pub(crate) rlimit: Vec<(Rlimit, u64)>,
    /// Source of stdin [default: inherit, with --bg closed].
    #[arg(long, value_name = "FROM", value_enum)]
    pub(crate) stdin: Option<StdinArg>,
    /// Print only the command's output.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the run's record as JSON, on the last line of stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Program and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    codes: concat!(
        "
  N      the first exit code of the runs that is not 0, in the order of the ids
  4      no such run",
        run_codes!(),
    ),
    examples: ["tenure wait 3f2a", "tenure wait --timeout 1m 3f2a a07c; echo $?"],
))]
pub(crate) struct WaitArgs {
    /// Run ids, or unique beginnings of them.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Give up after this long with exit code 124; the runs continue.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// Print the runs' records as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
Every process of the tree gets SIGTERM, and SIGKILL after the grace. This returns when the runs were told to end; \
`tenure wait` waits for the end. A run that has ended stays as it is.",
    codes: usual_codes!("run"),
    examples: ["tenure cancel 3f2a", "tenure cancel --now 3f2a a07c", "tenure cancel --session agent:main:7"],
))]
pub(crate) struct CancelArgs {
    /// Run ids, or unique beginnings of at least 4 characters.
    #[arg(value_name = "ID", required_unless_present_any = ["scope", "session", "agent"])]
    pub(crate) ids: Vec<String>,
    /// Cancel the live run of this scope.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["ids", "session", "agent"], value_parser = NonEmptyStringValueParser::new())]
    pub(crate) scope: Option<String>,
    /// Cancel every live run of this session.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["ids", "agent"], value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// Cancel every live run of this agent's sessions.
    #[arg(long, value_name = "NAME", conflicts_with = "ids", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: Option<String>,
    /// Kill at once, without the grace.
    #[arg(long)]
    pub(crate) now: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "The run needs an open stdin: start it with --pty or --stdin open.",
    codes: usual_codes!("run"),
    examples: [
        "id=$(tenure run --bg --stdin open -- sort)",
        "printf 'b\\na\\n' | tenure write --eof $id",
        "tenure write 3f2a yes",
    ],
))]
pub(crate) struct WriteArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Data to write [default: read from stdin].
    #[arg(value_name = "DATA")]
    pub(crate) data: Option<OsString>,
    /// Close the run's stdin afterwards.
    #[arg(long)]
    pub(crate) eof: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "A live run is cancelled first, and removed when its whole tree is gone.",
    codes: usual_codes!("run"),
    examples: ["tenure rm 3f2a a07c"],
))]
pub(crate) struct RmArgs {
    /// Run ids, or unique beginnings of at least 4 characters.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}
