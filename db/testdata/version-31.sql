-- The tables of a database that went through the 31 migrations before 00031_schema.sql replaced them.

CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE chats (
  key             TEXT    NOT NULL PRIMARY KEY,          -- channel:kind:id[:thread:id]
  kind            TEXT    NOT NULL,                      -- p2p | group
  title           TEXT    NOT NULL DEFAULT '',
  lang            TEXT    NOT NULL DEFAULT '',           -- zh | en, as last spoken to the bot; empty = not known yet
  next_seq        BIGINT  NOT NULL DEFAULT 1,
  epoch           BIGINT  NOT NULL DEFAULT 0,            -- raised by /new and /reset; context never reads across it
  session_id      TEXT    NOT NULL DEFAULT '',           -- the agent's session to resume; empty = none
  session_node    TEXT    NOT NULL DEFAULT '',           -- the machine that holds its transcript
  session_cwd     TEXT    NOT NULL DEFAULT '',           -- the folder that it belongs to, symbolic links resolved
  session_turn    BIGINT  NOT NULL DEFAULT 0             -- the last turn that it holds
, no BIGINT NOT NULL DEFAULT 0, topic          TEXT   NOT NULL DEFAULT '', summary        TEXT   NOT NULL DEFAULT '', summary_seq    BIGINT NOT NULL DEFAULT 0, summary_at     BIGINT NOT NULL DEFAULT 0, restart_seq       BIGINT NOT NULL DEFAULT 0, turned_at      BIGINT NOT NULL DEFAULT 0, compact_for    TEXT   NOT NULL DEFAULT '', session_tokens BIGINT NOT NULL DEFAULT 0, session_window BIGINT NOT NULL DEFAULT 0, settings TEXT NOT NULL DEFAULT '{}', joined_at  BIGINT NOT NULL DEFAULT 0, left_at    BIGINT NOT NULL DEFAULT 0, greeted_at BIGINT NOT NULL DEFAULT 0, bot_turns  BIGINT NOT NULL DEFAULT 0, compact_reply TEXT NOT NULL DEFAULT '');
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
  sent_at    BIGINT  NOT NULL, state TEXT NOT NULL DEFAULT '' CHECK (state IN ('', 'recalled', 'edited')),                           -- the platform's create time
  UNIQUE (chat_key, seq),
  UNIQUE (chat_key, message_id)
);
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
, reply_to  TEXT   NOT NULL DEFAULT '', continues BIGINT NOT NULL DEFAULT 0, prompt_id TEXT   NOT NULL DEFAULT '', attempts  BIGINT NOT NULL DEFAULT 0, acted     BIGINT NOT NULL DEFAULT 0, draft     TEXT   NOT NULL DEFAULT '', asked_before TEXT NOT NULL DEFAULT '', context_report         TEXT NOT NULL DEFAULT '', stopped BIGINT NOT NULL DEFAULT 0, follows BIGINT NOT NULL DEFAULT 0, part_ends TEXT NOT NULL DEFAULT '');
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
CREATE INDEX turns_running ON turns (id) WHERE state = 'running';
CREATE INDEX turns_interrupted ON turns (chat_key, id) WHERE state = 'interrupted';
CREATE TABLE events (
  id      TEXT   NOT NULL PRIMARY KEY,
  seen_at BIGINT NOT NULL
);
CREATE INDEX events_seen ON events (seen_at);
CREATE UNIQUE INDEX chats_no ON chats (no);
CREATE VIRTUAL TABLE terms USING fts5 (list, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
CREATE TABLE indexed (
  upto    INTEGER NOT NULL,                              -- the messages up to this id are in the index
  version INTEGER NOT NULL                               -- of the lexicon that made it
);
CREATE INDEX turns_session ON turns (session_id, id) WHERE session_id <> '';
CREATE TABLE sessions (
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  node       TEXT   NOT NULL,                            -- the machine that holds its transcript
  epoch      BIGINT NOT NULL,
  session_id TEXT   NOT NULL,
  cwd        TEXT   NOT NULL,                            -- the folder that it belongs to, symbolic links resolved
  turn_id    BIGINT NOT NULL,                            -- the last turn that it holds
  PRIMARY KEY (chat_key, node)
);
CREATE INDEX turns_chat ON turns (chat_key, id);
CREATE INDEX chats_compact ON chats (key) WHERE compact_for <> '';
CREATE TABLE memories (
  id         TEXT    NOT NULL PRIMARY KEY,               -- UUID
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  number     BIGINT  NOT NULL,                           -- within the chat, for people; never given twice
  scope      TEXT    NOT NULL CHECK (scope IN ('chat', 'user', 'project')),
  of         TEXT    NOT NULL DEFAULT '',                -- the user's id, or the project's path; empty for a chat
  state      TEXT    NOT NULL CHECK (state IN ('active', 'proposed')),
  title      TEXT    NOT NULL,
  content    TEXT    NOT NULL,
  keywords   TEXT    NOT NULL DEFAULT '[]',              -- a JSON list
  sources    TEXT    NOT NULL DEFAULT '[]',              -- a JSON list of the ids of the messages it comes from
  version    BIGINT  NOT NULL,
  created_at BIGINT  NOT NULL,
  updated_at BIGINT  NOT NULL,
  UNIQUE (chat_key, number)
);
CREATE TABLE memory_versions (
  memory_id  TEXT    NOT NULL,
  version    BIGINT  NOT NULL,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  number     BIGINT  NOT NULL,
  act        TEXT    NOT NULL CHECK (act IN ('created', 'changed', 'forgotten')),
  who        TEXT    NOT NULL,                           -- a user's id, "agent", "import" ...
  why        TEXT    NOT NULL,
  at         BIGINT  NOT NULL,
  title_hash TEXT    NOT NULL,                           -- SHA-256 of the memory's id and this version's title
  scope      TEXT    NOT NULL,
  of         TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  title      TEXT    NOT NULL,
  content    TEXT    NOT NULL,
  keywords   TEXT    NOT NULL,
  sources    TEXT    NOT NULL,
  PRIMARY KEY (memory_id, version)
);
CREATE INDEX memory_versions_number ON memory_versions (chat_key, number);
CREATE TABLE embeddings (
  chat_key TEXT   NOT NULL REFERENCES chats (key),
  epoch    BIGINT NOT NULL,
  seq      BIGINT NOT NULL,
  model    TEXT   NOT NULL,                              -- vectors of two models cannot be compared
  dim      BIGINT NOT NULL,                              -- the vector's length
  vector   BLOB   NOT NULL,                              -- a signed byte for each dimension
  PRIMARY KEY (chat_key, epoch, seq)
) WITHOUT ROWID;
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
, needed_by BIGINT NOT NULL DEFAULT 0, answers TEXT NOT NULL DEFAULT '', delivered BIGINT NOT NULL DEFAULT 0, repeated_at BIGINT NOT NULL DEFAULT 0, continued BIGINT NOT NULL DEFAULT 0);
CREATE INDEX approvals_waiting ON approvals (created_at) WHERE state = 'waiting';
CREATE INDEX approvals_turn ON approvals (turn_id);
CREATE INDEX approvals_settled ON approvals (decided_at) WHERE state <> 'waiting';
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
CREATE TABLE files (
  id         INTEGER NOT NULL PRIMARY KEY,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  message_id TEXT    NOT NULL,                           -- the message that it belongs to
  number     BIGINT  NOT NULL,                           -- within the message, from 1
  kind       TEXT    NOT NULL,                           -- image | file | audio | video | quote | forward
  held_by    TEXT    NOT NULL,                           -- the platform's id of the message that it is fetched from
  file_key   TEXT    NOT NULL,                           -- the platform's id of it there
  name       TEXT    NOT NULL,                           -- as its sender called it
  length_ms  BIGINT  NOT NULL,                           -- of what is heard or seen; 0 = not known
  state      TEXT    NOT NULL CHECK (state IN ('wanted', 'here', 'missed', 'too_big', 'past')),
  path       TEXT    NOT NULL DEFAULT '',                -- below the folder of files; empty = nowhere
  size       BIGINT  NOT NULL DEFAULT 0,                 -- bytes
  said       TEXT    NOT NULL DEFAULT '',                -- what it says in words
  created_at BIGINT  NOT NULL,
  UNIQUE (chat_key, message_id, number)
);
CREATE INDEX files_created ON files (created_at);
CREATE TABLE grants (
  subject    TEXT   NOT NULL PRIMARY KEY,                -- the platform's id of a user or of a chat
  state      TEXT   NOT NULL CHECK (state IN ('asked', 'allowed', 'ignored')),
  name       TEXT   NOT NULL DEFAULT '',                 -- as shown to people
  chat_key   TEXT   NOT NULL DEFAULT '',                 -- where it was asked for
  message_id TEXT   NOT NULL DEFAULT '',                 -- with which message
  card_id    TEXT   NOT NULL DEFAULT '',                 -- the card on which it is decided; empty = none is there yet
  decided_by TEXT   NOT NULL DEFAULT '',                 -- user id
  asked_at   BIGINT NOT NULL DEFAULT 0,
  decided_at BIGINT NOT NULL DEFAULT 0
);
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
CREATE TABLE "file_deliveries" (
  id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  turn_id    BIGINT  NOT NULL,                           -- that gives it
  idem       TEXT    NOT NULL UNIQUE,                    -- the same file is given once by one turn
  name       TEXT    NOT NULL,                           -- as people see it
  picture    BIGINT  NOT NULL,                           -- 1 = to be shown as a picture
  caption    TEXT    NOT NULL,
  size       BIGINT  NOT NULL,                           -- in bytes
  copy       TEXT    NOT NULL,                           -- names its copy in the folder of what goes out; empty = its content lies in the outbox
  upload     TEXT    NOT NULL DEFAULT '',                -- the platform's name of it, stored before anybody can see it; empty = not uploaded
  state      TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'shown', 'refused', 'dropped')),
  created_at BIGINT  NOT NULL
);
CREATE TABLE owners (
	app_id      TEXT    NOT NULL,
	user_id     TEXT    NOT NULL,
	source      TEXT    NOT NULL CHECK (source IN ('creator', 'code', 'config')),
	message_id  TEXT    NOT NULL DEFAULT '', -- that brought the code
	since       INTEGER NOT NULL,            -- UTC ms
	welcomed_at INTEGER NOT NULL DEFAULT 0,  -- 0 = not yet
	PRIMARY KEY (app_id, user_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX owners_found ON owners (app_id) WHERE source <> 'config';
CREATE TABLE "outbox" (
  id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key    TEXT    NOT NULL,                           -- that of a chat, or of a user
  turn_id     BIGINT  NOT NULL DEFAULT 0,                 -- the turn whose card is drawn; 0 = none
  approval_id TEXT    NOT NULL DEFAULT '',                -- the approval whose card is drawn; empty = none
  subject     TEXT    NOT NULL DEFAULT '',                -- the grant whose card is drawn; empty = none
  file_delivery_id   BIGINT  NOT NULL DEFAULT 0,                 -- the file that is shown; 0 = none
  idem        TEXT    NOT NULL UNIQUE,                    -- makes a repeated send harmless
  reply_to    TEXT    NOT NULL,                           -- the platform's id of the message that it answers
  content     TEXT    NOT NULL,                           -- the text, or the card as JSON
  card        BIGINT  NOT NULL DEFAULT 0,                 -- 1 = content is a card; that of a turn is one in any case
  attempts    BIGINT  NOT NULL DEFAULT 0,
  next_at     BIGINT  NOT NULL,                           -- not before
  created_at  BIGINT  NOT NULL
, mentions TEXT NOT NULL DEFAULT '[]', obstacle TEXT NOT NULL DEFAULT '', why      TEXT NOT NULL DEFAULT '');
CREATE INDEX outbox_chat ON outbox (chat_key, id);
CREATE INDEX outbox_due ON outbox (next_at);
CREATE TABLE agent_folders (
	chat_key TEXT    PRIMARY KEY,
	id       TEXT    NOT NULL UNIQUE,            -- UUID; the name of the folder
	moved    INTEGER NOT NULL DEFAULT 1          -- 0 = sessions that the chat had before may lie elsewhere
) WITHOUT ROWID;
CREATE TABLE titles (
	chat_key TEXT   NOT NULL,
	epoch    BIGINT NOT NULL,
	title    TEXT   NOT NULL,
	PRIMARY KEY (chat_key, epoch)
) WITHOUT ROWID;
CREATE INDEX messages_nameless ON messages (actor_id) WHERE actor_name = '' AND actor_id <> '';
CREATE INDEX file_deliveries_turn ON file_deliveries (turn_id);
CREATE INDEX messages_decided ON messages (chat_key, sent_at) WHERE role = 'system';
CREATE TABLE steers (
	turn_id   BIGINT NOT NULL,
	chat_key  TEXT   NOT NULL,
	seq       BIGINT NOT NULL, -- of the message in the History of the chat
	prompt_id TEXT   NOT NULL, -- names the message in the transcript of the session
	is_read   BIGINT NOT NULL DEFAULT 0, -- 1 = the agent has read it
	PRIMARY KEY (turn_id, seq)
);
CREATE TABLE silenced (
	chat_key TEXT   NOT NULL PRIMARY KEY,
	since    BIGINT NOT NULL, -- ms
	why      TEXT   NOT NULL  -- what the platform says, for operators
);
CREATE TABLE digests (
	chat_key TEXT   NOT NULL PRIMARY KEY REFERENCES chats (key), -- where it is sent
	minute   BIGINT NOT NULL, -- of the day
	day      TEXT   NOT NULL  -- the last one that is done, such as 2026-05-04
);
CREATE INDEX turns_ended ON turns (ended_at) WHERE ended_at > 0;
CREATE INDEX approvals_undelivered ON approvals (needed_by) WHERE delivered = 0;
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (1, 0, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (2, 1, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (3, 2, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (4, 3, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (5, 4, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (6, 5, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (7, 6, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (8, 7, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (9, 8, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (10, 9, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (11, 10, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (12, 11, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (13, 12, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (14, 13, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (15, 14, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (16, 15, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (17, 16, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (18, 17, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (19, 18, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (20, 19, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (21, 20, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (22, 21, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (23, 22, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (24, 23, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (25, 24, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (26, 25, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (27, 26, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (28, 27, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (29, 28, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (30, 29, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (31, 30, 1);
INSERT INTO goose_db_version (id, version_id, is_applied) VALUES (32, 31, 1);
INSERT INTO indexed VALUES (0, 1);
