-- +goose Up
-- A decision that no agent was told makes its turn go on when the program starts. That may be what ends the program, so it is
-- counted.

ALTER TABLE approvals ADD COLUMN continued BIGINT NOT NULL DEFAULT 0; -- how often a start of the program made the turn go on for it

-- +goose Down
ALTER TABLE approvals DROP COLUMN continued;
