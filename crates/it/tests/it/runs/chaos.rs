//! Random kills among the holders of many runs at once. `CHAOS_SEED` repeats the choices of a failed test, whose first
//! line of output names them.

use tenure_it::namespace;

#[test]
fn a_kill_of_any_process_at_any_moment_leaves_nothing_and_touches_no_bystander() {
    let random = || u64::from_ne_bytes(tenure_os::random::bytes().expect("randomness")) | 1;
    let seed = std::env::var("CHAOS_SEED").unwrap_or_else(|_| random().to_string());
    eprintln!("CHAOS_SEED={seed}");
    namespace::play(4000, &["chaos", &seed]);
}
