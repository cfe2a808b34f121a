package bridge

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/approval"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/claude"
	"magpie/internal/text"
)

// actionLog records a turn's tool calls in the background, so that the turn never waits for the store.
type actionLog struct {
	store  db.Messages
	turn   db.Turn
	redact func(string) string // redacts a text for the History
	tools  map[string]string   // tool names by tool use ID

	mu      sync.Mutex
	waiting []db.RecordedAction // not stored yet
	writing chan struct{}       // closed when the running write ends; nil = no write runs
}

func newActionLog(cfg *Config, store *db.DB, t db.Turn) *actionLog {
	return &actionLog{
		store: store.Messages(), turn: t, redact: cfg.excerptForHistory, tools: map[string]string{},
	}
}

// excerptForHistory returns the part of a tool's input or output that the History keeps.
func (cfg Config) excerptForHistory(s string) string {
	return text.Shorten(cfg.redactForHistory(text.Prefix(s, 4*approval.LongestRecorded)), approval.LongestRecorded)
}

// recordToolEvent records the tool calls and results in an event.
func (l *actionLog) recordToolEvent(ctx context.Context, ev claude.Event) {
	switch e := ev.(type) {
	case claude.ToolUse:
		l.tools[e.ID] = e.Name
		l.record(ctx, db.Action{Use: e.ID, Tool: e.Name, Input: approval.ShortInput(e.Input, l.redact)})
	case claude.ToolResult:
		l.record(ctx, db.Action{Use: e.ID, Tool: l.tools[e.ID], Output: e.Text, Ended: true, Failed: e.Failed})
	}
}

// record queues an action for storing. Calls of the program's own tools are recorded without input and output: memories
// are stored elsewhere, where people can delete them.
func (l *actionLog) record(ctx context.Context, a db.Action) {
	if a.Output = l.redact(a.Output); strings.HasPrefix(a.Tool, agenttools.Prefix) {
		a.Input, a.Output = "", ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, db.RecordedAction{
		Action: a, Key: l.turn.Key, Turn: l.turn.ID, Epoch: l.turn.Epoch, Time: time.Now(),
	})
	if l.writing == nil {
		l.writing = make(chan struct{})
		go l.write(context.WithoutCancel(ctx), l.writing)
	}
}

// write stores waiting actions until none are left or the store fails. After a failure they are retried with the next
// action, or at the end of the turn.
func (l *actionLog) write(ctx context.Context, done chan struct{}) {
	defer close(done)
	for {
		l.mu.Lock()
		list := l.waiting
		l.waiting = nil
		if len(list) == 0 {
			l.writing = nil
		}
		l.mu.Unlock()
		if len(list) == 0 {
			return
		}
		if err := l.store.RecordActions(ctx, list); err != nil {
			if !isUnsure(err) {
				zerolog.Ctx(ctx).Error().Err(err).Int("actions", len(list)).Msg("tool calls not stored; trying again later")
			}
			l.mu.Lock()
			l.waiting, l.writing = append(list, l.waiting...), nil
			l.mu.Unlock()
			return
		}
	}
}

// unstored waits for a running write and returns the actions that are still unstored.
func (l *actionLog) unstored() []db.RecordedAction {
	l.mu.Lock()
	writing := l.writing
	l.mu.Unlock()
	if writing != nil {
		<-writing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}
