-- +goose Up
-- What is worth knowing for longer than a conversation lasts. A memory belongs to one chat; its scope only narrows it.

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

-- Who changed a memory, when and why, with what it then said. Forgetting a memory empties its versions and keeps them:
-- that there was one, and a hash of its title, is all that is left.
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

-- +goose Down
DROP TABLE memory_versions;
DROP TABLE memories;
