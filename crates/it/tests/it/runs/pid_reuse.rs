//! In a pid namespace with few pids every number comes round soon: a recorded pid that is a stranger's now is never
//! signalled.

use tenure_it::namespace;

#[test]
fn a_pid_that_comes_round_within_one_clock_tick_is_told_apart_by_its_inode() {
    namespace::play(310, &["reuse-in-one-tick"]);
}

#[test]
fn a_stale_member_of_a_tree_is_never_a_strangers_signal() {
    namespace::play(310, &["reuse-of-a-member"]);
}

#[test]
fn a_stale_run_directory_is_no_right_to_signal_who_has_its_pids_now() {
    namespace::play(400, &["reuse-of-a-run"]);
}
