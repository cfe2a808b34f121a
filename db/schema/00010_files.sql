-- +goose Up
-- What belongs to messages and does not come with them, and messages that are out of every later context.

-- recalled: it was taken back; edited: its author has put another one in its place; empty = it stands.
ALTER TABLE messages ADD COLUMN state TEXT NOT NULL DEFAULT '' CHECK (state IN ('', 'recalled', 'edited'));

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

-- +goose Down
DROP TABLE files;
ALTER TABLE messages DROP COLUMN state;
