-- +goose Up
-- What the agent has cost, turn by turn and for what it was asked apart from them. A day is a stretch of time: where it
-- begins depends on the time zone of those who look.

CREATE TABLE ledger (
  id       INTEGER NOT NULL PRIMARY KEY,
  at       BIGINT  NOT NULL,
  chat_key TEXT    NOT NULL,
  user_id  TEXT    NOT NULL DEFAULT '',                  -- who asked first; empty = nobody, such as for a summary
  purpose  TEXT    NOT NULL,                             -- turn, or what it was for
  turn_id  BIGINT  NOT NULL DEFAULT 0,
  model    TEXT    NOT NULL,
  tokens   BIGINT  NOT NULL,                             -- all kinds together
  cost_usd DOUBLE PRECISION NOT NULL
);
CREATE INDEX ledger_chat ON ledger (chat_key, at);
CREATE INDEX ledger_user ON ledger (user_id, at);
CREATE INDEX ledger_time ON ledger (at);

INSERT INTO ledger (at, chat_key, user_id, purpose, turn_id, model, tokens, cost_usd)
  SELECT ended_at, chat_key, actor_id, 'turn', turn_id, model, input_tokens + output_tokens + cache_read_tokens + cache_write_tokens, cost_usd
  FROM usage;

-- +goose Down
DROP TABLE ledger;
