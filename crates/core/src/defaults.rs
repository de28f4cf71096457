//! The defaults of the product, all in one place.

use crate::spec::Size;
use std::time::Duration;

/// Time between SIGTERM and SIGKILL.
pub const GRACE: Duration = Duration::from_secs(5);
/// Time between the first SIGKILL and the end of the stop ladder, which then names the survivors.
pub const GIVE_UP: Duration = Duration::from_secs(10);
/// Time that a run goes on without a daemon before it is ended as `owner-lost`.
pub const ORPHAN_GRACE: Duration = Duration::from_mins(1);
/// Time that leftover processes get to finish after their root exited by itself, before SIGTERM.
pub const SETTLE: Duration = Duration::from_millis(200);
/// Time spent on stopping everything that forks, before the stopped processes are killed.
pub const FREEZE: Duration = Duration::from_secs(2);
/// Time that the output may stay open after the tree is gone.
pub const DRAIN: Duration = Duration::from_millis(200);
/// The size of a pty whose caller has no terminal.
pub const PTY_SIZE: Size = Size { cols: 120, rows: 30 };
/// Number of bytes at the beginning of a run's output that are never dropped.
pub const OUTPUT_HEAD: u64 = 1 << 20;
/// Number of bytes at the end of a run's output that are kept.
pub const OUTPUT_TAIL: u64 = 256 << 20;
/// Minimum free disk space for keeping output, so that records can be written and removed; on a small disk a twentieth
/// of its size.
pub const OUTPUT_FREE_SPACE: u64 = 32 << 20;
/// Disk space set aside for the registry, for when the disk is full.
pub const DISK_RESERVE: u64 = 512 << 10;
/// Retention of finished runs.
pub const KEEP_RUNS_FOR: Duration = Duration::from_hours(7 * 24);
/// Maximum number of finished runs kept.
pub const KEEP_RUNS: u64 = 10_000;
/// Maximum output of finished runs kept, in bytes.
pub const KEEP_RUN_BYTES: u64 = 10 << 30;
/// Time that the wall clock must agree with the machine's own clock before anything is removed for its age.
pub const CLOCKS_AGREE_FOR: Duration = Duration::from_hours(1);
/// Maximum difference between two clocks that agree.
pub const CLOCKS_MAY_DIFFER: Duration = Duration::from_mins(1);
/// Interval between two cleanups of finished runs and old events.
pub const TIDY_EVERY: Duration = Duration::from_mins(10);
/// Retention of events.
pub const KEEP_EVENTS_FOR: Duration = Duration::from_hours(7 * 24);
/// Maximum number of events kept.
pub const KEEP_EVENTS: u64 = 100_000;
/// Maximum number of queued runs, if the number of concurrent runs is limited.
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
/// Maximum size of a log file of the daemon, in bytes.
pub const LOG_BYTES: u64 = 10 << 20;
/// Maximum number of log files of the daemon.
pub const LOG_FILES: u64 = 5;
/// The least share of one CPU that counts as activity, in percent of the sampled interval.
pub const ACTIVE_CPU_PERCENT: u64 = 1;
/// The least I/O that counts as activity between two samples.
pub const ACTIVE_IO_BYTES: u64 = 64 << 10;
/// Maximum unwritten standard input that a keeper queues, in bytes; more is refused.
pub const STDIN_QUEUE: u64 = 256 << 10;
/// Time that a lease holds after its holder's last heartbeat.
pub const LEASE_TTL: Duration = Duration::from_secs(15);
/// Interval between two heartbeats. Each renews all leases of the holder and checks those of the others.
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
/// Time limit of a command of the exec tool.
pub const EXEC_TIMEOUT: Duration = Duration::from_mins(30);
/// Time that the exec tool waits for a command before the command goes on in the background.
pub const EXEC_YIELD: Duration = Duration::from_secs(10);
/// Time until a request for approval expires.
pub const APPROVAL: Duration = Duration::from_mins(30);
/// Keys that detach from an attached run.
pub const DETACH_KEYS: &str = "C-p C-q";
/// Maximum number of ancestors of a session.
pub const SESSION_DEPTH: usize = 5;
/// Maximum number of open children of a session.
pub const SESSION_CHILDREN: usize = 20;
/// Maximum number of queued messages of a busy session.
pub const SESSION_QUEUE: usize = 32;
/// Retention of closed sessions.
pub const KEEP_SESSIONS_FOR: Duration = Duration::from_hours(30 * 24);
/// Maximum number of closed sessions kept.
pub const KEEP_SESSIONS: u64 = 10_000;
/// Maximum length of a turn's stored final text, in bytes.
pub const TURN_TEXT: usize = 256 << 10;
/// Time limit of one turn of an agent.
pub const AGENT_TURN: Duration = Duration::from_hours(1);
/// Time that an idle ACP adapter is kept.
pub const ADAPTER_IDLE: Duration = Duration::from_mins(10);
/// Retention of ended tasks.
pub const KEEP_TASKS_FOR: Duration = Duration::from_hours(7 * 24);
/// Retention of lost tasks, whose end nobody knows.
pub const KEEP_LOST_TASKS_FOR: Duration = Duration::from_hours(24);
/// Time that a task may go without backing before it is lost.
pub const TASK_LOST_GRACE: Duration = Duration::from_mins(5);
/// Number of a task's latest events that are kept.
pub const TASK_EVENTS: usize = 20;
/// Maximum length of a task's summary, in characters.
pub const TASK_SUMMARY: usize = 240;
/// Minimum interval between two records of a task's progress.
pub const TASK_PROGRESS: Duration = Duration::from_secs(1);
/// Minimum interval between two progress notices to an owner who subscribed to changes.
pub const TASK_CHANGES: Duration = Duration::from_secs(15);
/// Time that a notice waits before it goes to a channel: an owner who polls or waits meanwhile is not told twice.
pub const NOTICE_HOLD: Duration = Duration::from_secs(1);
/// Maximum number of delivery attempts of a notice.
pub const NOTICE_TRIES: u32 = 12;
/// Pause after the first delivery attempt; each later pause is twice as long.
pub const NOTICE_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause between two delivery attempts.
pub const NOTICE_PAUSE_MOST: Duration = Duration::from_mins(10);
/// Time for which a notice is leased to its deliverer.
pub const NOTICE_LEASE: Duration = Duration::from_secs(30);
/// Time limit for a webhook to accept a notice.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for a command to accept a notice.
pub const NOTICE_COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
