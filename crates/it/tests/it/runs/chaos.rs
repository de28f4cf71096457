//! Random deaths among the holders of many runs at once. `CHAOS_SEED` repeats the choices of a failed test, whose
//! first line of output names them.

use tenure_it::namespace;

#[test]
fn whoever_dies_at_whatever_moment_nothing_is_left_and_no_bystander_is_touched() {
    let random = || u64::from_ne_bytes(tenure_os::random::bytes().expect("randomness")) | 1;
    let seed = std::env::var("CHAOS_SEED").unwrap_or_else(|_| random().to_string());
    eprintln!("CHAOS_SEED={seed}");
    namespace::play(4000, &["chaos", &seed]);
}
