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

// actionLog stores what the agent of a turn does with tools, beside the turn: nobody waits for it.
type actionLog struct {
	store db.Actions
	turn  db.Turn
	kept  func(string) string // a text as the History may hold it
	tools map[string]string   // by use

	mu      sync.Mutex
	waiting []db.RecordedAction // for being stored
	writing chan struct{}       // closed when what is being stored is; nil = nothing is
}

func newActionLog(cfg *Config, store *db.DB, t db.Turn) *actionLog {
	return &actionLog{store: store.Messages().Actions(), turn: t, kept: cfg.recorded, tools: map[string]string{}}
}

// recorded is what the History holds of a tool's input or output.
func (cfg Config) recorded(s string) string {
	return text.Shorten(cfg.kept(text.Prefix(s, 4*approval.LongestRecorded)), approval.LongestRecorded)
}

// took notes what an event says of tools.
func (l *actionLog) took(ctx context.Context, ev claude.Event) {
	switch e := ev.(type) {
	case claude.ToolUse:
		l.tools[e.ID] = e.Name
		l.record(ctx, db.Action{Use: e.ID, Tool: e.Name, Input: approval.ShortInput(e.Input, l.kept)})
	case claude.ToolResult:
		l.record(ctx, db.Action{Use: e.ID, Tool: l.tools[e.ID], Output: e.Text, Ended: true, Failed: e.Failed})
	}
}

// record has an action stored. What the program's own tools were told stands elsewhere: memories must be forgotten when
// people want that.
func (l *actionLog) record(ctx context.Context, a db.Action) {
	if a.Output = l.kept(a.Output); strings.HasPrefix(a.Tool, agenttools.Prefix) {
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

// write stores what waits, until nothing does or the store fails: then it waits for the next action, or the end.
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
		if err := l.store.Record(ctx, list); err != nil {
			zerolog.Ctx(ctx).Error().Err(err).Int("actions", len(list)).Msg("what the agent did is not stored yet")
			l.mu.Lock()
			l.waiting, l.writing = append(list, l.waiting...), nil
			l.mu.Unlock()
			return
		}
	}
}

// unstored waits for what is being stored, and returns what is still to be.
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
