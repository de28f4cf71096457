//! The worst that a command can do to its keeper.

use tenure_it::namespace;

#[test]
fn a_bomb_that_has_used_up_all_pids_is_ended_whole() {
    namespace::play(3000, &["bomb"]);
}
