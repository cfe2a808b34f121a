package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"magpie/bridge/access"
	"magpie/contextmgr/redact"
	"magpie/internal/operator/config"
)

// newLog redacts everything that is written, since a library's error may contain a secret.
func newLog(w io.Writer, c config.Log) zerolog.Logger {
	onTerminal := isTerminal(w)
	if isForPeople(w, c) {
		console := zerolog.ConsoleWriter{
			Out: w, TimeFormat: time.TimeOnly, NoColor: !onTerminal || os.Getenv("NO_COLOR") != "", FormatExtra: boxCode,
		}
		console.FormatPrepare = translateLog(userLang(), c.Platform)
		w = console
	}
	return zerolog.New(redactedLog{zerolog.MultiLevelWriter(w), c.Secrets}).With().Timestamp().Logger()
}

// isForPeople reports whether the log in w is read by people, rather than searched by programs.
func isForPeople(w io.Writer, c config.Log) bool {
	return c.Format == config.LogConsole || c.Format == config.LogAuto && isTerminal(w)
}

// loggedError is a [zerolog.ErrorMarshalFunc] for a log that people read: errors in their language.
func loggedError(err error) any {
	if err == nil {
		return nil
	}
	return errorText(err)
}

// Durations are logged with their unit, in JSON as well: "4m48s".
func init() { zerolog.DurationFieldFormat = zerolog.DurationFormatString }

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// boxCode makes the one-time code for a new bot's owner stand out among other lines.
func boxCode(line map[string]any, out *bytes.Buffer) error {
	code, _ := line["code"].(string)
	if !strings.HasPrefix(code, access.CodeWord) {
		return nil
	}
	edge := strings.Repeat("─", len(code)+4)
	_, err := fmt.Fprintf(out, "\n  ┌%s┐\n  │  %s  │\n  └%s┘", edge, code, edge)
	return err
}

// redactedLog removes private data and secrets from log lines before it passes them on. A line is a JSON object, and
// the result is one, too.
type redactedLog struct {
	out     zerolog.LevelWriter
	secrets redact.Known // known values, which no pattern would recognize
}

func (l redactedLog) Write(line []byte) (int, error) { return l.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel implements zerolog.LevelWriter.
func (l redactedLog) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	if _, err := l.out.WriteLevel(level, []byte(l.secrets.Text(string(redactLine(line))))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// ours are the keys whose values the program itself generates. They are never redacted: operators search for them, and
// the numeric chat ID of a platform may look like a telephone number.
var ours = []string{`"level"`, `"time"`, `"chat"`, `"session"`}

// redactLine redacts the string values of a line, at any depth. It scans the text instead of decoding it, because it
// runs for every log line, and returns the same slice if nothing is found.
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
			ours = isOwnKey(text)
			continue
		}
		i-- // the loop continues after the string
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

func isOwnKey(key []byte) bool {
	return slices.ContainsFunc(ours, func(k string) bool { return string(key) == k })
}

// inLog are the kinds removed from the log. Local addresses stay: they help to find a DNS server or a proxy that does
// not answer.
var inLog = redact.All() | redact.LocalIP

// stringEnd returns the index after the string that starts at index i.
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

// redactString redacts a quoted JSON string.
func redactString(text []byte) (clean []byte, changed bool) {
	if len(text) < 2 {
		return text, false
	}
	if bytes.IndexByte(text, '\\') < 0 { // nothing to unescape, and the replacements need no escapes
		s := string(text[1 : len(text)-1])
		r := redact.Text(s, inLog)
		return []byte(`"` + r + `"`), r != s
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return text, false
	}
	r := redact.Text(s, inLog)
	if r == s {
		return text, false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err == nil
}
