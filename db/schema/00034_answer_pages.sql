-- +goose Up
-- What each message of an answer that takes several shows. It goes with the answer.

CREATE TABLE answer_pages (
  page_id TEXT    NOT NULL PRIMARY KEY,                    -- the platform's id of the message
  answer  INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  text    TEXT    NOT NULL
);
CREATE INDEX answer_pages_answer ON answer_pages (answer);

-- +goose Down
DROP TABLE answer_pages;
