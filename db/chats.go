package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/internal/chat"
)

// Chat is the data of one chat besides its History.
type Chat struct {
	Key          chat.Key
	Kind         chat.Kind
	Tenant       string   // the organization, as the platform calls it; empty = not known
	Title        string   // from the platform
	Topic        string   // the title of the current conversation; empty = none yet
	Lang         string   // "zh", "en", or empty if nothing was said yet
	Settings     Settings // the chat's own settings
	Epoch        int64
	Session      Session
	Summary      Summary   // of the compacted part
	ContextStart int64     // the context starts after this seq because of a long silence; 0 = it does not
	Turned       time.Time // when its last turn ended; zero = no turn yet
	BotTurns     int       // questions of other bots since a person last wrote
	Compacting   string    // the message or press with an open request for a summary; empty = none
	CompactTo    string    // the message to reply to then; empty = none
}

// ContextAfter is the seq after which the recent part of the context begins; 0 = at the first message. Imported
// messages may be before seq 0.
func (c Chat) ContextAfter() int64 {
	if c.Summary.Seq == 0 || c.ContextStart == 0 {
		return c.Summary.Seq + c.ContextStart
	}
	return max(c.Summary.Seq, c.ContextStart)
}

// Chats stores the data of chats besides their History: settings, sessions and folders of their agents, their daily
// reports, and in which of them the platform does not let the bot write.
type Chats struct{ db *DB }

// Chats returns the chats in the database.
func (d *DB) Chats() Chats { return Chats{d} }

// chatColumns has the order of scanChat.
const chatColumns = `kind, title, topic, lang, settings, epoch,
	session_id, session_node, session_cwd, session_turn, session_tokens, session_window,
	summary, summary_seq, summary_at, restart_seq, turned_at, compact_for, compact_reply, bot_turns, tenant`

const selectChat = `SELECT ` + chatColumns + ` FROM chats WHERE key = ?1`

// querier has the methods that *sql.DB and *sql.Tx share.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func loadChat(ctx context.Context, q querier, key chat.Key) (Chat, error) {
	c, err := queryOne(ctx, q, scanChat, selectChat, key.String())
	if errors.Is(err, ErrNotFound) {
		return Chat{}, ErrNotFound
	} else if err != nil {
		return Chat{}, fmt.Errorf("load chat %v: %w", key, err)
	}
	c.Key = key
	return c, nil
}

func scanChat(scan scanner) (c Chat, err error) {
	var until, turned int64
	var settings string
	err = scan(&c.Kind, &c.Title, &c.Topic, &c.Lang, &settings,
		&c.Epoch, &c.Session.ID, &c.Session.Node, &c.Session.Cwd, &c.Session.Turn, &c.Session.Tokens,
		&c.Session.Window, &c.Summary.Text, &c.Summary.Seq, &until, &c.ContextStart, &turned,
		&c.Compacting, &c.CompactTo, &c.BotTurns, &c.Tenant)
	if err != nil {
		return Chat{}, err
	}
	c.Summary.Until, c.Turned = fromMillis(until), fromMillis(turned)
	c.Settings, err = parseSettings(settings)
	return c, err
}

const selectChatRow = `SELECT rowid FROM chats WHERE key = ?1`

// Get returns a chat, from memory if it is there, or [ErrNotFound].
func (cs Chats) Get(ctx context.Context, key chat.Key) (Chat, error) {
	if cs.db.chats == nil {
		return loadChat(ctx, cs.db.read, key)
	}
	ch, hot, generation := cs.db.chats.get(key)
	if hot {
		return ch, nil
	}
	ch, err := loadChat(ctx, cs.db.read, key)
	if err != nil {
		return Chat{}, err
	}
	var row int64 // never changes
	if err := cs.db.read.QueryRowContext(ctx, selectChatRow, key.String()).Scan(&row); err != nil {
		return Chat{}, fmt.Errorf("load chat %v: %w", key, err)
	}
	cs.db.chats.put(ch, row, generation)
	return ch, nil
}

// ofChannel matches the keys of a channel.
const ofChannel = `key >= ?1 || ':' AND key < ?1 || ';'`

// What the owner, or a program, has said in a chat through another door does not make it somebody else's: their IDs begin
// otherwise, as ?3 says of those of the door, or have no colon.
const privateChat = `SELECT key FROM chats WHERE ` + ofChannel + ` AND kind = 'p2p' AND ?2 = (
	SELECT actor_id FROM messages WHERE chat_key = chats.key AND role = 'user'
	AND (?3 <> '' AND actor_id LIKE ?3 OR ?3 = '' AND actor_id NOT LIKE '%:%') ORDER BY seq DESC LIMIT 1) LIMIT 1`

// PrivateChat is the private chat of a user with the bot, at the door that the user's ID is of, or [ErrNotFound].
func (cs Chats) PrivateChat(ctx context.Context, user string) (chat.Key, error) {
	var key string
	door, like := chat.PersonKey(user).Channel, ""
	if strings.HasPrefix(user, door+":") {
		like = door + ":%"
	}
	err := cs.db.read.QueryRowContext(ctx, privateChat, door, user, like).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return chat.Key{}, ErrNotFound
	} else if err != nil {
		return chat.Key{}, fmt.Errorf("private chat of %s: %w", user, err)
	}
	return chat.ParseKey(key)
}

// A topic starts with the settings of its chat.
const upsertChat = `INSERT INTO chats (no, key, kind, title, lang, settings, tenant)
	VALUES (` + nextChat + `, ?1, ?2, ?3, ?4,
	COALESCE((SELECT settings FROM chats WHERE key = ?5 AND key <> ?1), '{}'), ?6)
	ON CONFLICT (key) DO UPDATE SET kind = excluded.kind,
	title = CASE WHEN excluded.title = '' THEN chats.title ELSE excluded.title END,
	lang = CASE WHEN excluded.lang = '' THEN chats.lang ELSE excluded.lang END,
	tenant = CASE WHEN chats.tenant = '' THEN excluded.tenant ELSE chats.tenant END`

// noContext clears the context of an ended conversation.
const noContext = `topic = '', summary = '', summary_seq = 0, summary_at = 0, restart_seq = 0, ` + noSession

const raiseEpoch = `UPDATE chats SET epoch = epoch + 1, ` + noContext + ` WHERE key = ?1`

// Settings are the settings of a chat. Zero values mean the configured ones.
type Settings struct {
	// project in which the agent works; empty = the configured one
	Project string `json:"project,omitempty"`
	Mode    string `json:"mode,omitempty"`   // permission mode; empty = the configured one
	Model   string `json:"model,omitempty"`  // empty = the configured one
	Effort  string `json:"effort,omitempty"` // empty = the configured one
	// language of the chat, "zh" or "en"; empty = as it writes itself
	Lang    string `json:"lang,omitempty"`
	Mention string `json:"mention,omitempty"` // mention rule of a group; empty = the configured one
	Notify  string `json:"notify,omitempty"`  // [NotifyOff], or empty
	// time zone of the chat's schedules; empty = the configured one
	Zone string `json:"zone,omitempty"`
}

// ZoneOr is the time zone of the chat; that of others if it has none of its own.
func (s Settings) ZoneOr(others *time.Location) *time.Location {
	if zone, err := time.LoadLocation(s.Zone); err == nil && s.Zone != "" {
		return zone
	}
	return others
}

func parseSettings(stored string) (Settings, error) {
	var s Settings
	if err := json.Unmarshal([]byte(stored), &s); err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

// changeStored returns the stored settings with those of to that differ from those of from. Members that this version
// does not know are kept: a newer version has written them and will read them again.
func changeStored(stored string, from, to Settings) (string, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(stored), &all); err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	was, err := from.fields()
	if err != nil {
		return "", err
	}
	is, err := to.fields()
	if err != nil {
		return "", err
	}
	for name := range was {
		if _, set := is[name]; !set { // one that is cleared is none of the fields
			delete(all, name)
		}
	}
	for name, value := range is {
		if !bytes.Equal(was[name], value) {
			all[name] = value
		}
	}
	data, err := json.Marshal(all)
	return string(data), err
}

// fields returns the non-empty settings by name.
func (s Settings) fields() (map[string]json.RawMessage, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	set := map[string]json.RawMessage{}
	err = json.Unmarshal(data, &set)
	return set, err
}

const selectSettings = `SELECT settings FROM chats WHERE key = ?1`

const updateSettings = `UPDATE chats SET settings = ?2 WHERE key = ?1`

// Set changes the settings of a chat, or returns [ErrNotFound]. change may be called more than once.
func (cs Chats) Set(ctx context.Context, key chat.Key, change func(*Settings)) error {
	err := cs.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		return changeSettings(ctx, tx, key, func(now Settings) (from, to Settings) {
			to = now
			change(&to)
			return now, to
		})
	})
	if err != nil {
		return fmt.Errorf("set up %v: %w", key, err)
	}
	return nil
}

// changeSettings stores what differs between two settings that how makes of the present ones.
func changeSettings(ctx context.Context, tx *sql.Tx, key chat.Key, how func(now Settings) (from, to Settings)) error {
	var stored string
	err := tx.QueryRowContext(ctx, selectSettings, key.String()).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	} else if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	now, err := parseSettings(stored)
	if err != nil {
		return err
	}
	from, to := how(now)
	changed, err := changeStored(stored, from, to)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, updateSettings, key.String(), changed); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

const setChats = `SELECT settings FROM chats WHERE settings <> '{}' AND left_at <= joined_at`

// MentionRules lists the mention rules of the groups that have their own, except those that the bot has left.
func (cs Chats) MentionRules(ctx context.Context) (rules []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("rules of groups: %w", err)
		}
	}()
	rows, err := cs.db.read.QueryContext(ctx, setChats)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var stored string
		if err := rows.Scan(&stored); err != nil {
			return nil, err
		}
		s, err := parseSettings(stored)
		if err != nil {
			continue // skipped, as in collect
		}
		if s.Mention != "" && !slices.Contains(rules, s.Mention) {
			rules = append(rules, s.Mention)
		}
	}
	return rules, rows.Err()
}
