-- +goose Up
-- Files that agents give to people, and the bot's place in its chats.

CREATE TABLE parcels (
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
CREATE INDEX parcels_turn ON parcels (turn_id);

ALTER TABLE outbox ADD COLUMN parcel_id BIGINT NOT NULL DEFAULT 0; -- the file that is shown; 0 = none

ALTER TABLE chats ADD COLUMN joined_at  BIGINT NOT NULL DEFAULT 0; -- when the bot was last added, by the platform's clock
ALTER TABLE chats ADD COLUMN left_at    BIGINT NOT NULL DEFAULT 0; -- when it was last removed, or the chat dissolved; it is out while this is later
ALTER TABLE chats ADD COLUMN greeted_at BIGINT NOT NULL DEFAULT 0; -- when the bot introduced itself in a private chat
ALTER TABLE chats ADD COLUMN bot_turns  BIGINT NOT NULL DEFAULT 0; -- questions of other bots since a person has spoken

-- +goose Down
ALTER TABLE chats DROP COLUMN bot_turns;
ALTER TABLE chats DROP COLUMN greeted_at;
ALTER TABLE chats DROP COLUMN left_at;
ALTER TABLE chats DROP COLUMN joined_at;
ALTER TABLE outbox DROP COLUMN parcel_id;
DROP TABLE parcels;
