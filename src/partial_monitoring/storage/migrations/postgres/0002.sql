ALTER TABLE pm_study ADD COLUMN state text NOT NULL DEFAULT 'running'
  CHECK (state IN ('running', 'paused', 'archived'));

-- What a service does with the study.
ALTER TABLE pm_study ADD COLUMN settings json NOT NULL DEFAULT '{}';

-- number: of the decision, if this is where it was asked for. key: what a client calls its request,
-- so that repeating it does nothing. actor: who made it, the id of a token.
ALTER TABLE pm_event ADD COLUMN number bigint;
ALTER TABLE pm_event ADD COLUMN key text CHECK (length(key) <= 200);
ALTER TABLE pm_event ADD COLUMN actor text;

UPDATE pm_event SET number = substring(decision FROM '[0-9]+$')::bigint WHERE slot = 0;
-- By its text: the operators of json refuse a body that has \u0000 anywhere.
UPDATE pm_event SET decision = substring(body::text FROM '^[{]"decision": "?([0-9A-Za-z-]+)')
  WHERE kind IN ('answer', 'late', 'amend');

-- A process of an earlier version, which knows no numbers, is kept out.
ALTER TABLE pm_event ADD CONSTRAINT pm_event_numbered
  CHECK (slot IS DISTINCT FROM 0 OR number IS NOT NULL);

CREATE UNIQUE INDEX pm_event_key ON pm_event (study_id, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX pm_event_number ON pm_event (study_id, number) WHERE number IS NOT NULL;

-- What else concerns a decision, and all that is neither asked nor closed, by its kind.
CREATE INDEX pm_event_about ON pm_event (study_id, decision)
  WHERE slot IS NULL AND decision IS NOT NULL;
CREATE INDEX pm_event_kind ON pm_event (study_id, kind, seq) WHERE slot IS NULL;

-- Points of charts; may be deleted at any time. at: microseconds since 1970.
CREATE TABLE pm_trace (
  study_id bigint NOT NULL REFERENCES pm_study (id),
  seq bigint NOT NULL,
  at bigint NOT NULL,
  body json NOT NULL,
  PRIMARY KEY (study_id, seq)
);

-- hash: SHA-256 of the whole token, which is stored nowhere. study: the name of the only one that
-- it is for.
CREATE TABLE pm_token (
  id text PRIMARY KEY,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  role text NOT NULL CHECK (role IN ('read', 'play', 'admin')),
  study text,
  label text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);

CREATE VIEW pm_decision AS
  SELECT a.study_id, a.number, a.decision, a.at AS asked_at, a.key, a.actor, a.body AS asked,
    b.kind AS closed_by, b.at AS closed_at, b.body AS closed
  FROM pm_event a
  LEFT JOIN pm_event b ON b.study_id = a.study_id AND b.decision = a.decision AND b.slot = 1
  WHERE a.number IS NOT NULL;
