-- +goose Up
-- Some of what must be shown is for people with whom there is no chat yet: the owner, and strangers.

CREATE TABLE posts (
  id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key    TEXT    NOT NULL,                           -- that of a chat, or of a user
  turn_id     BIGINT  NOT NULL DEFAULT 0,                 -- the turn whose card is drawn; 0 = none
  approval_id TEXT    NOT NULL DEFAULT '',                -- the approval whose card is drawn; empty = none
  subject     TEXT    NOT NULL DEFAULT '',                -- the grant whose card is drawn; empty = none
  parcel_id   BIGINT  NOT NULL DEFAULT 0,                 -- the file that is shown; 0 = none
  idem        TEXT    NOT NULL UNIQUE,                    -- makes a repeated send harmless
  reply_to    TEXT    NOT NULL,                           -- the platform's id of the message that it answers
  content     TEXT    NOT NULL,                           -- the text, or the card as JSON
  card        BIGINT  NOT NULL DEFAULT 0,                 -- 1 = content is a card; that of a turn is one in any case
  attempts    BIGINT  NOT NULL DEFAULT 0,
  next_at     BIGINT  NOT NULL,                           -- not before
  created_at  BIGINT  NOT NULL
);
INSERT INTO posts (id, chat_key, turn_id, approval_id, parcel_id, idem, reply_to, content, card, attempts, next_at, created_at)
  SELECT id, chat_key, turn_id, approval_id, parcel_id, idem, reply_to, content, card, attempts, next_at, created_at FROM outbox;
DROP TABLE outbox;
ALTER TABLE posts RENAME TO outbox;
CREATE INDEX outbox_chat ON outbox (chat_key, id);
CREATE INDEX outbox_due ON outbox (next_at);

-- +goose Down
CREATE TABLE posts (
  id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key    TEXT    NOT NULL REFERENCES chats (key),
  turn_id     BIGINT  NOT NULL DEFAULT 0,
  idem        TEXT    NOT NULL UNIQUE,
  reply_to    TEXT    NOT NULL,
  content     TEXT    NOT NULL,
  attempts    BIGINT  NOT NULL DEFAULT 0,
  next_at     BIGINT  NOT NULL,
  created_at  BIGINT  NOT NULL,
  approval_id TEXT    NOT NULL DEFAULT '',
  parcel_id   BIGINT  NOT NULL DEFAULT 0,
  card        BIGINT  NOT NULL DEFAULT 0
);
INSERT INTO posts (id, chat_key, turn_id, approval_id, parcel_id, idem, reply_to, content, card, attempts, next_at, created_at)
  SELECT id, chat_key, turn_id, approval_id, parcel_id, idem, reply_to, content, card, attempts, next_at, created_at FROM outbox
  WHERE subject = '' AND chat_key IN (SELECT key FROM chats);
DROP TABLE outbox;
ALTER TABLE posts RENAME TO outbox;
CREATE INDEX outbox_chat ON outbox (chat_key, id);
CREATE INDEX outbox_due ON outbox (next_at);
