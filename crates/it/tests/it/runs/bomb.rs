//! The worst that a command can do to its keeper.

use tenure_it::namespace;

#[test]
fn a_fork_bomb_that_used_up_all_pids_is_killed_completely() {
    namespace::play(3000, &["bomb"]);
}
