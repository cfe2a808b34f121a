package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// MemoryScope is when a memory of a chat is used.
type MemoryScope string

// The scopes.
const (
	ChatScope    MemoryScope = "chat"
	UserScope    MemoryScope = "user"    // only if this user asks
	ProjectScope MemoryScope = "project" // only while the chat works in this project
)

// Memory is a fact worth knowing in a chat for longer than one conversation. No other chat ever sees it.
type Memory struct {
	ID       string // UUID
	Key      chat.Key
	Number   int64 // identifies it within the chat, for users; never reused
	Scope    MemoryScope
	Of       string // the user's ID, or the project's path; empty for the whole chat
	Title    string // one line
	Text     string
	Keywords []string
	Proposed bool     // it waits for approval, and is not used in prompts until then
	Sources  []string // IDs of the messages that it was derived from
	Created  time.Time
	Updated  time.Time
	Version  int // starts at 1 and grows with each change
}

// Change is the author and reason of a change to a memory. It outlives the memory, so Why must not repeat its text.
type Change struct {
	Who string // a user's ID, or a part of the program: "agent", "import"
	Why string
}

// The kinds of changes.
const (
	memoryCreated   = "created"
	memoryChanged   = "changed"
	memoryForgotten = "forgotten"
)

// MemoryVersion is one change of a memory, with its content from then on. Once the memory is forgotten, the texts of
// all its versions are empty.
type MemoryVersion struct {
	Memory           // without Created; Updated is the time of the change
	Act       string // "created", "changed", or "forgotten"
	By        Change
	TitleHash string // of the former title; see the schema
}

// Errors of changes to memories.
var (
	// ErrForgotten means that a memory was forgotten. Its ID is not reused.
	ErrForgotten = i18n.Mistakef("这条记忆已被忘记", "the memory was forgotten")

	// ErrChanged means that a memory was changed concurrently.
	ErrChanged = i18n.Mistakef("这条记忆已被改动", "the memory was changed meanwhile")

	// ErrTooManyMemories means that a chat has the maximum number of memories.
	ErrTooManyMemories = i18n.Mistakef("这个聊天的记忆太多了", "the chat has too many memories")
)

// memoriesPerChat limits how much users can store, and how many memories one question has to choose from.
const memoriesPerChat = 1000

// memoryColumns has the order of scanMemory; memoryVersionColumns must begin with the corresponding columns.
const memoryColumns = `id, chat_key, number, scope, of, state, title, content, keywords, sources, version,
	created_at, updated_at`

func scanMemory(scan scanner) (Memory, error) {
	var m Memory
	var key, state, keywords, sources string
	var created, updated int64
	err := scan(&m.ID, &key, &m.Number, &m.Scope, &m.Of, &state, &m.Title, &m.Text, &keywords, &sources,
		&m.Version, &created, &updated)
	if err != nil {
		return Memory{}, err
	}
	m.Proposed, m.Created, m.Updated = state == proposedMemory, fromMillis(created), fromMillis(updated)
	m.Key, err = chat.ParseKey(key)
	return m, errors.Join(err, json.Unmarshal([]byte(keywords), &m.Keywords), json.Unmarshal([]byte(sources), &m.Sources))
}

// The states of memories. A forgotten one has none: it is gone.
const (
	activeMemory   = "active"
	proposedMemory = "proposed"
)

// state is the state under which a memory is stored.
func (m Memory) state() string {
	if m.Proposed {
		return proposedMemory
	}
	return activeMemory
}

// Memories stores memories and their changes.
type Memories struct{ db *DB }

// Memories returns the memories in the database.
func (d *DB) Memories() Memories { return Memories{d} }

const selectMemories = `SELECT ` + memoryColumns + ` FROM memories WHERE chat_key = ?1 ORDER BY number`

// List lists all memories of a chat, including those waiting for approval, oldest first.
func (ms Memories) List(ctx context.Context, key chat.Key) ([]Memory, error) {
	list, err := queryAll(ctx, ms.db.read, scanMemory, selectMemories, key.String())
	if err != nil {
		return nil, fmt.Errorf("read memories of %v: %w", key, err)
	}
	return list, nil
}

const selectMemory = `SELECT ` + memoryColumns + ` FROM memories WHERE chat_key = ?1 AND id = ?2`

func loadMemory(ctx context.Context, q querier, key chat.Key, id string) (Memory, error) {
	m, err := scanMemory(q.QueryRowContext(ctx, selectMemory, key.String(), id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Memory{}, ErrNotFound
	} else if err != nil {
		return Memory{}, fmt.Errorf("load memory %s: %w", id, err)
	}
	return m, nil
}

const memoryVersionColumns = `memory_id, chat_key, number, scope, of, state, title, content, keywords, sources,
	version, 0, at, act, who, why, title_hash`

const selectMemoryVersions = `SELECT ` + memoryVersionColumns + ` FROM memory_versions
	WHERE chat_key = ?1 AND memory_id = ?2 ORDER BY version`

// Versions lists the changes of a memory of the chat, oldest first, even after it was forgotten.
func (ms Memories) Versions(ctx context.Context, key chat.Key, id string) ([]MemoryVersion, error) {
	list, err := queryAll(ctx, ms.db.read, scanMemoryVersion, selectMemoryVersions, key.String(), id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read versions of memory %s: %w", id, err)
	case len(list) == 0:
		return nil, ErrNotFound
	}
	return list, nil
}

const madeSince = `SELECT EXISTS (SELECT 1 FROM memory_versions WHERE chat_key = ?1 AND why = ?2 AND at > ?3)`

// MadeSince reports whether a memory of the chat was made or changed for this reason after that time, even if it was
// forgotten since.
func (ms Memories) MadeSince(ctx context.Context, key chat.Key, why string, since time.Time) (made bool, err error) {
	if err := ms.db.read.QueryRowContext(ctx, madeSince, key.String(), why, millis(since)).Scan(&made); err != nil {
		return false, fmt.Errorf("look for memories of %v: %w", key, err)
	}
	return made, nil
}

// scanMemoryVersion reads its columns after those of a memory, so the query must select them in this order.
func scanMemoryVersion(scan scanner) (v MemoryVersion, err error) {
	v.Memory, err = scanMemory(func(to ...any) error {
		return scan(append(to, &v.Act, &v.By.Who, &v.By.Why, &v.TitleHash)...)
	})
	return v, err
}

const chatsWithMemories = `SELECT DISTINCT chat_key FROM memories ORDER BY chat_key`

// Chats lists the chats that have memories.
func (ms Memories) Chats(ctx context.Context) ([]chat.Key, error) {
	list, err := queryAll(ctx, ms.db.read, scanKey, chatsWithMemories)
	if err != nil {
		return nil, fmt.Errorf("list chats with memories: %w", err)
	}
	return list, nil
}

// Save stores a memory of a known chat and returns the stored version. Without an ID it is a new one; an unknown ID is
// kept, since it comes from another database. Otherwise a new version is created, unless nothing has changed. If
// m.Version is set and is not the current version, the result is [ErrChanged], so that two people who edit a memory do
// not overwrite each other.
//
// The title is reduced to one line, or derived from the text. The zero value of scope means the whole chat.
func (ms Memories) Save(ctx context.Context, m Memory, by Change) (saved Memory, err error) {
	err = ms.db.chatTx(ctx, m.Key, func(ctx context.Context, tx *sql.Tx) error {
		saved, err = ms.save(ctx, tx, m, by)
		return err
	})
	if err != nil {
		return Memory{}, fmt.Errorf("save memory in %v: %w", m.Key, err)
	}
	return saved, nil
}

// Learn stores a new memory derived from its sources. If one of them was recalled or deleted meanwhile, it stores
// nothing and returns [ErrNotFound].
func (ms Memories) Learn(ctx context.Context, m Memory, by Change) (saved Memory, err error) {
	err = ms.db.chatTx(ctx, m.Key, func(ctx context.Context, tx *sql.Tx) error {
		if err := ms.db.Messages().requireAll(ctx, tx, m.Key, m.Sources); err != nil {
			return err
		}
		saved, err = ms.save(ctx, tx, m, by)
		return err
	})
	if err != nil {
		return Memory{}, fmt.Errorf("learn a memory in %v: %w", m.Key, err)
	}
	return saved, nil
}

// save has no effect if it fails with one of this package's errors.
func (ms Memories) save(ctx context.Context, tx *sql.Tx, m Memory, by Change) (Memory, error) {
	m, err := m.Tidy()
	if err != nil {
		return Memory{}, err
	}
	if m.ID == "" {
		m.ID = uuid.NewString()
		return ms.create(ctx, tx, m, by)
	}
	old, err := loadMemory(ctx, tx, m.Key, m.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		if err := checkUnusedID(ctx, tx, m); err != nil {
			return Memory{}, err
		}
		return ms.create(ctx, tx, m, by)
	case err != nil:
		return Memory{}, err
	case m.Version != 0 && m.Version != old.Version:
		return Memory{}, ErrChanged
	}
	if m.Sources == nil {
		m.Sources = old.Sources
	}
	if m.sameContent(old) {
		return old, nil
	}
	m.Number, m.Created, m.Version = old.Number, old.Created, old.Version+1
	// otherwise the old text would stay in the file, where nobody could find it to forget it
	err = withSecureDelete(ctx, tx, func() error {
		m, err = ms.write(ctx, tx, updateMemory, m, memoryChanged, by)
		return err
	})
	return m, err
}

const knownMemory = `SELECT chat_key FROM memory_versions WHERE memory_id = ?1 LIMIT 1`

// checkUnusedID returns an error if a memory ever had m's ID. It reveals nothing about another chat's memory.
func checkUnusedID(ctx context.Context, tx *sql.Tx, m Memory) error {
	if _, err := uuid.Parse(m.ID); err != nil {
		return ErrNotFound
	}
	var key string
	err := tx.QueryRowContext(ctx, knownMemory, m.ID).Scan(&key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for memory %s: %w", m.ID, err)
	case key == m.Key.String():
		return ErrForgotten
	}
	return ErrNotFound
}

const countMemories = `SELECT COUNT(*) FROM memories WHERE chat_key = ?1`

const nextMemoryNumber = `SELECT COALESCE(MAX(number), 0) + 1 FROM memory_versions WHERE chat_key = ?1`

// create numbers a memory within its chat, in the same transaction, so that two agents cannot get the same number.
func (ms Memories) create(ctx context.Context, tx *sql.Tx, m Memory, by Change) (Memory, error) {
	if _, err := loadChat(ctx, tx, m.Key); err != nil {
		return Memory{}, err
	}
	var n int
	if err := tx.QueryRowContext(ctx, countMemories, m.Key.String()).Scan(&n); err != nil {
		return Memory{}, fmt.Errorf("count memories: %w", err)
	}
	// Counted in the transaction, so that two agents together cannot exceed the limit.
	if n >= memoriesPerChat {
		return Memory{}, ErrTooManyMemories
	}
	if err := tx.QueryRowContext(ctx, nextMemoryNumber, m.Key.String()).Scan(&m.Number); err != nil {
		return Memory{}, fmt.Errorf("number memory: %w", err)
	}
	m.Version = max(m.Version, 1)
	if m.Created.IsZero() {
		m.Created = ms.db.now()
	}
	return ms.write(ctx, tx, insertMemory, m, memoryCreated, by)
}

const insertMemory = `INSERT INTO memories (` + memoryColumns + `)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`

const updateMemory = `UPDATE memories SET number = ?3, scope = ?4, of = ?5, state = ?6, title = ?7, content = ?8,
	keywords = ?9, sources = ?10, version = ?11, created_at = ?12, updated_at = ?13 WHERE id = ?1 AND chat_key = ?2`

const insertMemoryVersion = `INSERT INTO memory_versions (memory_id, version, chat_key, number, act, who, why, at,
	title_hash, scope, of, state, title, content, keywords, sources)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`

// write runs the statement for m, and stores its version.
func (ms Memories) write(
	ctx context.Context, tx *sql.Tx, statement string, m Memory, act string, by Change,
) (Memory, error) {
	keywords, sources := encodeList(m.Keywords), encodeList(m.Sources)
	m.Created, m.Updated = fromMillis(millis(m.Created)), fromMillis(millis(ms.db.now()))
	_, err := tx.ExecContext(ctx, statement, m.ID, m.Key.String(), m.Number, m.Scope, m.Of, m.state(), m.Title, m.Text,
		keywords, sources, m.Version, millis(m.Created), millis(m.Updated))
	if err != nil {
		return Memory{}, fmt.Errorf("write memory %s: %w", m.ID, err)
	}
	_, err = tx.ExecContext(ctx, insertMemoryVersion, m.ID, m.Version, m.Key.String(), m.Number,
		act, by.Who, by.Why, millis(m.Updated), titleHash(m), m.Scope, m.Of, m.state(), m.Title, m.Text, keywords, sources)
	if err != nil {
		return Memory{}, fmt.Errorf("write version %d of memory %s: %w", m.Version, m.ID, err)
	}
	return m, nil
}

const deleteMemory = `DELETE FROM memories WHERE chat_key = ?1 AND id = ?2`

const emptyMemoryVersions = `UPDATE memory_versions
	SET of = '', title = '', content = '', keywords = '[]', sources = '[]'
	WHERE chat_key = ?1 AND memory_id = ?2`

// Forget removes a memory of the chat with the texts of all its versions, or returns [ErrNotFound]. Only the authors,
// times and reasons of its changes remain. The texts are overwritten in the database file as soon as its log is empty;
// earlier copies and the History are not touched.
func (ms Memories) Forget(ctx context.Context, key chat.Key, id string, by Change) error {
	err := ms.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		_, err := ms.forget(ctx, tx, Memory{Key: key, ID: id}, by)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget memory %s of %v: %w", id, key, err)
	}
	return nil
}

// forget returns the memory as it was. It has no effect if it fails with one of this package's errors.
func (ms Memories) forget(ctx context.Context, tx *sql.Tx, m Memory, by Change) (Memory, error) {
	old, err := loadMemory(ctx, tx, m.Key, m.ID)
	if err != nil {
		return Memory{}, err
	}
	if m.Version != 0 && m.Version != old.Version {
		return Memory{}, ErrChanged
	}
	return old, withSecureDelete(ctx, tx, func() error { return ms.remove(ctx, tx, old, by) })
}

// remove deletes the text everywhere, including old versions, and leaves an empty version with the author of the
// removal. Of the title only a hash remains.
func (ms Memories) remove(ctx context.Context, tx *sql.Tx, m Memory, by Change) error {
	if _, err := tx.ExecContext(ctx, deleteMemory, m.Key.String(), m.ID); err != nil {
		return fmt.Errorf("delete memory: %w", err)
	}
	if _, err := tx.ExecContext(ctx, emptyMemoryVersions, m.Key.String(), m.ID); err != nil {
		return fmt.Errorf("empty the versions of the memory: %w", err)
	}
	_, err := tx.ExecContext(ctx, insertMemoryVersion, m.ID, m.Version+1, m.Key.String(), m.Number,
		memoryForgotten, by.Who, by.Why, millis(ms.db.now()), titleHash(m), m.Scope, "", m.state(), "", "", "[]", "[]")
	if err != nil {
		return fmt.Errorf("write the end of the memory: %w", err)
	}
	return nil
}

// withSecureDelete makes SQLite overwrite what f deletes. Otherwise the space is only marked as free, and the text
// stays in the file.
func withSecureDelete(ctx context.Context, tx *sql.Tx, f func() error) error {
	if _, err := tx.ExecContext(ctx, overwrite); err != nil {
		return fmt.Errorf("overwrite deleted data: %w", err)
	}
	err := f()
	_, off := tx.ExecContext(ctx, overwriteEnded)
	return errors.Join(err, off)
}
