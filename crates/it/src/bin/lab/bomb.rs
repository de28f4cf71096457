//! A fork bomb that only the namespace's pids bound: it has used them all up at its end.

use tenure_it::install::Install;
use tenure_it::proc;

pub(crate) fn main() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let actor = install.actor();
        let limits = ["run", "--quiet", "--timeout", "1s", "--grace", "300ms", "--"];
        let bomb = [&actor, "bomb", "--setsid", "--limit", "400", "--births", "100000000"];
        let output = install.tenure(&[&limits[..], &bomb[..]].concat());
        assert_eq!(output.status.code(), Some(124), "{}", String::from_utf8_lossy(&output.stderr));
        let ending = &install.show(&install.only_run())["termination"];
        assert_eq!(ending["confirmed"], true, "{ending}");
        let own = std::process::id().cast_signed();
        let left: Vec<i32> =
            proc::all().into_iter().filter(|&pid| pid != own && pid != 1 && proc::runs(pid)).collect();
        assert_eq!(left, Vec::<i32>::new(), "processes are alive");
    }
}
