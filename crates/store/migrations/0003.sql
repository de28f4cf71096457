-- Sessions, what was said in them, and what waits to be said.

-- record is the session's row as JSON with its version; it is the truth. The other columns are what is asked for or
-- compared, and what is not in the row.
CREATE TABLE sessions (
    key           TEXT PRIMARY KEY NOT NULL,
    created_at_ms INTEGER NOT NULL,
    agent         TEXT,
    kind          TEXT NOT NULL,
    backend       TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('idle', 'busy', 'closing', 'closed')),
    parent        TEXT,
    owner         TEXT,
    spawned_by    TEXT,
    instance      TEXT NOT NULL,
    closed_at_ms  INTEGER,
    label         TEXT,
    -- What the agent itself calls the conversation.
    resume        TEXT,
    -- The number of the last turn.
    turns         INTEGER NOT NULL DEFAULT 0,
    record        TEXT NOT NULL,
    CHECK ((state = 'closed') = (closed_at_ms IS NOT NULL))
) STRICT;

-- One index per lookup, each in the order of the list. Those that may be long have what else is asked for, so that
-- no row is read in vain.
CREATE INDEX sessions_all ON sessions (created_at_ms, key, agent, kind, backend, state, parent);
CREATE INDEX sessions_agent ON sessions (agent, created_at_ms, key, kind, backend, state, parent)
    WHERE agent IS NOT NULL;
CREATE INDEX sessions_kind ON sessions (kind, created_at_ms, key, agent, backend, state, parent);
CREATE INDEX sessions_open ON sessions (created_at_ms, key, agent, kind, backend, state, parent, owner, spawned_by)
    WHERE state <> 'closed';
CREATE INDEX sessions_owner ON sessions (owner, created_at_ms, key) WHERE owner IS NOT NULL;
CREATE INDEX sessions_spawned_by ON sessions (spawned_by, created_at_ms, key) WHERE spawned_by IS NOT NULL;
CREATE INDEX sessions_parent ON sessions (parent, created_at_ms, key) WHERE parent IS NOT NULL;

-- How many children are open, and which sessions may go.
CREATE INDEX sessions_children ON sessions (parent) WHERE state <> 'closed' AND parent IS NOT NULL;
CREATE INDEX sessions_closed ON sessions (closed_at_ms, key) WHERE state = 'closed';

-- All ancestors of all sessions, as the rows say them. Down is in the order of the list; up is by session.
CREATE TABLE session_ancestors (
    ancestor      TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    session       TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    PRIMARY KEY (ancestor, created_at_ms, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_ancestors_up ON session_ancestors (session, ancestor);

CREATE TABLE turns (
    id          TEXT PRIMARY KEY NOT NULL,
    session     TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed', 'cancelled', 'timed-out', 'lost')),
    -- Whose daemon carries it out.
    instance    TEXT NOT NULL,
    asked_by    TEXT NOT NULL,
    sent_at_ms  INTEGER NOT NULL,
    began_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    run_id      TEXT,
    message     TEXT NOT NULL,
    text        TEXT,
    -- How many bytes of the text were left out.
    cut_bytes   INTEGER NOT NULL DEFAULT 0,
    error       TEXT,
    CHECK ((state = 'running') = (ended_at_ms IS NULL))
) STRICT;

CREATE UNIQUE INDEX turns_of_session ON turns (session, number);
-- One turn at a time.
CREATE UNIQUE INDEX turns_active ON turns (session) WHERE state = 'running';
CREATE INDEX turns_running ON turns (instance, began_at_ms, id) WHERE state = 'running';

-- A message has the id that its turn will have; it is in one of the two tables, never in both.
CREATE TABLE messages (
    place      INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    session    TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    asked_by   TEXT NOT NULL,
    sent_at_ms INTEGER NOT NULL,
    message    TEXT NOT NULL
) STRICT;

CREATE INDEX messages_of_session ON messages (session, place);
