// Package memdoc writes memories as Markdown documents that people can read and edit, and parses them.
//
// A document begins with front matter between two lines of three dashes: a simple subset of YAML, with a key, a colon
// and a value on each line. The text of the memory follows.
//
// The package does not decide which memories exist and who may change them.
package memdoc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// inLine says in which line of a document, from 1, a mistake is.
func inLine(line int, what error) error {
	return i18n.Mistakef("第 %d 行：%v", "line %d: %v", line, what)
}

// fence is the line above and below the front matter.
const fence = "---"

// Format writes a memory as a document.
func Format(m db.Memory) []byte {
	var b bytes.Buffer
	b.WriteString(fence + "\n")
	line := func(key string, value any) {
		var s bytes.Buffer
		e := json.NewEncoder(&s)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			panic(err) // it has only strings and numbers
		}
		b.WriteString(key + ": " + s.String())
	}
	line("id", m.ID)
	line("chat", m.Key.String())
	line("scope", m.Scope)
	if m.Of != "" {
		line("of", m.Of)
	}
	line("title", m.Title)
	line("keywords", append([]string{}, m.Keywords...))
	line("sources", append([]string{}, m.Sources...))
	line("state", states[m.Proposed])
	line("version", m.Version)
	line("created", m.Created.UTC().Format(time.RFC3339Nano))
	line("updated", m.Updated.UTC().Format(time.RFC3339Nano))
	b.WriteString(fence + "\n\n" + m.Text + "\n")
	return b.Bytes()
}

// states say whether a memory is proposed.
var states = map[bool]string{false: "active", true: "proposed"}

// Parse parses a document. Only the chat and a text are required; a document written by hand may lack the ID, the
// version and the times. Errors name their line.
func Parse(doc []byte) (db.Memory, error) {
	text := strings.TrimPrefix(string(doc), "\uFEFF")
	// Editors on Windows write CRLF; only the whole document is converted.
	if strings.HasPrefix(text, fence+"\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " ") != fence {
		return db.Memory{}, inLine(1, i18n.Mistakef("记忆的第一行应为 ---", "a memory begins with a line ---"))
	}
	end := 1
	for end < len(lines) && strings.TrimRight(lines[end], " ") != fence {
		end++
	}
	if end == len(lines) {
		return db.Memory{}, inLine(end, i18n.Mistakef("开头的属性没有结束：缺少第二行 ---",
			"the front matter has no end: a second line --- is missing"))
	}
	m, err := parseFields(lines[:end])
	if err != nil {
		return db.Memory{}, err
	}
	m.Text = strings.TrimSpace(strings.Join(lines[end+1:], "\n"))
	switch {
	// Checked after the fields, whose errors name a line and are more helpful.
	case m.Text == "":
		return db.Memory{}, inLine(end+1, i18n.Mistakef("属性下面没有正文",
			"there is no text below the front matter"))
	case m.Key == chat.Key{}:
		return db.Memory{}, inLine(end+1, i18n.Mistakef("属性里没有写这条记忆属于哪个聊天",
			"the front matter does not say to which chat the memory belongs"))
	case m.Scope != "" && m.Scope != db.ChatScope && m.Of == "":
		return db.Memory{}, inLine(end+1, i18n.Mistakef("scope 是 %s，但缺少写明是哪一个的那一行",
			"scope is %s, but no line says which one", m.Scope))
	}
	return m, nil
}

// parseFields reads the front matter; the first line is the fence.
func parseFields(lines []string) (m db.Memory, err error) {
	seen := map[string]bool{}
	for i := 1; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := i + 1
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok:
			return m, inLine(at, i18n.Mistakef("这一行应为键、冒号和值", "a key, a colon and a value must be here"))
		case seen[key]:
			return m, inLine(at, i18n.Mistakef("%s 出现了两次", "%s is there twice", key))
		}
		seen[key] = true
		var items []string
		// A list may also have one item per line, as in YAML.
		for value == "" && i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "- ") {
			i++
			items = append(items, scalar(strings.TrimSpace(lines[i])[2:]))
		}
		if items == nil {
			items = listValue(value)
		}
		if err := setField(&m, key, scalar(value), items); err != nil {
			return m, inLine(at, err)
		}
	}
	return m, nil
}

// scalar reads a value in double quotes, single quotes or none.
func scalar(value string) string {
	value = strings.TrimSpace(value)
	var s string
	if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &s) == nil {
		return s
	}
	if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
	}
	return value
}

// listValue parses a list on one line. A single value is a list of one.
func listValue(value string) []string {
	var list []string
	// JSON first, which is what this package writes; the rest is for documents written by hand.
	if json.Unmarshal([]byte(value), &list) == nil {
		return list
	}
	inner, open := strings.CutPrefix(value, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	parts := []string{value}
	if open && closed {
		parts = strings.FieldsFunc(inner, func(r rune) bool { return r == ',' || r == '，' })
	}
	for _, p := range parts {
		if p = scalar(p); p != "" {
			list = append(list, p)
		}
	}
	return list
}

// setField stores one field of the front matter.
func setField(m *db.Memory, key, value string, list []string) (err error) {
	switch key {
	case "id":
		m.ID = value
	case "chat":
		if m.Key, err = chat.ParseKey(value); err == nil {
			err = m.Key.Validate()
		}
	case "scope":
		m.Scope = db.MemoryScope(value)
		if !slices.Contains([]db.MemoryScope{db.ChatScope, db.UserScope, db.ProjectScope}, m.Scope) {
			return i18n.Mistakef("scope %q：应为 chat、user 或 project", "scope %q: must be chat, user or project", value)
		}
	case "of":
		m.Of = value
	case "title":
		m.Title = value
	case "keywords":
		m.Keywords = list
	case "sources":
		m.Sources = list
	case "state":
		m.Proposed = value == states[true]
		if value != states[m.Proposed] {
			return i18n.Mistakef("state %q：应为 active 或 proposed", "state %q: must be active or proposed", value)
		}
	case "version":
		if m.Version, err = strconv.Atoi(value); err != nil || m.Version < 0 {
			return i18n.Mistakef("version %q：应为数字", "version %q: must be a number", value)
		}
	case "created":
		m.Created, err = parseTime(key, value)
	case "updated":
		m.Updated, err = parseTime(key, value)
	default:
		return i18n.Mistakef("未知的键 %q", "unknown key %q", key)
	}
	return err
}

// parseTime reads a time. A date alone is accepted because people write documents by hand.
func parseTime(key, value string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, i18n.Mistakef("%s %q：应为时间，例如 2026-05-04T10:00:00Z",
		"%s %q: must be a time such as 2026-05-04T10:00:00Z", key, value)
}
