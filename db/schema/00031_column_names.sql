-- +goose Up
-- Columns get the names of what they hold.

ALTER TABLE turns RENAME COLUMN told TO context_report;
ALTER TABLE chats RENAME COLUMN anew_seq TO restart_seq;
ALTER TABLE approvals RENAME COLUMN told TO delivered;
DROP INDEX approvals_untold;
CREATE INDEX approvals_undelivered ON approvals (needed_by) WHERE delivered = 0;

-- +goose Down
DROP INDEX approvals_undelivered;
ALTER TABLE approvals RENAME COLUMN delivered TO told;
CREATE INDEX approvals_untold ON approvals (needed_by) WHERE told = 0;
ALTER TABLE chats RENAME COLUMN restart_seq TO anew_seq;
ALTER TABLE turns RENAME COLUMN context_report TO told;
