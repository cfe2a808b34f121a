-- +goose Up
-- The chats that go on in a terminal. Their questions wait.
CREATE TABLE handoffs (
  chat_key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  node TEXT COLLATE "C" NOT NULL, -- the machine of the terminal
  epoch BIGINT NOT NULL, -- of the conversation that goes on there
  session TEXT COLLATE "C" NOT NULL,
  cwd TEXT COLLATE "C" NOT NULL, -- the working folder, symbolic links resolved
  pid BIGINT NOT NULL DEFAULT 0, -- of the CLI; 0 = no terminal has taken the chat yet
  started TEXT COLLATE "C" NOT NULL DEFAULT '', -- when that process was started, as the system says it
  found BIGINT NOT NULL DEFAULT 0, -- somebody runs the CLI without having asked for the chat
  recalled BIGINT NOT NULL DEFAULT 0, -- the chat is to be taken back
  since BIGINT NOT NULL
);

-- +goose Down
DROP TABLE handoffs;
