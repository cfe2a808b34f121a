-- +goose Up
-- A decision outlives the agent that asked for it: the turn that goes on with the interrupted one gets it.

ALTER TABLE approvals ADD COLUMN needed_by BIGINT NOT NULL DEFAULT 0; -- the turn that needs it: turn_id, or the last that goes on with it
ALTER TABLE approvals ADD COLUMN answers TEXT NOT NULL DEFAULT '';    -- input of the tool with the answers to its questions, as JSON; empty = it runs as it was asked
ALTER TABLE approvals ADD COLUMN told BIGINT NOT NULL DEFAULT 0;      -- 1 = no agent has to be told any more
UPDATE approvals SET needed_by = turn_id, told = CASE WHEN state = 'waiting' THEN 0 ELSE 1 END;
CREATE INDEX approvals_untold ON approvals (needed_by) WHERE told = 0;

-- +goose Down
DROP INDEX approvals_untold;
ALTER TABLE approvals DROP COLUMN told;
ALTER TABLE approvals DROP COLUMN answers;
ALTER TABLE approvals DROP COLUMN needed_by;
