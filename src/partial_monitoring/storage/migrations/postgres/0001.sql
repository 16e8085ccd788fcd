CREATE TABLE pm_meta (
  key text PRIMARY KEY,
  value text NOT NULL
);

INSERT INTO pm_meta VALUES ('schema', '0');

-- version: the number of the last event; who locks this row may append. spec: what plays, written
-- once. Half of each page is left free, so that a new version of the row stays on its page.
CREATE TABLE pm_study (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 64),
  version bigint NOT NULL DEFAULT 0,
  spec json NOT NULL,
  created_at bigint NOT NULL
) WITH (fillfactor = 50);

-- The only truth; rows are only ever added. seq: 1, 2, 3, ... without gaps. at: microseconds since
-- 1970, for people. slot: 0 asked, 1 closed. body: the rest of the event; json keeps its text, while
-- jsonb would make 0.0 of -0.0 and an integer of 1e16.
CREATE TABLE pm_event (
  study_id bigint NOT NULL REFERENCES pm_study (id),
  seq bigint NOT NULL CHECK (seq > 0),
  at bigint NOT NULL,
  kind text NOT NULL,
  decision text,
  slot smallint CHECK (slot IN (0, 1)),
  body json NOT NULL,
  PRIMARY KEY (study_id, seq)
);

-- Asked once, closed once.
CREATE UNIQUE INDEX pm_event_once ON pm_event (study_id, decision, slot) WHERE slot IS NOT NULL;

-- May be deleted at any time.
CREATE TABLE pm_snapshot (
  study_id bigint NOT NULL REFERENCES pm_study (id),
  seq bigint NOT NULL,
  sha256 text NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (study_id, seq)
);
