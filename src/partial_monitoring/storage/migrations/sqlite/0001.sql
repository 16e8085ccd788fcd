CREATE TABLE pm_meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

INSERT INTO pm_meta VALUES ('schema', '0');

-- version: the number of the last event. spec: what plays, written once.
CREATE TABLE pm_study (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 64),
  version INTEGER NOT NULL DEFAULT 0,
  spec TEXT NOT NULL,
  created_at INTEGER NOT NULL
);

-- The only truth; rows are only ever added. seq: 1, 2, 3, ... without gaps. at: microseconds since
-- 1970, for people. slot: 0 asked, 1 closed. body: the rest of the event, as JSON.
CREATE TABLE pm_event (
  study_id INTEGER NOT NULL REFERENCES pm_study (id),
  seq INTEGER NOT NULL CHECK (seq > 0),
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  decision TEXT,
  slot INTEGER CHECK (slot IN (0, 1)),
  body TEXT NOT NULL,
  PRIMARY KEY (study_id, seq)
) WITHOUT ROWID;

-- Asked once, closed once.
CREATE UNIQUE INDEX pm_event_once ON pm_event (study_id, decision, slot) WHERE slot IS NOT NULL;

-- May be deleted at any time.
CREATE TABLE pm_snapshot (
  study_id INTEGER NOT NULL REFERENCES pm_study (id),
  seq INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (study_id, seq)
);
