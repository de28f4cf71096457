//! In a pid namespace with few pids every number is soon reused: a recorded pid that a stranger has now is never
//! signalled.

use tenure_it::namespace;

#[test]
fn a_pid_reused_within_one_clock_tick_is_distinguished_by_its_inode() {
    namespace::play(310, &["reuse-in-one-tick"]);
}

#[test]
fn a_stale_tree_member_never_causes_a_signal_to_a_stranger() {
    namespace::play(310, &["reuse-of-a-member"]);
}

#[test]
fn a_stale_run_directory_gives_no_right_to_signal_reused_pids() {
    namespace::play(400, &["reuse-of-a-run"]);
}
