-- The end of a background command is a notice of its task: exec_runs no longer says whether it was told.

CREATE TABLE outbox_7 (
    seq           INTEGER PRIMARY KEY,
    -- The same however often it is sent.
    key           TEXT NOT NULL UNIQUE,
    task_id       TEXT NOT NULL REFERENCES tasks (task_id) ON DELETE CASCADE,
    purpose       TEXT NOT NULL CHECK (purpose IN ('change', 'terminal', 'correction', 'exec-ended')),
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

INSERT INTO outbox_7 (seq, key, task_id, purpose, channel, session, state, created_at_ms, next_at_ms, claimed_by,
        attempts, tries, settled_at_ms, last_error, payload)
    SELECT seq, key, task_id, purpose, channel, session, state, created_at_ms, next_at_ms, claimed_by,
        attempts, tries, settled_at_ms, last_error, payload
    FROM outbox;
DROP TABLE outbox;
ALTER TABLE outbox_7 RENAME TO outbox;

-- One notice of each task's end, one correction and one exec-ended (I10).
CREATE UNIQUE INDEX outbox_once ON outbox (task_id, purpose) WHERE purpose <> 'change';

CREATE INDEX outbox_due ON outbox (channel, next_at_ms, seq) WHERE state = 'due';
CREATE INDEX outbox_claimed ON outbox (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX outbox_queued ON outbox (session, seq) WHERE state = 'queued';
CREATE INDEX outbox_open ON outbox (state, purpose) WHERE state IN ('due', 'queued', 'failed');
CREATE INDEX outbox_of_task ON outbox (task_id, seq, state);

-- The ends that listeners were still owed.
INSERT INTO outbox (key, task_id, purpose, channel, session, state, created_at_ms, next_at_ms, payload)
    SELECT 'task-' || t.task_id || '-exec-ended', t.task_id, 'exec-ended', 'exec-ended:' || r.owner, t.owner, 'due',
        t.ended_at_ms, t.ended_at_ms,
        json_object('key', 'task-' || t.task_id || '-exec-ended', 'purpose', 'exec-ended', 'text', '',
            'taskId', t.task_id, 'kind', t.kind, 'status', t.status, 'runId', t.run_id, 'ownerSessionKey', t.owner,
            'atMs', t.ended_at_ms)
    FROM exec_runs e
    JOIN runs r ON r.run_id = e.run_id
    JOIN tasks t ON t.run_id = e.run_id AND t.turn_id IS NULL
    WHERE e.notice = 'owed' AND r.state = 'exited' AND t.ended_at_ms IS NOT NULL
        AND NOT (t.tells_quiet_success = 0 AND t.status = 'succeeded' AND t.outcome ->> 'outputBytes' IS 0);

DROP INDEX exec_runs_owed;
ALTER TABLE exec_runs DROP COLUMN notice;
