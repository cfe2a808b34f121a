-- +goose Up
-- What messages mean, as a model sees it: finds those that say the same in other words.

-- It can be made anew at any time. The rows of a conversation lie together, since they are read together.
CREATE TABLE embeddings (
  chat_key TEXT   NOT NULL REFERENCES chats (key),
  epoch    BIGINT NOT NULL,
  seq      BIGINT NOT NULL,
  model    TEXT   NOT NULL,                              -- vectors of two models cannot be compared
  dim      BIGINT NOT NULL,                              -- the vector's length
  vector   BLOB   NOT NULL,                              -- a signed byte for each dimension
  PRIMARY KEY (chat_key, epoch, seq)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE embeddings;
