//! The promises of `tenure-os` whose tests need a process of one thread.

use tenure_it::namespace::{play, play_here};

#[test]
fn a_lock_dies_with_its_holder_and_a_query_does_not_take_it() {
    play_here(&["lock-dies-with-its-holder"]);
}

#[test]
fn a_lock_is_not_inherited_by_a_forked_child() {
    play_here(&["lock-is-not-inherited"]);
}

#[test]
fn all_descriptors_but_the_passed_ones_are_closed() {
    play_here(&["descriptors"]);
}

#[test]
fn a_command_that_cannot_execute_says_why() {
    play_here(&["spawn-failures"]);
}

#[test]
fn a_gate_that_is_dropped_unopened_ends_the_root_before_it_executes_anything() {
    play_here(&["spawn-gate"]);
}

#[test]
fn an_ended_root_keeps_its_number_until_it_is_reaped() {
    play_here(&["spawn-ended-root"]);
}

#[test]
fn a_group_signal_reaches_the_whole_group_and_nobody_else() {
    play_here(&["spawn-group"]);
}

#[test]
fn a_root_is_in_its_cgroup_before_it_executes() {
    play_here(&["spawn-cgroup"]);
}

#[test]
fn a_freeze_stops_all_but_the_spared_and_outruns_a_forking_process() {
    play(6000, &["freeze"]);
    play(6000, &["freeze-hurried"]);
}
