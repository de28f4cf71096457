//! Cost that a task adds to the start of a run. Every run of a request has one, so the registry itself is asked to
//! record a run and that it executes, with a task and without; the difference is set against a complete start.

use crate::bench_daemon::{BenchDaemon, request};
use crate::samples::{Samples, TimedStep, in_turns};
use crate::subject::Subject;
use crate::table::Row;
use crate::tenure_runs::{self, LaunchOptions, TenureRuns};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::ids::{InstanceId, TaskId};
use tenure_core::record::KeeperNote;
use tenure_core::session::Backend;
use tenure_core::spec::Spec;
use tenure_core::task::NotifyPolicy;
use tenure_keeper::launch::new_ticket;
use tenure_os::{clock, random};
use tenure_store::sqlite::Sqlite;
use tenure_store::{Change, Hold, NewRun, NewTask, Registry};
use tokio::runtime::Runtime;

const ROUNDS: usize = 300;
/// Factor by which a complete start may take longer for its task.
const BAR: f64 = 1.1;

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    let memory = tempfile::Builder::new().prefix("bench-").tempdir_in("/dev/shm")?;
    let mut rows = Vec::new();
    for (name, place) in [("state on tmpfs", memory.path()), ("state on disk", subject.dir())] {
        let records = StartRecords::open(subject, &place.join("task-start"))?;
        let daemon = BenchDaemon::start(&place.join("task-start-api"), false)?;
        let (mut talk, request) = (daemon.talk()?, request(subject, &["nothing"]));
        let mut whole = || {
            let from = Instant::now();
            let run = talk.start(&request)?;
            let took = from.elapsed();
            talk.wait(&run)?;
            Ok(took)
        };
        let (mut without, mut with) = (|| records.start(false), || records.start(true));
        let ways: [TimedStep<'_>; 3] = [&mut whole, &mut without, &mut with];
        let [whole, without, with] = in_turns(ROUNDS, ways)?;
        rows.push(Row::ratio(
            &format!("a start recorded, raw without a task, {name}"),
            &without,
            &with,
            None,
        ));
        let added = with.median().saturating_sub(without.median());
        let less = Samples::new(vec![whole.median().saturating_sub(added)]);
        rows.push(Row::ratio(&format!("API start, raw less its task, {name}"), &less, &whole, Some(BAR)));
    }
    Ok(rows)
}

/// A registry, and the rows that are recorded in it again and again.
struct StartRecords {
    registry: Arc<dyn Registry>,
    runtime: Runtime,
    instance: InstanceId,
    spec: Spec,
    note: KeeperNote,
}

impl StartRecords {
    fn open(subject: &Subject, state: &Path) -> io::Result<Self> {
        let spec = tenure_runs::spec(subject, &["nothing"], LaunchOptions::plain())?;
        let mut run = TenureRuns::open(state)?.launch(&spec)?;
        let note = run.started()?;
        run.wait()?;
        let registry: Arc<dyn Registry> =
            Arc::new(Sqlite::open(&state.join("bench.db")).map_err(io::Error::other)?);
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let instance = InstanceId::from_random(random::bytes()?);
        let enrolled = registry.enrol(instance.clone(), "bench".to_owned(), u64::MAX);
        runtime.block_on(enrolled).map_err(io::Error::other)?;
        Ok(Self { registry, runtime, instance, spec, note })
    }

    /// Records a run and that its command executes, as a start does before its response.
    fn start(&self, is_tracked: bool) -> io::Result<Duration> {
        let ticket = new_ticket(self.instance.clone(), Backend::Run, &self.spec)?;
        let id = ticket.run_id.clone();
        let hold = Hold { instance: self.instance.clone(), epoch: ticket.lease_epoch };
        let task = NewTask {
            id: TaskId::from_random(random::bytes()?),
            policy: NotifyPolicy::DoneOnly,
            tells_quiet_success: true,
            owner: None,
            origin: None,
            label: None,
        };
        let run = NewRun {
            directory: format!("/var/lib/tenure/runs/{id}"),
            ticket,
            asked_by: "bench".to_owned(),
            exec: None,
            session_parent: None,
            is_started: false,
            task: is_tracked.then_some(task),
        };
        let change = Change::Started(Box::new(self.note.clone()));
        let from = Instant::now();
        self.runtime
            .block_on(async {
                self.registry.create(run).await?;
                self.registry.record(id, hold, change, clock::unix_ms()).await
            })
            .map_err(io::Error::other)?;
        Ok(from.elapsed())
    }
}
