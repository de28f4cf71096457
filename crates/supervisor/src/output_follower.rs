//! Follows a held run's output: the keeper reports growth, the follower reads the files.

use crate::run_handle::{RunHandle, Status};
use std::sync::Arc;
use tokio::sync::watch;

/// A client that waits for output. The keeper reports growth only while there is one.
pub struct OutputFollower {
    held: Arc<RunHandle>,
    status: watch::Receiver<Status>,
    /// The report that was acted on last. Without it, files that end before the reported size would be read in a
    /// loop.
    acted_on: u64,
}

impl OutputFollower {
    /// Follows a run's output.
    pub fn new(held: Arc<RunHandle>) -> Self {
        held.follow();
        let status = held.watch();
        Self { held, status, acted_on: 0 }
    }

    /// Returns true if there will be no more output.
    pub fn is_over(&self) -> bool {
        self.status.borrow().is_over()
    }

    /// Waits until the output has grown beyond this offset, or there will be no more.
    pub async fn grown_beyond(&mut self, at: u64) {
        let beyond = at.max(self.acted_on);
        // The sender lives in `held`.
        if let Ok(status) = self.status.wait_for(|status| status.grown > beyond || status.is_over()).await {
            self.acted_on = status.grown;
        }
    }
}

impl Drop for OutputFollower {
    fn drop(&mut self) {
        self.held.unfollow();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_handle::Orders;
    use std::path::PathBuf;
    use std::time::Duration;
    use tenure_core::lease::Hold;
    use tenure_core::record::{self, Ticket};
    use tenure_core::wire::KeeperRequest;
    use tokio::time::timeout;

    fn held() -> (Arc<RunHandle>, Orders) {
        let ticket: Ticket =
            record::decode(include_bytes!("../../core/fixtures/ticket-v1")).expect("a ticket");
        let hold = Hold { instance: ticket.owner_instance_id.clone(), epoch: ticket.lease_epoch };
        RunHandle::new(ticket, hold, PathBuf::from("/nowhere"), Status::default())
    }

    /// Returns true if a follower whose files end at `at` has something to do now.
    async fn acts(follower: &mut OutputFollower, at: u64) -> bool {
        timeout(Duration::ZERO, follower.grown_beyond(at)).await.is_ok()
    }

    #[tokio::test]
    async fn a_report_beyond_the_files_is_acted_on_once() {
        let (run, _orders) = held();
        let mut follower = OutputFollower::new(Arc::clone(&run));
        assert!(!acts(&mut follower, 0).await, "nothing was hinted");
        run.grew(10);
        assert!(acts(&mut follower, 5).await);
        assert!(!acts(&mut follower, 5).await, "the files still end at 5, and were read up to there");
        run.grew(11);
        assert!(acts(&mut follower, 5).await && !acts(&mut follower, 11).await);
        run.let_go("another's".to_owned());
        assert!(follower.is_over() && acts(&mut follower, 11).await);
    }

    #[tokio::test]
    async fn the_first_follower_starts_the_reports_and_the_last_stops_them() {
        let (run, mut orders) = held();
        let (first, second) = (OutputFollower::new(Arc::clone(&run)), OutputFollower::new(run));
        drop(first);
        assert!(matches!(orders.try_recv(), Ok(KeeperRequest::Follow)) && orders.try_recv().is_err());
        drop(second);
        assert!(matches!(orders.try_recv(), Ok(KeeperRequest::Unfollow)) && orders.try_recv().is_err());
    }
}
