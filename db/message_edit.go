package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// editID is the message ID of a message's version after that many edits.
func editID(id string, times int) string { return fmt.Sprintf("edit:%s:%d", id, times) }

// PlatformID is the platform's ID of a message in the History.
func PlatformID(id string) string {
	if rest, ok := strings.CutPrefix(id, "edit:"); ok {
		return rest[:max(0, strings.LastIndexByte(rest, ':'))]
	}
	return id
}

// Edit stores an edited message; e is its new version. As long as its turn has not begun, the new
// version replaces the old one. Afterwards both remain, and the new one is held back in a turn of its
// own until somebody asks for it; e.Held, which must be set, is the card for that. A message that is
// unknown, is not talk, or is unchanged has no effect.
func (ms Messages) Edit(ctx context.Context, e Inbound) (a AcceptResult, err error) {
	err = ms.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The function may run again after a conflict, so it starts from scratch.
		a = AcceptResult{}
		list, err := versions(ctx, tx, e.Key.String(), e.ID)
		if err != nil || len(list) == 0 {
			return err
		}
		old := list[len(list)-1]
		same, err := ms.sameContent(ctx, tx, old, e)
		if err != nil || same || old.state != "" || old.Class == chat.Command || old.Role != chat.User {
			return err
		}
		a.Fresh = true
		e, id := e, e.ID
		e.ID, e.Key = editID(id, len(list)), old.Key
		a.Turn, err = ms.replace(ctx, tx, old, e)
		return err
	})
	if err != nil {
		return AcceptResult{}, fmt.Errorf("edit message %s: %w", e.ID, err)
	}
	return a, nil
}

// sameContent reports whether a version has the same text and files as e.
func (ms Messages) sameContent(ctx context.Context, tx *sql.Tx, old version, e Inbound) (bool, error) {
	msgs := []chat.Message{old.Message}
	if err := ms.loadInto(ctx, tx, old.Key, msgs); err != nil {
		return false, err
	}
	had := slices.DeleteFunc(msgs[0].Files, func(f chat.File) bool { return f.Of != PlatformID(old.ID) })
	has := slices.DeleteFunc(slices.Clone(e.Files), func(f chat.File) bool { return f.Of != e.ID })
	return old.Text == e.Text && slices.EqualFunc(had, has, func(a, b chat.File) bool { return a.Key == b.Key }), nil
}

// replace stores e as the newest version of a message, and returns the turn that will answer it.
func (ms Messages) replace(ctx context.Context, tx *sql.Tx, old version, e Inbound) (int64, error) {
	m := chat.Message{Key: e.Key, ID: e.ID, Role: chat.User, Class: e.Class, Actor: e.Actor, Text: e.Text, Time: e.Time}
	waits := false
	if old.Turn > 0 {
		t, err := loadTurn(ctx, tx, old.Key, old.Turn)
		if err != nil {
			return 0, err
		}
		if waits = t.State == convo.Queued || t.State == convo.Late; waits {
			m.Turn, m.Epoch, m.Class = t.ID, t.Epoch, chat.Talk
		}
	}
	if waits || old.Turn == 0 {
		if err := old.withdraw(ctx, ms.db, tx, edited); err != nil {
			return 0, err
		}
	}
	if _, err := ms.insert(ctx, tx, &m); err != nil {
		return 0, err
	}
	if _, err := ms.insertFiles(ctx, tx, m.Key, m.ID, e.Files); err != nil {
		return 0, err
	}
	switch {
	case waits:
		return m.Turn, nil
	case m.Class != chat.Talk:
		return 0, nil
	case old.Turn == 0: // it was not addressed to the bot before
		e.Held = nil
	}
	if err := e.countBotTurns(ctx, tx); err != nil {
		return 0, err
	}
	var a AcceptResult
	_, err := ms.db.Turns().ask(ctx, tx, &a, m, e)
	return a.Turn, err
}
