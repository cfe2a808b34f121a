-- +goose Up
-- A turn that was postponed kept a note that its agent had been handed messages. They are questions of its next attempt.

DELETE FROM steers WHERE turn_id IN (SELECT id FROM turns WHERE state = 'queued');

-- +goose Down
