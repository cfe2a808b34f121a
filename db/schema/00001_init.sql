-- +goose Up
-- Times are UTC milliseconds. Order within a chat is seq, never a clock.

CREATE TABLE chats (
  key             TEXT    NOT NULL PRIMARY KEY,          -- channel:kind:id[:thread:id]
  kind            TEXT    NOT NULL,                      -- p2p | group
  title           TEXT    NOT NULL DEFAULT '',
  lang            TEXT    NOT NULL DEFAULT '',           -- zh | en, as last spoken to the bot; empty = not known yet
  project_path    TEXT    NOT NULL DEFAULT '',           -- working folder of the agent; empty = the configured one
  permission_mode TEXT    NOT NULL DEFAULT '',           -- empty = the configured one
  next_seq        BIGINT  NOT NULL DEFAULT 1,
  epoch           BIGINT  NOT NULL DEFAULT 0,            -- raised by /new and /reset; context never reads across it
  session_id      TEXT    NOT NULL DEFAULT '',           -- the agent's session to resume; empty = none
  session_node    TEXT    NOT NULL DEFAULT '',           -- the machine that holds its transcript
  session_cwd     TEXT    NOT NULL DEFAULT '',           -- the folder that it belongs to, symbolic links resolved
  session_turn    BIGINT  NOT NULL DEFAULT 0             -- the last turn that it holds
);

-- History: append-only facts.
CREATE TABLE messages (
  id         INTEGER NOT NULL PRIMARY KEY,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  seq        BIGINT  NOT NULL,
  epoch      BIGINT  NOT NULL,
  turn_id    BIGINT  NOT NULL DEFAULT 0,                 -- the turn that asks or answers with it; 0 = none
  message_id TEXT    NOT NULL,                           -- the platform's id
  role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
  class      TEXT    NOT NULL CHECK (class IN ('talk', 'command', 'overheard')),
  actor_id   TEXT    NOT NULL DEFAULT '',
  actor_name TEXT    NOT NULL DEFAULT '',
  content    TEXT    NOT NULL,
  sent_at    BIGINT  NOT NULL,                           -- the platform's create time
  UNIQUE (chat_key, seq),
  UNIQUE (chat_key, message_id)
);

-- What the history prefix walks, newest first, without touching anything else.
CREATE INDEX messages_talk ON messages (chat_key, epoch, seq)
  WHERE class = 'talk' AND role IN ('user', 'assistant');
CREATE INDEX messages_turn ON messages (chat_key, turn_id) WHERE turn_id > 0;

CREATE TABLE turns (
  id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  epoch      BIGINT  NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled', 'interrupted')),
  session_id TEXT    NOT NULL DEFAULT '',                -- the session that it runs in, known before the agent can act
  card_id    TEXT    NOT NULL DEFAULT '',                -- the card that shows it
  failure    TEXT    NOT NULL DEFAULT '',                -- class of the failure, for operators
  created_at BIGINT  NOT NULL,
  started_at BIGINT  NOT NULL DEFAULT 0,
  ended_at   BIGINT  NOT NULL DEFAULT 0
);
CREATE INDEX turns_open ON turns (chat_key, id) WHERE state IN ('queued', 'running');

CREATE TABLE usage (
  turn_id            INTEGER NOT NULL PRIMARY KEY REFERENCES turns (id),
  chat_key           TEXT    NOT NULL,
  actor_id           TEXT    NOT NULL,
  model              TEXT    NOT NULL,
  input_tokens       BIGINT  NOT NULL,
  output_tokens      BIGINT  NOT NULL,
  cache_read_tokens  BIGINT  NOT NULL,
  cache_write_tokens BIGINT  NOT NULL,
  cost_usd           DOUBLE PRECISION NOT NULL,
  first_text_ms      BIGINT  NOT NULL,                   -- from the turn's start; 0 = no text came
  duration_ms        BIGINT  NOT NULL,
  ended_at           BIGINT  NOT NULL
);

-- +goose Down
DROP TABLE usage;
DROP TABLE turns;
DROP TABLE messages;
DROP TABLE chats;
