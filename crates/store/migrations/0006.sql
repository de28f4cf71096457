-- The registry's own id, and where its file was when it was last opened. A copy of the file gets another id.

CREATE TABLE registry (
    only     INTEGER PRIMARY KEY NOT NULL CHECK (only = 1),
    id       TEXT NOT NULL,
    -- Device, inode, path and boot, as JSON.
    location TEXT NOT NULL
) STRICT;
