//! Two hundred runs of every kind, and fifty kills of the daemon at random moments. `CHAOS_SEED` repeats the choices of
//! a failed test, whose first line of output names them.

use tenure_it::namespace;

#[test]
fn chaos_of_daemons_loses_no_byte_and_no_ending_of_any_run() {
    let random = || u64::from_ne_bytes(tenure_os::random::bytes().expect("randomness")) | 1;
    let seed = std::env::var("CHAOS_SEED").unwrap_or_else(|_| random().to_string());
    eprintln!("CHAOS_SEED={seed}");
    namespace::play(8000, &["daemon-chaos", &seed]);
}
