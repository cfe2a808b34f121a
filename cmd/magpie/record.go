package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// record is one line of an exported History. A missing optional field means the default: talk in the current
// conversation of the chat.
type record struct {
	Channel string `json:"channel"`
	// the kind of chat_id on the channel; empty = chat, and room on "web"
	Container string    `json:"container,omitempty"`
	ChatID    string    `json:"chat_id"`
	ChatKind  chat.Kind `json:"chat_kind,omitempty"` // empty = unknown
	ThreadID  string    `json:"thread_id,omitempty"`
	UserID    string    `json:"user_id"`
	UserName  string    `json:"user_name"`
	MessageID string    `json:"message_id"`
	TS        string    `json:"ts"` // RFC 3339
	Role      chat.Role `json:"role"`
	Class     string    `json:"class,omitempty"` // empty = talk
	Epoch     *int64    `json:"epoch,omitempty"` // of a conversation that /new has ended; nil = the current one
	Content   *string   `json:"content"`
}

// timeForm is the format of times: in UTC, to the millisecond.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

func usualContainer(channel string) string {
	if channel == "web" {
		return "room"
	}
	return "chat"
}

// appendRecord appends r as one line of JSON.
func appendRecord(b *bytes.Buffer, r db.Record) error {
	w := record{
		Channel: r.Key.Channel, Container: r.Key.Kind, ChatID: r.Key.ID, ChatKind: r.Kind, ThreadID: r.Key.Thread,
		UserID: r.Actor.ID, UserName: r.Actor.Name, MessageID: r.ID, TS: timeText(r.Time), Role: r.Role,
		Class: string(r.Class), Content: &r.Text,
	}
	if w.Container == usualContainer(w.Channel) {
		w.Container = ""
	}
	if r.Class == chat.Talk {
		w.Class = ""
	}
	if r.Past {
		w.Epoch = &r.Epoch
	}
	return plainEncoder(b).Encode(w)
}

// timeText formats a time. The zero time becomes the Unix epoch, as in the database.
func timeText(t time.Time) string {
	if t.IsZero() {
		t = time.UnixMilli(0)
	}
	return t.UTC().Format(timeForm)
}

// plainEncoder does not escape <, > and &.
func plainEncoder(b *bytes.Buffer) *json.Encoder {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e
}

var (
	errUTF8 = i18n.Mistakef("不是 UTF-8：先转换文件，例如 iconv -f GB18030 -t UTF-8",
		"not UTF-8: convert the file, for example with iconv -f GB18030 -t UTF-8")
	errTime = i18n.Mistakef("ts：应为 2026-05-04T12:00:00.000+08:00 这样的时间（RFC 3339）",
		"ts: must be a time such as 2026-05-04T12:00:00.000+08:00 (RFC 3339)")
)

// parseRecord parses one line. Unknown fields are ignored.
func parseRecord(line []byte) (db.Record, error) {
	if !utf8.Valid(line) {
		return db.Record{}, errUTF8
	}
	var w record
	if err := json.Unmarshal(line, &w); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return db.Record{}, i18n.Mistakef("%s：类型不对：%v", "%s: wrong type: %v",
				kind.Field, jsonTypeError(kind.Value))
		} else if errors.As(err, &kind) {
			return db.Record{}, i18n.Mistakef("不是 JSON 对象，而是%v", "not a JSON object: %v",
				jsonTypeError(kind.Value))
		}
		return db.Record{}, notJSON(err)
	}
	return w.toRecord()
}

// notJSON says where a text stops being JSON.
func notJSON(err error) error {
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return i18n.Mistakef("不是 JSON（第 %d 个字节处有误）", "not JSON (mistake at byte %d)", bad.Offset)
	}
	return i18n.Mistakef("不是 JSON", "not JSON")
}

// jsonTypes names JSON types for people.
var jsonTypes = map[string]error{
	"string": i18n.Mistakef("字符串", "a string"),
	"number": i18n.Mistakef("数字", "a number"),
	"bool":   i18n.Mistakef("true 或 false", "true or false"),
	"array":  i18n.Mistakef("列表", "a list"),
	"object": i18n.Mistakef("对象", "an object"),
}

// jsonTypeError is a type in words. The decoder appends the number itself if it does not fit.
func jsonTypeError(name string) error {
	name, _, _ = strings.Cut(name, " ")
	if words, ok := jsonTypes[name]; ok {
		return words
	}
	return i18n.Mistakef("其他类型 %s", "of the type %s", name)
}

func (w record) toRecord() (db.Record, error) {
	r := db.Record{Kind: w.ChatKind, Message: chat.Message{
		Key: chat.Key{Channel: w.Channel, Kind: w.Container, ID: w.ChatID, Thread: w.ThreadID}, ID: w.MessageID,
		Role: w.Role, Class: chat.Class(w.Class), Actor: chat.Actor{ID: w.UserID, Name: w.UserName},
	}}
	if r.Key.Kind == "" {
		r.Key.Kind = usualContainer(w.Channel)
	}
	if r.Class == "" {
		r.Class = chat.Talk
	}
	if w.Epoch != nil {
		r.Past, r.Epoch = true, *w.Epoch
	}
	if err := w.checkFields(); err != nil {
		return db.Record{}, err
	}
	r.Text = *w.Content
	at, err := time.Parse(time.RFC3339, w.TS)
	// No message is older than 1970, so an earlier time is a mistake; and RFC 3339 ends with the year 9999.
	if err != nil || at.UnixMilli() < 0 || at.UTC().Year() > 9999 {
		return db.Record{}, errTime
	}
	r.Time = at.UTC().Truncate(time.Millisecond)
	return r, nil
}

// maxEpochs is more conversations than any chat can have had; a larger epoch is a mistake.
const maxEpochs = 1 << 40

// checkFields returns every mistake in w except in its time.
func (w record) checkFields() error {
	var errs []error
	for _, f := range []struct{ name, value string }{
		{"channel", w.Channel}, {"chat_id", w.ChatID}, {"message_id", w.MessageID},
		{"role", string(w.Role)}, {"ts", w.TS},
	} {
		if f.value == "" {
			errs = append(errs, i18n.Mistakef("缺少 %s", "%s is missing", f.name))
		}
	}
	if w.Content == nil {
		errs = append(errs, i18n.Mistakef("缺少 %s", "%s is missing", "content"))
	}
	for _, f := range []struct{ name, value string }{
		{"channel", w.Channel}, {"container", w.Container}, {"chat_id", w.ChatID}, {"thread_id", w.ThreadID},
	} {
		if err := chat.ValidID(f.value); err != nil && f.value != "" {
			errs = append(errs, i18n.Mistakef("%s：不是有效的 ID：%v", "%s: %v", f.name, err))
		}
	}
	switch w.Role {
	case chat.User, chat.Assistant, chat.Tool, chat.System, "":
	default:
		errs = append(errs, i18n.Mistakef("role：应为 user、assistant、tool 或 system",
			"role: must be user, assistant, tool or system"))
	}
	switch chat.Class(w.Class) {
	case chat.Talk, chat.Command, chat.Overheard, "":
	default:
		errs = append(errs, i18n.Mistakef("class：应为 talk、command 或 overheard，也可以不写",
			"class: must be talk, command or overheard, or left out"))
	}
	switch w.ChatKind {
	case chat.Private, chat.Group, "":
	default:
		errs = append(errs, i18n.Mistakef("chat_kind：应为 p2p 或 group，也可以不写",
			"chat_kind: must be p2p or group, or left out"))
	}
	if e := w.Epoch; e != nil && (*e < -maxEpochs || *e > maxEpochs) {
		errs = append(errs, i18n.Mistakef("epoch：应为导出时写下的数，也可以不写",
			"epoch: must be a number that an export has written, or left out"))
	}
	// One line per record, so that errors can be counted and sorted.
	var all error
	for _, err := range errs {
		if all == nil {
			all = err
		} else {
			all = i18n.Mistakef("%v；%v", "%v; %v", all, err)
		}
	}
	return all
}
