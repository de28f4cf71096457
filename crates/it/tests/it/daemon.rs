//! The daemon: start, stop, crash, hang, leases, reconcile, copies.

mod capacity;
mod clean_start;
mod copies;
mod crash;
mod crash_background;
mod daemon_chaos;
mod daemon_crash;
mod doctor;
mod full_disk;
mod hung_daemon;
mod import;
mod installs;
mod lease_contention;
mod no_rights;
mod old_keeper;
mod orphan_grace;
mod reconcile;
mod reconcile_rows;
mod registry_trouble;
mod restart;
mod restart_reconcile;
mod state_root;
mod stop;
mod supervision_failures;
mod termination_signals;
mod two_owners;
