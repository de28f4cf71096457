//! A full disk. Run by hand: it needs a small disk of its own.

use crate::sample::{NOW, ended, enrolled, hold, new_run, run_id};
use crate::store::block_on;
use std::path::PathBuf;
use std::sync::Arc;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Failed, Registry};

/// Run `mount -t tmpfs -o size=2m tmpfs DIR`, then this test with DIR in `TENURE_SMALL_DISK`.
#[test]
#[ignore = "needs a small disk"]
fn on_a_full_disk_operations_fail_and_on_one_with_room_they_work_again() {
    let Some(disk) = std::env::var_os("TENURE_SMALL_DISK").map(PathBuf::from) else { return };
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&disk.join("tenure.db")).unwrap());
    block_on(async {
        enrolled(&registry).await;
        let ballast = disk.join("ballast");
        std::fs::write(&ballast, vec![0; 256 << 10]).unwrap();
        let mut answered = Vec::new();
        let failed = 'full: loop {
            let first = answered.len() as u64;
            let burst: Vec<_> = (first..first + 64).map(|number| registry.create(new_run(number))).collect();
            for (number, answer) in (first..).zip(burst) {
                match answer.await {
                    Ok(()) => answered.push(number),
                    Err(failed) => break 'full failed,
                }
            }
        };
        assert!(matches!(&failed, Failed::Unavailable(text) if text.contains("disk is full")), "{failed}");
        assert_eq!(registry.check().await.unwrap(), None);
        for &number in &answered {
            assert!(registry.run(run_id(number)).await.unwrap().is_some(), "{number}");
        }
        std::fs::remove_file(ballast).unwrap();
        assert!(registry.record(run_id(0), hold(1), ended(0), NOW).await.unwrap());
        registry.create(new_run(1 << 40)).await.unwrap();
    });
}
