use super::*;

#[test]
fn every_end_of_a_turn_has_its_exit_code() {
    let codes = TurnState::ALL.iter().map(|&state| (state.word(), code(state)));
    let told =
        [("running", 124), ("done", 0), ("failed", 1), ("cancelled", 123), ("timed-out", 124), ("lost", 1)];
    assert!(codes.eq(told));
}
