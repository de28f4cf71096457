//! Sessions in the embedded registry: the entry to `rows` (their changes), `of_runs`, `removal`, `lists`, `turns`
//! and `queue`.

mod lists;
mod of_runs;
mod queue;
mod removal;
mod rows;
mod turns;

pub(super) use of_runs::belong;
pub(super) use rows::{row, taken as state};

pub(super) use turns::set_run;

use super::Sqlite;
use crate::Reply;
use crate::sessions::{Family, Move, Moved, NewSession, Session, SessionPage, SessionQuery, SessionRegistry};
use crate::tasks::NewTask;
use crate::turns::{Message, NewTurn, Side, Turn, TurnEnd, TurnPage};
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::{SessionKey, SessionRow};

impl SessionRegistry for Sqlite {
    fn spawn_session(&self, new: NewSession) -> Reply<Session> {
        self.write(move |db| rows::spawn_session(db, &new))
    }

    fn adopt_session(
        &self,
        row: SessionRow,
        label: Option<String>,
        resume: Option<String>,
    ) -> Reply<Session> {
        self.write(move |db| rows::adopt(db, &row, label.as_deref(), resume.as_deref()))
    }

    fn session(&self, key: SessionKey) -> Reply<Option<Session>> {
        self.read(move |db| rows::session(db, &key))
    }

    fn sessions(&self, query: SessionQuery) -> Reply<SessionPage> {
        self.read(move |db| lists::page(db, &query))
    }

    fn descendants(&self, key: SessionKey) -> Reply<Family> {
        self.read(move |db| lists::descendants(db, &key))
    }

    fn advance_session(&self, key: SessionKey, step: Move) -> Reply<Option<Moved>> {
        self.write(move |db| rows::advance(db, &key, &step))
    }

    fn set_resume(&self, key: SessionKey, resume: Option<String>) -> Reply<bool> {
        self.write(move |db| rows::set_resume(db, &key, resume.as_deref()))
    }

    fn set_label(&self, key: SessionKey, label: Option<String>) -> Reply<bool> {
        self.write(move |db| rows::set_label(db, &key, label.as_deref()))
    }

    fn trim_sessions(&self, before_ms: u64, most: u64, limit: usize) -> Reply<Vec<SessionKey>> {
        self.write(move |db| removal::trim(db, before_ms, most, limit))
    }

    fn forget_session(&self, key: SessionKey) -> Reply<bool> {
        self.write(move |db| removal::forget(db, &key))
    }

    fn unsettled_sessions(&self, of: InstanceId) -> Reply<Vec<SessionKey>> {
        self.read(move |db| lists::unsettled(db, &of))
    }

    fn begin_turn(&self, turn: NewTurn, task: Option<NewTask>, by: InstanceId, at_ms: u64) -> Reply<Turn> {
        self.enqueue(move |db| turns::begin(db, &turn, task.as_ref(), &by, at_ms), true)
    }

    fn end_turn(&self, turn: TurnId, end: TurnEnd) -> Reply<bool> {
        self.enqueue(move |db| turns::end(db, &turn, &end), true)
    }

    fn set_turn_run(&self, turn: TurnId, run: RunId) -> Reply<bool> {
        self.write(move |db| turns::set_run(db, &turn, &run))
    }

    fn turn(&self, turn: TurnId) -> Reply<Option<Turn>> {
        self.read(move |db| turns::turn(db, &turn))
    }

    fn active_turn(&self, session: SessionKey) -> Reply<Option<Turn>> {
        self.read(move |db| turns::active(db, &session))
    }

    fn turns(&self, session: SessionKey, side: Side, limit: usize, bytes: u64) -> Reply<TurnPage> {
        self.read(move |db| turns::page(db, &session, side, (limit, bytes)))
    }

    fn running_turns(&self, of: InstanceId) -> Reply<Vec<Turn>> {
        self.read(move |db| turns::running(db, &of))
    }

    fn queue_message(&self, turn: NewTurn, task: Option<NewTask>, depth: usize) -> Reply<u64> {
        self.enqueue(move |db| queue::add(db, &turn, task.as_ref(), depth), true)
    }

    fn take_message(&self, session: SessionKey, by: InstanceId, at_ms: u64) -> Reply<Option<Turn>> {
        self.enqueue(move |db| queue::take(db, &session, &by, at_ms), true)
    }

    fn messages(&self, session: SessionKey) -> Reply<Vec<Message>> {
        self.read(move |db| queue::all(db, &session))
    }

    fn withdraw_message(&self, session: SessionKey, message: TurnId, at_ms: u64) -> Reply<bool> {
        self.write(move |db| queue::withdraw(db, &session, &message, at_ms))
    }

    fn waiting_sessions(&self, of: InstanceId) -> Reply<Vec<SessionKey>> {
        self.read(move |db| queue::waiting(db, &of))
    }
}
