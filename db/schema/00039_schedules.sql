-- +goose Up
-- What is to be asked in chats at a time, or when a program says so.
CREATE TABLE schedules (
  chat_key   TEXT    NOT NULL,
  number     INTEGER NOT NULL,            -- in its chat, never used again
  state      TEXT    NOT NULL,            -- 'proposed', 'active', 'paused', 'over'
  rule       TEXT    NOT NULL DEFAULT '', -- when it is due; empty = when a program says so
  words      TEXT    NOT NULL DEFAULT '', -- the time as its maker has written it
  zone       TEXT    NOT NULL DEFAULT '', -- of the rule
  task       TEXT    NOT NULL,            -- what is asked
  name       TEXT    NOT NULL DEFAULT '', -- by which programs call it; empty = they do not
  maker      TEXT    NOT NULL DEFAULT '', -- on whose behalf it is asked
  maker_name TEXT    NOT NULL DEFAULT '',
  reply_to   TEXT    NOT NULL DEFAULT '', -- the message below which it is answered; empty = none
  next_at    BIGINT  NOT NULL DEFAULT 0,  -- when it is due next; 0 = not
  offered_at BIGINT  NOT NULL DEFAULT 0,  -- the missed time for which people may have it run; 0 = none
  PRIMARY KEY (chat_key, number)
) WITHOUT ROWID;
CREATE INDEX schedules_next ON schedules (next_at) WHERE next_at > 0;
CREATE UNIQUE INDEX schedules_name ON schedules (name, chat_key) WHERE name <> '' AND state <> 'over';

-- What programs have said, until it is asked.
CREATE TABLE calls (
  chat_key  TEXT    NOT NULL,
  number    INTEGER NOT NULL, -- of the schedule
  id        TEXT    NOT NULL, -- the same if a program repeats itself
  file      TEXT    NOT NULL DEFAULT '', -- what it has sent: see program_files; empty = nothing
  called_at BIGINT  NOT NULL,
  PRIMARY KEY (chat_key, number, id)
) WITHOUT ROWID;

-- The schedule that a token runs, as chat and number; empty = it lets a program ask whatever it likes.
ALTER TABLE tokens ADD COLUMN runs TEXT NOT NULL DEFAULT '';

-- The chat in which a token asks, as rules about access name it; empty = chats of its own.
ALTER TABLE tokens ADD COLUMN chat TEXT NOT NULL DEFAULT '';

-- Who decides what the agent of a program may do, as a person's ID; empty = the program itself does, if it can.
ALTER TABLE tokens ADD COLUMN person TEXT NOT NULL DEFAULT '';

-- Cards with which persons are asked for programs.
CREATE TABLE persons_asked (
  message TEXT NOT NULL PRIMARY KEY, -- one of the card, at the person's door
  card TEXT NOT NULL, -- its durable ID
  token TEXT NOT NULL, -- the ID
  chat_key TEXT NOT NULL,
  id TEXT NOT NULL -- what the program is shown of it
);
CREATE INDEX persons_asked_of ON persons_asked (chat_key, id);

-- +goose Down
DROP TABLE persons_asked;
ALTER TABLE tokens DROP COLUMN person;
ALTER TABLE tokens DROP COLUMN chat;
ALTER TABLE tokens DROP COLUMN runs;
DROP TABLE calls;
DROP TABLE schedules;
