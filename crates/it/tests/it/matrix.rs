//! The OS matrix: one text that drives the real program on every system.

mod direct_exit;
mod installs;
mod lease_contention;
mod manual_cancel;
mod no_output_timeout;
mod overall_timeout;
mod pid_reuse;
mod pty_interactive;
mod restart_reconcile;
mod shell_wrapper_tree;
