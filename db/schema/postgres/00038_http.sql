-- +goose Up
-- Programs that ask over HTTP. Each has a token.
CREATE TABLE tokens (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- of the program, as of a person who asks; never used again
  name TEXT COLLATE "C" NOT NULL UNIQUE,
  hash TEXT COLLATE "C" NOT NULL UNIQUE, -- SHA-256 of the token in hex: nobody reads it here
  project TEXT COLLATE "C" NOT NULL DEFAULT '', -- in which its chats begin; empty = the default one
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL DEFAULT 0 -- 0 = never
);

-- What the programs call their chats. A chat may have several names.
CREATE TABLE rooms (
  token TEXT COLLATE "C" NOT NULL, -- the ID
  name TEXT COLLATE "C" NOT NULL,
  chat_key TEXT COLLATE "C" NOT NULL,
  named_at BIGINT NOT NULL,
  PRIMARY KEY (token, name)
);
CREATE INDEX rooms_chat ON rooms (token, chat_key);

-- What was shown over HTTP, for as long as a program may still ask for it.
CREATE TABLE shown (
  chat_key TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL, -- of the text or card
  seq BIGINT NOT NULL, -- grows with each change in a chat; about the milliseconds since 1970
  content TEXT COLLATE "C" NOT NULL, -- JSON
  PRIMARY KEY (chat_key, id)
);
CREATE INDEX shown_seq ON shown (chat_key, seq);

-- Files that programs have sent, or that were shown to them, for as long as somebody may still fetch them.
CREATE TABLE program_files (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  chat_key TEXT COLLATE "C" NOT NULL,
  content BYTEA NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX program_files_age ON program_files (created_at);

-- Of the tokens of an expense, those that the model has written.
ALTER TABLE ledger ADD COLUMN written BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE ledger DROP COLUMN written;
DROP TABLE program_files;
DROP TABLE shown;
DROP TABLE rooms;
DROP TABLE tokens;
