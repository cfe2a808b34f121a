package db

import (
	"context"
	"fmt"
	"magpie/internal/convo"
	"time"
)

// Notice notifies the askers of a turn when it has ended: changes of a card notify nobody.
type Notice struct {
	// no notification if the turn took less time, nor to anyone who decided something for it within this time
	After time.Duration
	Text  string
}

// NotifyOff is the [Settings.Notify] of a chat without notifications.
const NotifyOff = "off"

// A user who has written since, or added something to the turn, needs no notification. Messages are compared by seq,
// not by time.
const quietAskers = `SELECT DISTINCT actor_id FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
	AND role = 'user'` + notRecalled + `
	AND actor_id <> '' AND EXISTS (SELECT 1 FROM turns WHERE id = ?2 AND stopped = 0 AND started_at < ?3)
	AND NOT EXISTS (SELECT 1 FROM steers WHERE turn_id = ?2)
	AND NOT EXISTS (SELECT 1 FROM messages l WHERE l.chat_key = ?1 AND l.actor_id = messages.actor_id AND l.role = 'user'
		AND l.seq > (SELECT MAX(+seq) FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user'))
	AND NOT EXISTS (SELECT 1 FROM approvals WHERE turn_id = ?2 AND decided_by = messages.actor_id AND decided_at >= ?3)`

// usersToNotify lists the users to notify about the end of a turn. It reads what the end is about to delete.
func (e turnEnd) usersToNotify(ctx context.Context) ([]string, error) {
	if e.Notice == nil || e.State == convo.Cancelled {
		return nil, nil
	}
	c, err := loadChat(ctx, e.tx, e.Turn.Key)
	if err != nil {
		return nil, err
	}
	if c.Settings.Notify == NotifyOff || c.BotTurns > 0 { // another bot would answer a mention
		return nil, nil
	}
	since := e.now.Add(-e.Notice.After)
	users, err := queryAll(ctx, e.tx, scanText, quietAskers, e.Turn.Key.String(), e.Turn.ID, millis(since))
	if err != nil {
		return nil, fmt.Errorf("who has asked: %w", err)
	}
	return users, nil
}

// enqueueNotice enqueues the notification.
func (e turnEnd) enqueueNotice(ctx context.Context, users []string) error {
	if len(users) == 0 {
		return nil
	}
	return e.db.Outbox().post(ctx, e.tx, Post{
		Key: e.Turn.Key, Idem: fmt.Sprintf("notice:%d", e.Turn.ID), ReplyTo: e.Turn.ReplyTo,
		Text: e.Notice.Text, Mentions: users,
	})
}
