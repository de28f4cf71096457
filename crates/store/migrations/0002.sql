-- What the agent's tools keep: where each exec run stands with its owner, what a person is asked, what needs no asking.

CREATE TABLE exec_runs (
    run_id     TEXT PRIMARY KEY NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    notify     TEXT NOT NULL CHECK (notify IN ('auto', 'always', 'never')),
    background INTEGER NOT NULL DEFAULT 0 CHECK (background IN (0, 1)),
    notice     TEXT NOT NULL DEFAULT 'none' CHECK (notice IN ('none', 'owed', 'told', 'acknowledged')),
    -- Up to where the owner has read, as the reader wrote it.
    read_to    TEXT
) STRICT;

CREATE INDEX exec_runs_owed ON exec_runs (run_id) WHERE notice = 'owed';

CREATE TABLE approvals (
    -- The id that the run will have.
    id             TEXT PRIMARY KEY NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    instance       TEXT NOT NULL,
    session        TEXT,
    state          TEXT NOT NULL CHECK (state IN ('pending', 'allowed-once', 'allowed-always', 'denied', 'expired')),
    answered_at_ms INTEGER,
    answered_by    TEXT,
    -- What a person reads to decide, and what is executed then; JSON.
    asked          TEXT NOT NULL
) STRICT;

CREATE INDEX approvals_pending ON approvals (expires_at_ms) WHERE state = 'pending';
CREATE INDEX approvals_all ON approvals (created_at_ms);

CREATE TABLE allowlist (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    added_at_ms     INTEGER NOT NULL,
    added_by        TEXT NOT NULL,
    last_used_at_ms INTEGER,
    uses            INTEGER NOT NULL DEFAULT 0,
    -- The entry, as JSON; each is there once.
    entry           TEXT NOT NULL UNIQUE
) STRICT;
