-- +goose Up
-- What is known of the limits on the use of the model, and the turns that wait until one ends.

CREATE TABLE limits (
  model    TEXT             NOT NULL, -- as chosen; empty = the default one
  kind     TEXT             NOT NULL, -- the CLI's name of the window, such as five_hour; empty = it has named none
  used     DOUBLE PRECISION NOT NULL, -- the share that is used, up to 1; negative = unknown
  reached  BOOLEAN          NOT NULL, -- a question was refused because of it
  ends_at  BIGINT           NOT NULL,
  noted_at BIGINT           NOT NULL,
  PRIMARY KEY (model, kind)
);

ALTER TABLE turns ADD COLUMN due_at BIGINT NOT NULL DEFAULT 0; -- a queued turn is not claimed before; 0 = it need not wait
CREATE INDEX turns_due ON turns (due_at) WHERE due_at > 0;

-- +goose Down
DROP INDEX turns_due;
ALTER TABLE turns DROP COLUMN due_at;
DROP TABLE limits;
