//! A command that ends by itself: its code, its output, and nothing left.

use tenure_it::install::Install;

#[test]
fn output_and_exit_code_are_the_commands_own() {
    let install = Install::new();
    let output = install.tenure(&["run", "--quiet", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
}
