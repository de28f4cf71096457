-- Tasks, what happened to them, and the notices that are due.

CREATE TABLE tasks (
    task_id             TEXT PRIMARY KEY NOT NULL,
    created_at_ms       INTEGER NOT NULL,
    kind                TEXT NOT NULL CHECK (kind IN ('run', 'acp', 'subagent', 'cli')),
    status              TEXT NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled', 'lost')),
    delivery            TEXT NOT NULL CHECK (delivery IN
        ('pending', 'delivered', 'session_queued', 'failed', 'parent_missing', 'not_applicable')),
    policy              TEXT NOT NULL CHECK (policy IN ('done_only', 'state_changes', 'silent')),
    tells_quiet_success INTEGER NOT NULL CHECK (tells_quiet_success IN (0, 1)),
    -- What it tracks: a turn, or a run. The run of a turn is noted here, too.
    run_id              TEXT,
    turn_id             TEXT,
    owner               TEXT,
    child               TEXT,
    instance            TEXT NOT NULL,
    interaction         TEXT NOT NULL,
    origin              TEXT,
    label               TEXT,
    progress_summary    TEXT,
    terminal_summary    TEXT,
    error               TEXT,
    outcome             TEXT,
    started_at_ms       INTEGER,
    cancel_asked_at_ms  INTEGER,
    ended_at_ms         INTEGER,
    last_event_at_ms    INTEGER NOT NULL,
    cleanup_after_ms    INTEGER,
    changes_told        INTEGER NOT NULL DEFAULT 0,
    change_told_at_ms   INTEGER,
    CHECK (run_id IS NOT NULL OR turn_id IS NOT NULL)
) STRICT;

-- What is tracked is tracked once: a turn, and a run by itself.
CREATE UNIQUE INDEX tasks_turn ON tasks (turn_id) WHERE turn_id IS NOT NULL;
CREATE UNIQUE INDEX tasks_run ON tasks (run_id, coalesce(turn_id, '')) WHERE run_id IS NOT NULL;

-- One index per lookup, each in the order of the list.
CREATE INDEX tasks_all ON tasks (created_at_ms, task_id);
CREATE INDEX tasks_status ON tasks (status, kind, created_at_ms, task_id);
CREATE INDEX tasks_owner ON tasks (owner, status, kind, created_at_ms, task_id) WHERE owner IS NOT NULL;
CREATE INDEX tasks_child ON tasks (child, status, kind, created_at_ms, task_id, owner) WHERE child IS NOT NULL;

-- What the sweep and the audit read: what is under way, what may go, and what should not be. None grows with what is
-- merely kept.
CREATE INDEX tasks_active ON tasks (last_event_at_ms, task_id) WHERE status IN ('queued', 'running');
CREATE INDEX tasks_cleanup ON tasks (cleanup_after_ms, task_id) WHERE cleanup_after_ms IS NOT NULL;
CREATE INDEX tasks_suspect ON tasks (task_id) WHERE delivery = 'failed'
    OR (ended_at_ms IS NULL) <> (status IN ('queued', 'running')) OR started_at_ms < created_at_ms
    OR ended_at_ms < coalesce(started_at_ms, created_at_ms) OR cleanup_after_ms < ended_at_ms
    OR (cleanup_after_ms IS NULL AND status NOT IN ('queued', 'running'));

-- The latest of each task.
CREATE TABLE task_events (
    task_id TEXT NOT NULL REFERENCES tasks (task_id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    summary TEXT,
    PRIMARY KEY (task_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    seq           INTEGER PRIMARY KEY,
    -- The same however often it is sent.
    key           TEXT NOT NULL UNIQUE,
    task_id       TEXT NOT NULL REFERENCES tasks (task_id) ON DELETE CASCADE,
    purpose       TEXT NOT NULL CHECK (purpose IN ('change', 'terminal', 'correction')),
    -- Where it goes, and to whose queue if it goes to none or that does not take it.
    channel       TEXT,
    session       TEXT,
    state         TEXT NOT NULL
        CHECK (state IN ('due', 'queued', 'delivered', 'taken', 'acknowledged', 'dropped', 'failed')),
    created_at_ms INTEGER NOT NULL,
    -- From when on somebody may try; whoever tries has it to itself until then.
    next_at_ms    INTEGER NOT NULL,
    claimed_by    TEXT,
    -- Every try has a number; only the last may say how it went.
    attempts      INTEGER NOT NULL DEFAULT 0,
    -- The tries since somebody last wanted it tried anew.
    tries         INTEGER NOT NULL DEFAULT 0,
    settled_at_ms INTEGER,
    last_error    TEXT,
    payload       TEXT NOT NULL,
    CHECK (state <> 'due' OR channel IS NOT NULL),
    CHECK (state <> 'queued' OR session IS NOT NULL)
) STRICT;

-- One notice of each task's end, and one correction (I10).
CREATE UNIQUE INDEX outbox_once ON outbox (task_id, purpose) WHERE purpose <> 'change';

CREATE INDEX outbox_due ON outbox (channel, next_at_ms, seq) WHERE state = 'due';
CREATE INDEX outbox_claimed ON outbox (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX outbox_queued ON outbox (session, seq) WHERE state = 'queued';
CREATE INDEX outbox_open ON outbox (state) WHERE state IN ('due', 'queued', 'failed');
CREATE INDEX outbox_of_task ON outbox (task_id, seq, state);
