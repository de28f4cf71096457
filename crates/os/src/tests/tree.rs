use super::{eventually, shell};
use crate::linux;
use crate::tree::{self, Member};

fn now_ms() -> u64 {
    crate::clock::unix_ms()
}

#[test]
fn children_by_list_and_by_scan_agree() {
    let mut top = shell("sleep 20 & sleep 20 & (sleep 20 & wait) & echo ready; wait");
    top.line();
    let sorted = |mut pids: Vec<i32>| {
        pids.sort_unstable();
        pids
    };
    eventually("three children in both", || {
        let (listed, scanned) = (linux::children_listed(top.pid())?, linux::children_scanned(top.pid()));
        (listed.len() == 3 && sorted(listed) == sorted(scanned)).then_some(())
    });
    for below in tree::children(top.pid()) {
        eventually("the same below", || {
            (sorted(linux::children_listed(below)?) == sorted(linux::children_scanned(below))).then_some(())
        });
    }
    // The shell's leftovers are ours to end.
    let everybody = [top.pid()].into_iter().chain(tree::children(top.pid()));
    let below: Vec<i32> = everybody.flat_map(tree::children).collect();
    for pid in below {
        end(pid);
    }
}

fn end(pid: i32) {
    if let Some(process) = crate::process::Process::open(pid).unwrap()
        && let tenure_core::identity::Evidence::Same(held) = process.judge(process.identity())
    {
        process.signal(&held, tenure_core::signal::Signal::KILL);
    }
}

#[test]
fn carriers_are_found_by_the_exact_entry_and_by_nothing_else() {
    let id = format!("{}-{}", std::process::id(), now_ms());
    let since = now_ms();
    let mark = format!("TENURE_TEST_MARK={id}");
    let script = |environment: &str| format!("exec env {environment} /bin/sh -c 'echo ready; read x'");
    let mut carrier = shell(&script(&mark));
    let mut longer = shell(&script(&format!("{mark}x")));
    let mut other = shell(&script(&format!("TENURE_TEST_MARK=other X={id}")));
    let mut cleared = shell(&format!("export {mark}; exec env -i /bin/sh -c 'echo ready; read x'"));
    for one in [&mut carrier, &mut longer, &mut other, &mut cleared] {
        assert_eq!(one.line(), "ready");
    }
    let pids = |mark: &str, since| -> Vec<i32> {
        tree::carriers(mark.as_bytes(), since).unwrap().iter().map(Member::pid).collect()
    };
    assert_eq!(pids(&mark, since), [carrier.pid()]);
    assert_eq!(pids(&mark, now_ms() + 60_000), Vec::<i32>::new(), "it started before that lease");
    assert_eq!(pids("TENURE_TEST_MARK", since), Vec::<i32>::new());
    carrier.0.kill().unwrap();
    eventually("a list without the dead", || pids(&mark, since).is_empty().then_some(()));
}
