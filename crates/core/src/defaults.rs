//! Every default of the product, in one place.

use std::time::Duration;

/// How long a tree may take to leave after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long after the first SIGKILL the stop ladder is given up with the survivors named.
pub const GIVE_UP: Duration = Duration::from_secs(10);
/// How long a run goes on without a daemon before it is ended as `owner-lost`.
pub const ORPHAN_GRACE: Duration = Duration::from_mins(1);
/// How long those who outlive a root that ended by itself may take to finish before they are asked to leave.
pub const SETTLE: Duration = Duration::from_millis(200);
/// How long everything that forks is being stopped before what was stopped is killed.
pub const FREEZE: Duration = Duration::from_secs(2);
/// How long the output may stay open after the tree is gone.
pub const DRAIN: Duration = Duration::from_millis(200);
/// Columns and rows of a pty whose caller has no terminal.
pub const PTY_SIZE: (u16, u16) = (120, 30);
/// How many of the first bytes of a run's output are kept for good.
pub const OUTPUT_HEAD: u64 = 1 << 20;
/// How many of the last bytes of a run's output are kept.
pub const OUTPUT_TAIL: u64 = 256 << 20;
/// Minimum free disk space for keeping output, so that records can be written and removed; on a small disk a twentieth
/// of its size.
pub const OUTPUT_FREE_SPACE: u64 = 32 << 20;
/// Disk space set aside for the registry, for when the disk is full.
pub const DISK_RESERVE: u64 = 512 << 10;
/// How long finished runs are kept.
pub const KEEP_RUNS_FOR: Duration = Duration::from_hours(7 * 24);
/// How many finished runs are kept.
pub const KEEP_RUNS: u64 = 10_000;
/// How much output of finished runs is kept, in bytes.
pub const KEEP_RUN_BYTES: u64 = 10 << 30;
/// Time that the wall clock must agree with the machine's own clock before anything is removed for its age.
pub const CLOCKS_AGREE_FOR: Duration = Duration::from_hours(1);
/// Maximum difference between two clocks that agree.
pub const CLOCKS_MAY_DIFFER: Duration = Duration::from_mins(1);
/// How often finished runs and old events are looked through.
pub const TIDY_EVERY: Duration = Duration::from_mins(10);
/// How long events are kept.
pub const KEEP_EVENTS_FOR: Duration = Duration::from_hours(7 * 24);
/// How many events are kept.
pub const KEEP_EVENTS: u64 = 100_000;
/// How many runs may wait for their turn where there is a limit to how many there may be at a time.
pub const RUN_QUEUE: u64 = 1_000;
/// Maximum number of clients connected to the daemon's socket.
pub const CONNECTIONS: usize = 4096;
/// Additional connections for clients that ask for the daemon's health, or end something.
pub const SPARE_CONNECTIONS: usize = 64;
/// Maximum number of clients that follow events, output, sessions and terminals.
pub const FOLLOWERS: usize = 1024;
/// Maximum number of clients with the token that are connected to the loopback address.
pub const LOOPBACK_CONNECTIONS: usize = 256;
/// Maximum number of loopback clients that have not shown the token yet.
pub const LOOPBACK_STRANGERS: usize = 32;
/// Time limit for a client to show the token.
pub const LOOPBACK_HEAD: Duration = Duration::from_secs(2);
/// Maximum number of open MCP sessions over HTTP.
pub const MCP_HTTP_SESSIONS: usize = 256;
/// How long one file of the daemon's log may become, in bytes.
pub const LOG_BYTES: u64 = 10 << 20;
/// How many files of the daemon's log are kept.
pub const LOG_FILES: u64 = 5;
/// The least share of one CPU that counts as activity, in percent of the sampled interval.
pub const ACTIVE_CPU_PERCENT: u64 = 1;
/// The least I/O that counts as activity between two samples.
pub const ACTIVE_IO_BYTES: u64 = 64 << 10;
/// How much unwritten standard input a keeper holds before it refuses more.
pub const STDIN_QUEUE: u64 = 256 << 10;
/// How long a lease holds after its holder's last heartbeat.
pub const LEASE_TTL: Duration = Duration::from_secs(15);
/// How often a holder renews all its leases at once, and looks at the others'.
pub const HEARTBEAT: Duration = Duration::from_secs(5);
/// Time without a sign of life after which a warden replaces its daemon.
pub const REPLACE_AFTER: Duration = Duration::from_mins(1);
/// Time that a client waits for an answer before it probes the daemon.
pub const PROBE_AFTER: Duration = Duration::from_secs(2);
/// Maximum time between two probes while a client goes on waiting.
pub const PROBE_EVERY: Duration = Duration::from_secs(15);
/// Time limit for a daemon to answer a client's probe.
pub const PROBE_LIMIT: Duration = Duration::from_secs(8);
/// Time limit, beyond one heartbeat, for a daemon to bind a removed socket again.
pub const REBIND_MARGIN: Duration = Duration::from_secs(5);
/// How long a command of the exec tool may take.
pub const EXEC_TIMEOUT: Duration = Duration::from_mins(30);
/// How long the exec tool waits for a command before it goes on in the background.
pub const EXEC_YIELD: Duration = Duration::from_secs(10);
/// How long a question to a person can be answered.
pub const APPROVAL: Duration = Duration::from_mins(30);
/// What is typed to let go of an attached run.
pub const DETACH_KEYS: &str = "C-p C-q";
/// How many sessions may stand above a session.
pub const SESSION_DEPTH: usize = 5;
/// How many children of one session may be open at a time.
pub const SESSION_CHILDREN: usize = 20;
/// How many messages may wait for a session that is busy.
pub const SESSION_QUEUE: usize = 32;
/// How long closed sessions are kept.
pub const KEEP_SESSIONS_FOR: Duration = Duration::from_hours(30 * 24);
/// How many closed sessions are kept.
pub const KEEP_SESSIONS: u64 = 10_000;
/// How much of a turn's final text is kept, in bytes.
pub const TURN_TEXT: usize = 256 << 10;
/// How long one turn of an agent may take.
pub const AGENT_TURN: Duration = Duration::from_hours(1);
/// How long an ACP adapter is kept while it has nothing to do.
pub const ADAPTER_IDLE: Duration = Duration::from_mins(10);
/// How long tasks that have ended are kept.
pub const KEEP_TASKS_FOR: Duration = Duration::from_hours(7 * 24);
/// How long tasks are kept of which nobody knows how they ended.
pub const KEEP_LOST_TASKS_FOR: Duration = Duration::from_hours(24);
/// How long a task may go without anything behind it before it is lost.
pub const TASK_LOST_GRACE: Duration = Duration::from_mins(5);
/// How many of a task's latest events are kept.
pub const TASK_EVENTS: usize = 20;
/// How many characters a summary of a task has at most.
pub const TASK_SUMMARY: usize = 240;
/// How often a task's progress is noted at most.
pub const TASK_PROGRESS: Duration = Duration::from_secs(1);
/// How often an owner who wants to hear of changes hears of progress at most.
pub const TASK_CHANGES: Duration = Duration::from_secs(15);
/// How long a notice waits before a channel is used: an owner who polls or waits meanwhile is not told twice.
pub const NOTICE_HOLD: Duration = Duration::from_secs(1);
/// How often the delivery of a notice is tried before it is given up.
pub const NOTICE_TRIES: u32 = 12;
/// How long the first try is followed by none; each later pause is twice as long.
pub const NOTICE_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause between two tries.
pub const NOTICE_PAUSE_MOST: Duration = Duration::from_mins(10);
/// How long whoever delivers a notice has it to itself.
pub const NOTICE_LEASE: Duration = Duration::from_secs(30);
/// How long a webhook may take to accept a notice.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a command may take to accept a notice.
pub const NOTICE_COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
