-- +goose Up
-- A turn that its agent begins by itself, when a command or a subagent has ended that went on in the background. It is made
-- when the turn that has started that one ends, with state 'running' and without started_at: the agent works.

ALTER TABLE turns ADD COLUMN follows BIGINT NOT NULL DEFAULT 0; -- the turn whose questions it goes on with; 0 = it has its own

-- +goose Down
ALTER TABLE turns DROP COLUMN follows;
