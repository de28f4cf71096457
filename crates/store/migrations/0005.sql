-- Conversations with agents that go on: what was said and asked on either side, and the history of sessions.

CREATE TABLE talks (
    -- The adapter's run. It is named before there is one.
    run_id        TEXT PRIMARY KEY NOT NULL,
    session       TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    began_at_ms   INTEGER NOT NULL,
    over_at_ms    INTEGER,
    -- Up to where its output was handled, and up to where its input is spoken for.
    heard_to      INTEGER NOT NULL DEFAULT 0,
    said_to       INTEGER NOT NULL DEFAULT 0,
    last_id       INTEGER NOT NULL DEFAULT 0,
    -- What the agent calls the conversation, and what it said that it can do.
    agent_session TEXT,
    abilities     TEXT
) STRICT;

-- A session has one adapter at a time.
CREATE UNIQUE INDEX talks_open ON talks (session) WHERE over_at_ms IS NULL;
CREATE INDEX talks_session ON talks (session, began_at_ms);

-- Every line to an adapter, by where it stands in its input.
CREATE TABLE said (
    run_id TEXT NOT NULL REFERENCES talks (run_id) ON DELETE CASCADE,
    at     INTEGER NOT NULL,
    -- A question has a number and a verb, and an answer later.
    id     INTEGER,
    verb   TEXT,
    turn   TEXT,
    line   TEXT NOT NULL,
    answer TEXT,
    PRIMARY KEY (run_id, at),
    CHECK ((id IS NULL) = (verb IS NULL))
) STRICT;

CREATE UNIQUE INDEX said_id ON said (run_id, id) WHERE id IS NOT NULL;
CREATE INDEX said_open ON said (run_id, at) WHERE answer IS NULL AND id IS NOT NULL;
CREATE INDEX said_turn ON said (turn) WHERE turn IS NOT NULL;

-- What an agent has asked and was not answered.
CREATE TABLE asked (
    run_id TEXT NOT NULL REFERENCES talks (run_id) ON DELETE CASCADE,
    -- As JSON: a number and the same number as a text are two.
    id     TEXT NOT NULL,
    method TEXT NOT NULL,
    params TEXT,
    at_ms  INTEGER NOT NULL,
    PRIMARY KEY (run_id, id)
) STRICT, WITHOUT ROWID;

-- What happened in a session, in its order.
CREATE TABLE entries (
    session TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    turn    TEXT,
    at_ms   INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- Why the turn of an agent that goes on stopped.
ALTER TABLE turns ADD COLUMN stop TEXT;
