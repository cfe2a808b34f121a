package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/text"
)

// editID is the message ID of a message's version after that many edits.
func editID(id string, times int) string { return fmt.Sprintf("edit:%s:%d", id, times) }

// nextEdit is how often a message with these versions is edited with the next one. The first ones may have been swept.
func nextEdit(list []version) int {
	times := 0
	for _, v := range list {
		n, err := strconv.Atoi(v.ID[strings.LastIndexByte(v.ID, ':')+1:])
		if err == nil && strings.HasPrefix(v.ID, "edit:") {
			times = max(times, n)
		}
	}
	return times + 1
}

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
	err = ms.db.roomTx(ctx, e.Key, func(ctx context.Context, tx *sql.Tx) error {
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
		e.ID, e.Key = editID(id, nextEdit(list)), old.Key
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
	if _, _, err := ms.insert(ctx, tx, &m); err != nil {
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

// notRecalled excludes recalled and replaced messages. Every query that contributes to a later context must contain it.
const notRecalled = ` AND state = ''`

const selectStored = `SELECT id, (SELECT no FROM chats WHERE key = chat_key), ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND message_id = ?2`

const setContent = `UPDATE messages SET content = ?2 WHERE id = ?1`

// setText replaces the text of a message whose content arrives later than the message itself, and
// indexes the new text.
func (ms Messages) setText(ctx context.Context, tx *sql.Tx, key chat.Key, message, is string) error {
	is = text.Mend(is)
	var id, no int64
	m, err := scanStored(ctx, tx, key, message, &id, &no)
	if err != nil {
		return err
	}
	was := storedRow{id, no, m.Seq}
	if err := ms.db.Search().forget(ctx, tx, was); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, setContent, id, is); err != nil {
		return fmt.Errorf("update message %s: %w", message, err)
	}
	m.Text = is
	return ms.db.terms.addAgain(ctx, tx, was, m)
}

// scanStored loads a message with its row ID and its chat's number, or returns [ErrNotFound].
func scanStored(
	ctx context.Context, tx *sql.Tx, key chat.Key, message string, id, no *int64,
) (m chat.Message, err error) {
	rows, err := tx.QueryContext(ctx, selectStored, key.String(), message)
	if err != nil {
		return m, fmt.Errorf("load message %s: %w", message, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return m, errors.Join(rows.Err(), ErrNotFound)
	}
	return scanMessage(rows, key, id, no)
}

// forget removes a message from the index, whose text is still stored.
func (s Search) forget(ctx context.Context, tx *sql.Tx, m storedRow) error {
	if _, err := tx.ExecContext(ctx, deleteEmbedding, m.id); err != nil {
		return fmt.Errorf("delete the vector of a message: %w", err)
	}
	if err := s.db.terms.remove(ctx, tx, m); err != nil {
		return fmt.Errorf("delete a message from the index: %w", err)
	}
	return nil
}

// The index messages_nameless finds the messages without a name.
const (
	nameless = `SELECT DISTINCT m.chat_key FROM json_each(?1) n JOIN messages m ON m.actor_id = n.key
		AND m.actor_name = '' AND m.actor_id <> ''`

	fillNames = `UPDATE messages SET actor_name = (SELECT value FROM json_each(?1) WHERE key = actor_id)
		WHERE actor_name = '' AND actor_id <> '' AND actor_id IN (SELECT key FROM json_each(?1)) AND +chat_key = ?2`
)

// Name adds people's names, by user ID, to their messages that have none.
func (ms Messages) Name(ctx context.Context, names map[string]string) error {
	list, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("names of people: %w", err)
	}
	if _, err := ms.db.eachChat(ctx, nameless, fillNames, string(list)); err != nil {
		return fmt.Errorf("name messages: %w", err)
	}
	return nil
}

const nameInChat = `SELECT actor_name FROM messages WHERE chat_key = ?1 AND actor_id = ?2 AND actor_name <> ''
	ORDER BY seq DESC LIMIT 1`

// NameOf is the name under which a user last wrote in the private chat with the bot; empty = unknown.
func (ms Messages) NameOf(ctx context.Context, user string) (string, error) {
	key, err := ms.db.Chats().PrivateChat(ctx, user)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	name, err := queryOne(ctx, ms.db.read, scanText, nameInChat, key.String(), user)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("name of %s: %w", user, err)
	}
	return name, nil
}
