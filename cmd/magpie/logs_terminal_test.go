package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rs/zerolog"

	"magpie/internal/operator/config"
)

// On a terminal the log is readable, with colours, and the one-time code in a box. Elsewhere it has neither.
func TestTheLogOfATerminal(t *testing.T) {
	const code = "MAGPIE-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	log := func(l zerolog.Logger) { l.Warn().Str("code", code).Msg("nobody owns the bot") }
	var file bytes.Buffer
	log(newLog(&file, config.Log{Format: config.LogAuto}))
	if got := file.String(); !strings.HasPrefix(got, `{"level":"warn"`) || strings.Contains(got, "─") {
		t.Errorf("into a file: %s", got)
	}
	file.Reset()
	l := newLog(&file, config.Log{Format: config.LogConsole})
	l.Info().Str("version", "v1.2.3 2fd3373813812345678000").Int("max_turns", 8).Int64("free_mb", 23426).Msg(lineStarted)
	l.Warn().Str("error", "dial udp 192.168.1.1:53, 8.8.8.8:53").Dur("retry_in", 288*time.Millisecond).
		Msg("feishu: not connected")
	l.Warn().Dur("retry_in", 288*time.Second).Msg("feishu: not connected")
	l.Info().Str("bot", "Mag").Msg(lineConnected)
	for _, want := range []string{
		"Magpie is starting: connecting to Feishu version=v1.2.3\n", "retry_in=288ms", "retry_in=4m48s",
		"192.168.1.1:53, [REDACTED_IP]:53", "Connected to Feishu as Mag: send it a message there\n", "Feishu: not connected retry_in=4m48s",
	} {
		if !strings.Contains(file.String(), want) {
			t.Errorf("on a terminal: %q is missing in\n%s", want, &file)
		}
	}
	file.Reset()
	l = newLog(&file, config.Log{Format: config.LogJSON})
	l.Info().Dur("retry_in", 288*time.Second).Str("bot", "Mag").Msg(lineConnected)
	if got := file.String(); !strings.Contains(got, `"retry_in":"4m48s"`) || !strings.Contains(got, lineConnected) {
		t.Errorf("as JSON: %s", got)
	}
	file.Reset()
	log(newLog(&file, config.Log{Format: config.LogConsole}))
	if got := file.String(); strings.Contains(got, "\x1b[") || !strings.Contains(got, "│  "+code+"  │") {
		t.Errorf("console format, into a file: %q", got)
	}
	read, write, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NO_COLOR", "")
	log(newLog(write, config.Log{Format: config.LogAuto}))
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	shown, _ := io.ReadAll(read) // fails when the other side is closed
	if got := string(shown); !strings.Contains(got, "\x1b[") || !strings.Contains(got, "│  "+code+"  │") {
		t.Errorf("on a terminal: %q", got)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
}
