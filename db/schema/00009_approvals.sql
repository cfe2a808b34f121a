-- +goose Up
-- What agents may do only when people allow it.

-- What was asked, and what became of it. A row is swept some time after it was settled.
CREATE TABLE approvals (
  id         TEXT   NOT NULL PRIMARY KEY,                -- UUID
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  turn_id    BIGINT NOT NULL,                            -- the turn that waits for it
  tool       TEXT   NOT NULL,
  input      TEXT   NOT NULL,                            -- JSON, exactly as the agent wants it
  hash       TEXT   NOT NULL,                            -- SHA-256 of tool and input
  project    TEXT   NOT NULL,                            -- working folder of the agent
  rule       TEXT   NOT NULL DEFAULT '',                 -- that "always" stands for, as JSON; empty = there is no always
  askers     TEXT   NOT NULL,                            -- JSON list of the users who asked for the turn
  state      TEXT   NOT NULL CHECK (state IN ('waiting', 'approved', 'refused', 'expired', 'withdrawn', 'lost')),
  decided_by TEXT   NOT NULL DEFAULT '',                 -- the user; empty = nobody
  decider    TEXT   NOT NULL DEFAULT '',                 -- that user's name
  words      TEXT   NOT NULL DEFAULT '',                 -- why it was refused, or what was answered
  card_id    TEXT   NOT NULL DEFAULT '',                 -- the card that asks
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  decided_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX approvals_waiting ON approvals (created_at) WHERE state = 'waiting';
CREATE INDEX approvals_turn ON approvals (turn_id);
CREATE INDEX approvals_settled ON approvals (decided_at) WHERE state <> 'waiting';

-- What needs no asking in a chat while it works in a project.
CREATE TABLE rules (
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  number     BIGINT NOT NULL,                            -- within the chat, for people; never given twice
  project    TEXT   NOT NULL,                            -- working folder of the agent
  tool       TEXT   NOT NULL,
  kind       TEXT   NOT NULL CHECK (kind IN ('exact', 'prefix', 'path', 'inside', 'host', 'tool')),
  content    TEXT   NOT NULL,
  made_by    TEXT   NOT NULL,                            -- the user
  maker      TEXT   NOT NULL,                            -- that user's name
  made_at    BIGINT NOT NULL,
  revoked_at BIGINT NOT NULL DEFAULT 0,                  -- 0 = it is in force
  PRIMARY KEY (chat_key, number)
);

ALTER TABLE outbox ADD COLUMN approval_id TEXT NOT NULL DEFAULT ''; -- the approval whose card is drawn; empty = none

-- +goose Down
ALTER TABLE outbox DROP COLUMN approval_id;
DROP TABLE rules;
DROP TABLE approvals;
