-- The registry's first shape. Never edited once shipped: later shapes are later files.
-- Numbers that may be u64::MAX are stored as the greatest SQLite has and mapped back on reading.

CREATE TABLE migrations (
    version  INTEGER PRIMARY KEY,
    checksum TEXT NOT NULL
) STRICT;

CREATE TABLE instances (
    id            TEXT PRIMARY KEY NOT NULL,
    incarnation   INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    about         TEXT NOT NULL
) STRICT;

-- ticket, note and ending are the records of the run's directory, as JSON with their version. The other columns
-- are what is asked for or compared.
CREATE TABLE runs (
    run_id        TEXT PRIMARY KEY NOT NULL,
    created_at_ms INTEGER NOT NULL,
    session       TEXT,
    scope         TEXT,
    agent         TEXT,
    state         TEXT NOT NULL CHECK (state IN ('starting', 'running', 'exiting', 'exited')),
    owner         TEXT NOT NULL REFERENCES instances (id),
    epoch         INTEGER NOT NULL,
    hidden        INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
    ended_at_ms   INTEGER,
    kept_bytes    INTEGER NOT NULL DEFAULT 0,
    updated_at_ms INTEGER NOT NULL,
    directory     TEXT NOT NULL,
    asked_by      TEXT NOT NULL,
    cause         TEXT,
    ticket        TEXT NOT NULL,
    note          TEXT,
    ending        TEXT,
    CHECK ((state = 'exited') = (ended_at_ms IS NOT NULL)),
    CHECK ((state = 'exited') = (ending IS NOT NULL))
) STRICT;

-- One live run per scope.
CREATE UNIQUE INDEX runs_scope_holder ON runs (scope) WHERE state <> 'exited' AND scope IS NOT NULL;

-- One index per list, each in the order of the list, so that a page costs its own length.
CREATE INDEX runs_all ON runs (created_at_ms, run_id) WHERE hidden = 0;
-- Live runs are few; what else they may be picked by stands in the index, so that no row is read in vain.
CREATE INDEX runs_live ON runs (state, created_at_ms, run_id, hidden, session, scope, agent)
    WHERE state <> 'exited';
CREATE INDEX runs_exited ON runs (created_at_ms, run_id) WHERE state = 'exited' AND hidden = 0;
CREATE INDEX runs_session ON runs (session, created_at_ms, run_id) WHERE session IS NOT NULL AND hidden = 0;
CREATE INDEX runs_scope ON runs (scope, created_at_ms, run_id) WHERE scope IS NOT NULL AND hidden = 0;
CREATE INDEX runs_agent ON runs (agent, created_at_ms, run_id) WHERE agent IS NOT NULL AND hidden = 0;

-- What retention reads; kept_bytes is there so that the sum needs no look at the rows.
CREATE INDEX runs_ended ON runs (hidden, ended_at_ms, run_id, kept_bytes) WHERE state = 'exited';

CREATE TABLE events (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms    INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    instance TEXT NOT NULL,
    run_id   TEXT,
    session  TEXT,
    detail   TEXT NOT NULL
) STRICT;

CREATE INDEX events_run ON events (run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX events_at ON events (at_ms);

CREATE TABLE counters (
    instance TEXT NOT NULL,
    name     TEXT NOT NULL,
    label    TEXT NOT NULL,
    value    INTEGER NOT NULL,
    PRIMARY KEY (instance, name, label)
) STRICT, WITHOUT ROWID;
