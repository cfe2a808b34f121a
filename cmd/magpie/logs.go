package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr/redact"
)

func newLog(w io.Writer, c logConfig) zerolog.Logger {
	if c.Format == "console" {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(redactedLog{zerolog.MultiLevelWriter(w), c.secrets}).With().Timestamp().Logger()
}

// redactedLog takes private data and secrets out of the lines of the log before it passes them on. A line is an object
// of JSON, and stays one.
type redactedLog struct {
	out     zerolog.LevelWriter
	secrets redact.Known // that may look like anything
}

func (l redactedLog) Write(line []byte) (int, error) { return l.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel implements zerolog.LevelWriter.
func (l redactedLog) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	if _, err := l.out.WriteLevel(level, []byte(l.secrets.Text(string(redactLine(line))))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// ours are the keys whose values we make ourselves. Operators look up by them, and a platform may count its chats in
// numbers that could be anybody's telephone.
var ours = []string{`"level"`, `"time"`, `"chat"`, `"session"`}

// redactLine redacts the values of a line that are strings, at any depth. It returns the very line when nothing is
// found.
func redactLine(line []byte) []byte {
	var out []byte
	done, ours := 0, false
	for i := 0; i < len(line); i++ {
		if line[i] != '"' {
			continue
		}
		start := i
		i = stringEnd(line, start)
		text := line[start:i]
		if i < len(line) && line[i] == ':' {
			ours = isOurs(text)
			continue
		}
		i-- // the loop goes on behind the string
		if ours {
			ours = false
			continue
		}
		if clean, changed := redactString(text); changed {
			out = append(append(out, line[done:start]...), clean...)
			done = start + len(text)
		}
	}
	if done == 0 {
		return line
	}
	return append(out, line[done:]...)
}

func isOurs(key []byte) bool {
	return slices.ContainsFunc(ours, func(k string) bool { return string(key) == k })
}

// stringEnd is the place behind the string that starts at place i.
func stringEnd(line []byte, i int) int {
	for i++; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(line)
}

// redactString redacts a string as JSON writes it.
func redactString(text []byte) (clean []byte, changed bool) {
	if len(text) < 2 {
		return text, false
	}
	if bytes.IndexByte(text, '\\') < 0 { // the marks need no escapes either
		s := string(text[1 : len(text)-1])
		r := redact.Text(s, redact.All())
		return []byte(`"` + r + `"`), r != s
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return text, false
	}
	r := redact.Text(s, redact.All())
	if r == s {
		return text, false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err == nil
}
