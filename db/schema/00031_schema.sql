-- +goose Up
-- The tables as they were before the first release. Times are UTC milliseconds. Order within a chat is seq, never a clock.

CREATE TABLE chats (
  key            TEXT   NOT NULL PRIMARY KEY,              -- channel:kind:id[:thread:id]
  kind           TEXT   NOT NULL,                          -- p2p | group
  title          TEXT   NOT NULL DEFAULT '',
  lang           TEXT   NOT NULL DEFAULT '',               -- zh | en, as last spoken to the bot; empty = not known yet
  next_seq       BIGINT NOT NULL DEFAULT 1,
  epoch          BIGINT NOT NULL DEFAULT 0,                -- raised by /new and /reset; context never reads across it
  session_id     TEXT   NOT NULL DEFAULT '',               -- the agent's session to resume; empty = none
  session_node   TEXT   NOT NULL DEFAULT '',               -- the machine that holds its transcript
  session_cwd    TEXT   NOT NULL DEFAULT '',               -- the folder that it belongs to, symbolic links resolved
  session_turn   BIGINT NOT NULL DEFAULT 0,                -- the last turn that it holds
  no             BIGINT NOT NULL DEFAULT 0,                -- numbers the chats, for ever: the index knows them by it
  topic          TEXT   NOT NULL DEFAULT '',               -- our own title for it, given once; empty = none yet
  summary        TEXT   NOT NULL DEFAULT '',               -- stands for the History up to summary_seq; empty = none
  summary_seq    BIGINT NOT NULL DEFAULT 0,
  summary_at     BIGINT NOT NULL DEFAULT 0,                -- when the last message was written that it covers
  restart_seq    BIGINT NOT NULL DEFAULT 0,                -- the context began anew after it, for the chat had been silent for long; 0 = never
  turned_at      BIGINT NOT NULL DEFAULT 0,                -- when the last turn ended; 0 = there was none
  compact_for    TEXT   NOT NULL DEFAULT '',               -- the message that asked for a summary and is not answered yet
  session_tokens BIGINT NOT NULL DEFAULT 0,                -- that the session held after its last turn; 0 = not known
  session_window BIGINT NOT NULL DEFAULT 0,                -- that it can hold; 0 = not known
  settings       TEXT   NOT NULL DEFAULT '{}',             -- JSON object; what is not in it is as configured
  joined_at      BIGINT NOT NULL DEFAULT 0,                -- when the bot was last added, by the platform's clock
  left_at        BIGINT NOT NULL DEFAULT 0,                -- when it was last removed, or the chat dissolved; it is out while this is later
  greeted_at     BIGINT NOT NULL DEFAULT 0,                -- when the bot introduced itself in a private chat
  bot_turns      BIGINT NOT NULL DEFAULT 0,                -- questions of other bots since a person has spoken
  compact_reply  TEXT   NOT NULL DEFAULT ''                -- the message that the outcome of compact_for answers; empty = none
);
CREATE UNIQUE INDEX chats_no ON chats (no);
CREATE INDEX chats_compact ON chats (key) WHERE compact_for <> '';

-- History: append-only facts.
CREATE TABLE messages (
  id         INTEGER NOT NULL PRIMARY KEY,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  seq        BIGINT  NOT NULL,
  epoch      BIGINT  NOT NULL,
  turn_id    BIGINT  NOT NULL DEFAULT 0,                   -- the turn that asks or answers with it; 0 = none
  message_id TEXT    NOT NULL,                             -- the platform's id
  role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
  class      TEXT    NOT NULL CHECK (class IN ('talk', 'command', 'overheard')),
  actor_id   TEXT    NOT NULL DEFAULT '',
  actor_name TEXT    NOT NULL DEFAULT '',
  content    TEXT    NOT NULL,
  sent_at    BIGINT  NOT NULL,                             -- the platform's create time
  state      TEXT    NOT NULL DEFAULT '' CHECK (state IN ('', 'recalled', 'edited')),
  UNIQUE (chat_key, seq),
  UNIQUE (chat_key, message_id)
);
-- What the history prefix walks, newest first, without touching anything else.
CREATE INDEX messages_talk ON messages (chat_key, epoch, seq)
  WHERE class = 'talk' AND role IN ('user', 'assistant');
CREATE INDEX messages_turn ON messages (chat_key, turn_id) WHERE turn_id > 0;
-- Who has written a message may be learnt only later.
CREATE INDEX messages_nameless ON messages (actor_id) WHERE actor_name = '' AND actor_id <> '';
-- What was decided about agents' tools stands in the History, with the role system.
CREATE INDEX messages_decided ON messages (chat_key, sent_at) WHERE role = 'system';

CREATE TABLE turns (
  id             INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key       TEXT    NOT NULL REFERENCES chats (key),
  epoch          BIGINT  NOT NULL,
  state          TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled', 'interrupted')),
  session_id     TEXT    NOT NULL DEFAULT '',              -- the session that it runs in, known before the agent can act
  card_id        TEXT    NOT NULL DEFAULT '',              -- the card that shows it
  failure        TEXT    NOT NULL DEFAULT '',              -- class of the failure, for operators
  created_at     BIGINT  NOT NULL,
  started_at     BIGINT  NOT NULL DEFAULT 0,
  ended_at       BIGINT  NOT NULL DEFAULT 0,
  reply_to       TEXT    NOT NULL DEFAULT '',              -- the platform's id of the message that the answer answers
  continues      BIGINT  NOT NULL DEFAULT 0,               -- the interrupted turn that this one goes on with; 0 = none
  prompt_id      TEXT    NOT NULL DEFAULT '',              -- names the question in the agent's transcript
  attempts       BIGINT  NOT NULL DEFAULT 0,               -- how often it was claimed
  acted          BIGINT  NOT NULL DEFAULT 0,               -- 1 = a tool may have been used: never run it again unasked
  draft          TEXT    NOT NULL DEFAULT '',              -- what people may have seen of the answer so far
  asked_before   TEXT    NOT NULL DEFAULT '',              -- prompt_id of earlier attempts, a space after each
  context_report TEXT    NOT NULL DEFAULT '',              -- what the agent was told beside the question, as JSON
  stopped        BIGINT  NOT NULL DEFAULT 0,               -- 1 = somebody stopped it: it is not begun again
  follows        BIGINT  NOT NULL DEFAULT 0,               -- the turn whose questions it goes on with; 0 = it has its own
  part_ends      TEXT    NOT NULL DEFAULT ''               -- JSON: the bytes of the answer at which its messages end, but for the last; '' = it has one
);
CREATE INDEX turns_open ON turns (chat_key, id) WHERE state IN ('queued', 'running');
CREATE INDEX turns_running ON turns (id) WHERE state = 'running';
CREATE INDEX turns_interrupted ON turns (chat_key, id) WHERE state = 'interrupted';
-- With which turn a session began.
CREATE INDEX turns_session ON turns (session_id, id) WHERE session_id <> '';
CREATE INDEX turns_chat ON turns (chat_key, id);
CREATE INDEX turns_ended ON turns (ended_at) WHERE ended_at > 0;

-- Events that are no messages, by the platform's id: each counts once.
CREATE TABLE events (
  id      TEXT   NOT NULL PRIMARY KEY,
  seen_at BIGINT NOT NULL
);
CREATE INDEX events_seen ON events (seen_at);

-- A row per message: its id is no * 2^32 + 2^31 + seq, so that the messages of a chat lie together. It holds no text, only
-- which messages have which term; the terms are those of package tokenize.
CREATE VIRTUAL TABLE terms USING fts5 (list, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TABLE indexed (
  upto    INTEGER NOT NULL,                                -- the messages up to this id are in the index
  version INTEGER NOT NULL                                 -- of the tokenizer that made it
);
INSERT INTO indexed VALUES (0, 1);

-- The sessions of machines that did not answer a chat's last turn. That of the one that did is in chats.
CREATE TABLE sessions (
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  node       TEXT   NOT NULL,                              -- the machine that holds its transcript
  epoch      BIGINT NOT NULL,
  session_id TEXT   NOT NULL,
  cwd        TEXT   NOT NULL,                              -- the folder that it belongs to, symbolic links resolved
  turn_id    BIGINT NOT NULL,                              -- the last turn that it holds
  PRIMARY KEY (chat_key, node)
);

-- What is worth knowing for longer than a conversation lasts. A memory belongs to one chat; its scope only narrows it.
CREATE TABLE memories (
  id         TEXT   NOT NULL PRIMARY KEY,                  -- UUID
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  number     BIGINT NOT NULL,                              -- within the chat, for people; never given twice
  scope      TEXT   NOT NULL CHECK (scope IN ('chat', 'user', 'project')),
  of         TEXT   NOT NULL DEFAULT '',                   -- the user's id, or the project's path; empty for a chat
  state      TEXT   NOT NULL CHECK (state IN ('active', 'proposed')),
  title      TEXT   NOT NULL,
  content    TEXT   NOT NULL,
  keywords   TEXT   NOT NULL DEFAULT '[]',                 -- a JSON list
  sources    TEXT   NOT NULL DEFAULT '[]',                 -- a JSON list of the ids of the messages it comes from
  version    BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE (chat_key, number)
);

-- Who changed a memory, when and why, with what it then said. Forgetting a memory empties its versions and keeps them:
-- that there was one, and a hash of its title, is all that is left.
CREATE TABLE memory_versions (
  memory_id  TEXT   NOT NULL,
  version    BIGINT NOT NULL,
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  number     BIGINT NOT NULL,
  act        TEXT   NOT NULL CHECK (act IN ('created', 'changed', 'forgotten')),
  who        TEXT   NOT NULL,                              -- a user's id, "agent", "import" ...
  why        TEXT   NOT NULL,
  at         BIGINT NOT NULL,
  title_hash TEXT   NOT NULL,                              -- SHA-256 of the memory's id and this version's title
  scope      TEXT   NOT NULL,
  of         TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  title      TEXT   NOT NULL,
  content    TEXT   NOT NULL,
  keywords   TEXT   NOT NULL,
  sources    TEXT   NOT NULL,
  PRIMARY KEY (memory_id, version)
);
CREATE INDEX memory_versions_number ON memory_versions (chat_key, number);

-- What messages mean, as a model sees it. It can be made anew at any time. The rows of a conversation lie together, since they are read together.
CREATE TABLE embeddings (
  chat_key TEXT   NOT NULL REFERENCES chats (key),
  epoch    BIGINT NOT NULL,
  seq      BIGINT NOT NULL,
  model    TEXT   NOT NULL,                                -- vectors of two models cannot be compared
  dim      BIGINT NOT NULL,                                -- the vector's length
  vector   BLOB   NOT NULL,                                -- a signed byte for each dimension
  PRIMARY KEY (chat_key, epoch, seq)
) WITHOUT ROWID;

-- What was asked, and what became of it. A row is swept some time after it was settled.
CREATE TABLE approvals (
  id          TEXT   NOT NULL PRIMARY KEY,                 -- UUID
  chat_key    TEXT   NOT NULL REFERENCES chats (key),
  turn_id     BIGINT NOT NULL,                             -- the turn that waits for it
  tool        TEXT   NOT NULL,
  input       TEXT   NOT NULL,                             -- JSON, exactly as the agent wants it
  hash        TEXT   NOT NULL,                             -- SHA-256 of tool and input
  project     TEXT   NOT NULL,                             -- working folder of the agent
  rule        TEXT   NOT NULL DEFAULT '',                  -- that "always" stands for, as JSON; empty = there is no always
  askers      TEXT   NOT NULL,                             -- JSON list of the users who asked for the turn
  state       TEXT   NOT NULL CHECK (state IN ('waiting', 'approved', 'refused', 'expired', 'withdrawn', 'lost')),
  decided_by  TEXT   NOT NULL DEFAULT '',                  -- the user; empty = nobody
  decider     TEXT   NOT NULL DEFAULT '',                  -- that user's name
  words       TEXT   NOT NULL DEFAULT '',                  -- why it was refused, or what was answered
  card_id     TEXT   NOT NULL DEFAULT '',                  -- the card that asks
  created_at  BIGINT NOT NULL,
  expires_at  BIGINT NOT NULL,
  decided_at  BIGINT NOT NULL DEFAULT 0,
  needed_by   BIGINT NOT NULL DEFAULT 0,                   -- the turn that needs it: turn_id, or the last that goes on with it
  answers     TEXT   NOT NULL DEFAULT '',                  -- input of the tool with the answers to its questions, as JSON; empty = it runs as it was asked
  delivered   BIGINT NOT NULL DEFAULT 0,                   -- 1 = no agent has to be told any more
  repeated_at BIGINT NOT NULL DEFAULT 0,                   -- when people were called to decide; 0 = not yet
  continued   BIGINT NOT NULL DEFAULT 0                    -- how often a start of the program made the turn go on for it
);
CREATE INDEX approvals_waiting ON approvals (created_at) WHERE state = 'waiting';
CREATE INDEX approvals_turn ON approvals (turn_id);
CREATE INDEX approvals_settled ON approvals (decided_at) WHERE state <> 'waiting';
CREATE INDEX approvals_undelivered ON approvals (needed_by) WHERE delivered = 0;

-- What needs no asking in a chat while it works in a project.
CREATE TABLE rules (
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  number     BIGINT NOT NULL,                              -- within the chat, for people; never given twice
  project    TEXT   NOT NULL,                              -- working folder of the agent
  tool       TEXT   NOT NULL,
  kind       TEXT   NOT NULL CHECK (kind IN ('exact', 'prefix', 'path', 'inside', 'host', 'tool')),
  content    TEXT   NOT NULL,
  made_by    TEXT   NOT NULL,                              -- the user
  maker      TEXT   NOT NULL,                              -- that user's name
  made_at    BIGINT NOT NULL,
  revoked_at BIGINT NOT NULL DEFAULT 0,                    -- 0 = it is in force
  PRIMARY KEY (chat_key, number)
);

-- What belongs to messages and does not come with them.
CREATE TABLE files (
  id         INTEGER NOT NULL PRIMARY KEY,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  message_id TEXT    NOT NULL,                             -- the message that it belongs to
  number     BIGINT  NOT NULL,                             -- within the message, from 1
  kind       TEXT    NOT NULL,                             -- image | file | audio | video | quote | forward
  held_by    TEXT    NOT NULL,                             -- the platform's id of the message that it is fetched from
  file_key   TEXT    NOT NULL,                             -- the platform's id of it there
  name       TEXT    NOT NULL,                             -- as its sender called it
  length_ms  BIGINT  NOT NULL,                             -- of what is heard or seen; 0 = not known
  state      TEXT    NOT NULL CHECK (state IN ('wanted', 'here', 'missed', 'too_big', 'past')),
  path       TEXT    NOT NULL DEFAULT '',                  -- below the folder of files; empty = nowhere
  size       BIGINT  NOT NULL DEFAULT 0,                   -- bytes
  said       TEXT    NOT NULL DEFAULT '',                  -- what it says in words
  created_at BIGINT  NOT NULL,
  UNIQUE (chat_key, message_id, number)
);
CREATE INDEX files_created ON files (created_at);

-- Who was let in, or turned away, from within the chat. What the configuration says counts first.
CREATE TABLE grants (
  subject    TEXT   NOT NULL PRIMARY KEY,                  -- the platform's id of a user or of a chat
  state      TEXT   NOT NULL CHECK (state IN ('asked', 'allowed', 'ignored')),
  name       TEXT   NOT NULL DEFAULT '',                   -- as shown to people
  chat_key   TEXT   NOT NULL DEFAULT '',                   -- where it was asked for
  message_id TEXT   NOT NULL DEFAULT '',                   -- with which message
  card_id    TEXT   NOT NULL DEFAULT '',                   -- the card on which it is decided; empty = none is there yet
  decided_by TEXT   NOT NULL DEFAULT '',                   -- user id
  asked_at   BIGINT NOT NULL DEFAULT 0,
  decided_at BIGINT NOT NULL DEFAULT 0
);

-- What the agent has cost, turn by turn and for what it was asked apart from them. A day is a stretch of time: where it
-- begins depends on the time zone of those who look.
CREATE TABLE ledger (
  id       INTEGER NOT NULL PRIMARY KEY,
  at       BIGINT  NOT NULL,
  chat_key TEXT    NOT NULL,
  user_id  TEXT    NOT NULL DEFAULT '',                    -- who asked first; empty = nobody, such as for a summary
  purpose  TEXT    NOT NULL,                               -- turn, or what it was for
  turn_id  BIGINT  NOT NULL DEFAULT 0,
  model    TEXT    NOT NULL,
  tokens   BIGINT  NOT NULL,                               -- all kinds together
  cost_usd DOUBLE PRECISION NOT NULL
);
CREATE INDEX ledger_chat ON ledger (chat_key, at);
CREATE INDEX ledger_user ON ledger (user_id, at);
CREATE INDEX ledger_time ON ledger (at);

-- Files that agents give to people.
CREATE TABLE file_deliveries (
  id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  turn_id    BIGINT  NOT NULL,                             -- that gives it
  idem       TEXT    NOT NULL UNIQUE,                      -- the same file is given once by one turn
  name       TEXT    NOT NULL,                             -- as people see it
  picture    BIGINT  NOT NULL,                             -- 1 = to be shown as a picture
  caption    TEXT    NOT NULL,
  size       BIGINT  NOT NULL,                             -- in bytes
  copy       TEXT    NOT NULL,                             -- names its copy in the folder of what goes out; empty = its content lies in the outbox
  upload     TEXT    NOT NULL DEFAULT '',                  -- the platform's name of it, stored before anybody can see it; empty = not uploaded
  state      TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'shown', 'refused', 'dropped')),
  created_at BIGINT  NOT NULL
);
CREATE INDEX file_deliveries_turn ON file_deliveries (turn_id);

-- To whom an app belongs, unless its configuration says so, and who has been welcomed as such.
CREATE TABLE owners (
  app_id      TEXT    NOT NULL,
  user_id     TEXT    NOT NULL,
  source      TEXT    NOT NULL CHECK (source IN ('creator', 'code', 'config')),
  message_id  TEXT    NOT NULL DEFAULT '',                 -- that brought the code
  since       INTEGER NOT NULL,                            -- UTC ms
  welcomed_at INTEGER NOT NULL DEFAULT 0,                  -- 0 = not yet
  PRIMARY KEY (app_id, user_id)
) WITHOUT ROWID;
-- One is found at most, whoever tries at the same time.
CREATE UNIQUE INDEX owners_found ON owners (app_id) WHERE source <> 'config';

-- What must still be shown to people. A row goes when the platform has confirmed it.
CREATE TABLE outbox (
  id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key         TEXT    NOT NULL,                       -- that of a chat, or of a user
  turn_id          BIGINT  NOT NULL DEFAULT 0,             -- the turn whose card is drawn; 0 = none
  approval_id      TEXT    NOT NULL DEFAULT '',            -- the approval whose card is drawn; empty = none
  subject          TEXT    NOT NULL DEFAULT '',            -- the grant whose card is drawn; empty = none
  file_delivery_id BIGINT  NOT NULL DEFAULT 0,             -- the file that is shown; 0 = none
  idem             TEXT    NOT NULL UNIQUE,                -- makes a repeated send harmless
  reply_to         TEXT    NOT NULL,                       -- the platform's id of the message that it answers
  content          TEXT    NOT NULL,                       -- the text, or the card as JSON
  card             BIGINT  NOT NULL DEFAULT 0,             -- 1 = content is a card; that of a turn is one in any case
  attempts         BIGINT  NOT NULL DEFAULT 0,
  next_at          BIGINT  NOT NULL,                       -- not before
  created_at       BIGINT  NOT NULL,
  mentions         TEXT    NOT NULL DEFAULT '[]',          -- JSON list of the users who are called
  obstacle         TEXT    NOT NULL DEFAULT '',            -- a word for what is in the way; '' = unknown, or it has not failed
  why              TEXT    NOT NULL DEFAULT ''             -- what the last attempt was told, for operators
);
CREATE INDEX outbox_chat ON outbox (chat_key, id);
CREATE INDEX outbox_due ON outbox (next_at);

-- In which folder the agents of a chat keep their state. Its name tells nothing about the chat.
CREATE TABLE agent_folders (
  chat_key TEXT    PRIMARY KEY,
  id       TEXT    NOT NULL UNIQUE,                        -- UUID; the name of the folder
  moved    INTEGER NOT NULL DEFAULT 1                      -- 0 = sessions that the chat had before may lie elsewhere
) WITHOUT ROWID;

-- A title belongs to a conversation, not to its chat: chats.topic is that of the one that goes on, these are those of
-- the ones before.
CREATE TABLE titles (
  chat_key TEXT   NOT NULL,
  epoch    BIGINT NOT NULL,
  title    TEXT   NOT NULL,
  PRIMARY KEY (chat_key, epoch)
) WITHOUT ROWID;

-- Messages that were handed to a turn while it ran, until the turn has ended. An interrupted turn keeps those that its agent
-- has not read: whoever makes it go on has them asked.
CREATE TABLE steers (
  turn_id   BIGINT NOT NULL,
  chat_key  TEXT   NOT NULL,
  seq       BIGINT NOT NULL,                               -- of the message in the History of the chat
  prompt_id TEXT   NOT NULL,                               -- names the message in the transcript of the session
  is_read   BIGINT NOT NULL DEFAULT 0,                     -- 1 = the agent has read it
  PRIMARY KEY (turn_id, seq)
);

-- Chats in which the platform lets the bot say nothing: a muted group, or somebody who does not want its messages.
CREATE TABLE silenced (
  chat_key TEXT   NOT NULL PRIMARY KEY,
  since    BIGINT NOT NULL,                                -- ms
  why      TEXT   NOT NULL                                 -- what the platform says, for operators
);

-- Who wants a daily summary.
CREATE TABLE digests (
  chat_key TEXT   NOT NULL PRIMARY KEY REFERENCES chats (key), -- where it is sent
  minute   BIGINT NOT NULL,                                -- of the day
  day      TEXT   NOT NULL                                 -- the last one that is done, such as 2026-05-04
);

-- +goose Down
DROP TABLE digests;
DROP TABLE silenced;
DROP TABLE steers;
DROP TABLE titles;
DROP TABLE agent_folders;
DROP TABLE outbox;
DROP TABLE owners;
DROP TABLE file_deliveries;
DROP TABLE ledger;
DROP TABLE grants;
DROP TABLE files;
DROP TABLE rules;
DROP TABLE approvals;
DROP TABLE embeddings;
DROP TABLE memory_versions;
DROP TABLE memories;
DROP TABLE sessions;
DROP TABLE indexed;
DROP TABLE terms;
DROP TABLE events;
DROP TABLE turns;
DROP TABLE messages;
DROP TABLE chats;
