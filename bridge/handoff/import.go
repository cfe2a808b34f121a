package handoff

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/bridge/approval"
	"magpie/db"
	"magpie/db/engine"
	"magpie/db/handoffs"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/claude/transcript"
	"magpie/internal/claude/workspace"
	"magpie/internal/convo"
)

// importNew adds to the History what was said in a terminal, if a transcript has grown. While the terminal lives, it leaves
// out what goes on, and takes a tenth of the time at most.
func (h *Handoffs) importNew(ctx context.Context, l handoffs.Lease, t *terminal, lives bool) error {
	// With /clear and /resume people go on in other sessions of the chat's own folder. The last one stays the chat's.
	list, err := h.transcripts(l).All(l.Cwd, l.Session)
	list = slices.DeleteFunc(list, func(s transcript.Session) bool { return s.ID != l.Session && !s.Updated.After(l.Since) })
	var size int64
	for _, s := range list {
		size += s.Size
	}
	if err == nil && lives && size == t.size {
		return nil
	}
	began := time.Now()
	for _, s := range slices.Backward(list) {
		l.Session = s.ID
		err = errors.Join(err, h.importSession(ctx, l, lives))
	}
	t.next = time.Now().Add(10 * time.Since(began))
	if err != nil {
		t.failed++
		t.next = time.Now().Add(min(time.Duration(t.failed*t.failed)*poll, time.Minute))
		return err
	}
	t.size, t.failed = size, 0
	return nil
}

// importSession adds to the History what was said in one session.
func (h *Handoffs) importSession(ctx context.Context, l handoffs.Lease, lives bool) error {
	turns, known, err := h.unknown(ctx, l)
	if err != nil {
		return err
	}
	return h.add(ctx, l, turns, known, lives)
}

func (h *Handoffs) transcripts(l handoffs.Lease) claude.Transcripts {
	return h.Pool.Config().Transcripts(l.Key.String())
}

// unknown lists the turns of a session that are not in the History, and reports whether others are, or were until the
// session was given up.
func (h *Handoffs) unknown(ctx context.Context, l handoffs.Lease) (turns []transcript.Turn, known bool, err error) {
	prompts, err := h.DB.Handoffs().Prompts(ctx, l)
	if err != nil {
		return nil, false, err
	}
	if turns, err = h.transcripts(l).Turns(l.Cwd, l.Session, prompts); err != nil || len(prompts) > 0 {
		return turns, true, err
	}
	newest, err := h.DB.Turns().Prompts(ctx, l.Key, math.MaxInt64)
	known = slices.ContainsFunc(newest, func(p db.Prompt) bool {
		return slices.ContainsFunc(turns, func(t transcript.Turn) bool { return t.ID == p.ID })
	})
	return turns, known, err
}

// add adds turns to the History, of a session that it knows or not; if the terminal lives, without the last one as long as it
// goes on.
func (h *Handoffs) add(ctx context.Context, l handoffs.Lease, turns []transcript.Turn, known, lives bool) error {
	var asked []chat.Message
	var results []db.TurnResult
	for i, t := range turns {
		if !t.Typed || uuid.Validate(t.ID) != nil || lives && i == len(turns)-1 && !t.Ended && t.Failure == "" {
			continue
		}
		var next time.Time
		if i+1 < len(turns) {
			next = turns[i+1].Asked
		}
		q, r := h.turn(ctx, l, t, next)
		asked, results = append(asked, q), append(results, r)
	}
	added, err := h.DB.Handoffs().Import(ctx, asked, results, known)
	if added > 0 {
		h.Log.Info().Stringer("chat", l.Key).Int("turns", added).Msg("what was said in a terminal is stored")
	}
	return err
}

// Adopt makes a session that somebody has begun in a terminal in the folder dir that of a chat without a History. What it has
// cost was paid elsewhere.
func (h *Handoffs) Adopt(ctx context.Context, key chat.Key, session, dir string) error {
	agent, err := h.Pool.Config().AgentOf(key.String())
	if err == nil {
		err = agent.Adopt(dir, session)
	}
	if err != nil {
		return err
	}
	l := handoffs.Lease{Key: key, Node: h.Node, Session: session}
	if l.Cwd, err = workspace.RealDir(dir); err != nil {
		return err
	}
	turns, err := h.transcripts(l).Turns(l.Cwd, session, nil)
	if err != nil {
		return err
	}
	for i := range turns {
		turns[i].Typed, turns[i].Usage = true, stream.Usage{}
	}
	return h.add(ctx, l, turns, false, false)
}

// turn is a turn of a terminal for the History, and next when the next one was asked; zero = it is the last one. Nothing in a
// transcript is trusted: it is redacted as messages are.
func (h *Handoffs) turn(ctx context.Context, l handoffs.Lease, t transcript.Turn, next time.Time) (chat.Message, db.TurnResult) {
	q := chat.Message{
		Key: l.Key, ID: "typed-" + t.ID, Role: chat.User, Class: chat.Talk, Actor: h.Operator, Text: h.Redact(t.Text), Time: t.Asked,
	}
	r := db.TurnResult{
		Turn:  db.Turn{Key: l.Key, Epoch: l.Epoch, Session: l.Session, Prompt: t.ID},
		State: convo.Done, Answer: h.Redact(t.Outcome.Text), Session: db.Session{ID: l.Session, Node: l.Node, Cwd: l.Cwd},
	}
	switch {
	case t.Failure != "" && t.Failure != stream.FailAborted:
		r.State, r.Failure = convo.Failed, string(t.Failure)
	case !t.Ended:
		r.State = convo.Cancelled
	}
	if t.Usage != (stream.Usage{}) {
		subagents, err := h.transcripts(l).SubagentUsage(l.Cwd, l.Session, t.Asked, next)
		if err != nil {
			h.Log.Error().Err(err).Stringer("chat", l.Key).Msg("cost of subagents is not known")
		}
		r.Usage = h.Estimate(ctx, t.Asked, append([]claude.ModelUsage{{Model: t.Model, Usage: t.Usage}}, subagents...))
		r.Usage.Duration = max(0, t.Updated.Sub(t.Asked))
	}
	names := map[string]string{}
	for _, ev := range t.Tools {
		var a db.Action
		switch e := ev.(type) {
		case stream.ToolUse:
			names[e.ID] = e.Name
			a = db.Action{Use: e.ID, Tool: e.Name, Input: approval.ShortInput(e.Input, h.Excerpt)}
		case stream.ToolResult:
			a = db.Action{Use: e.ID, Tool: names[e.ID], Output: h.Excerpt(e.Text), Ended: true, Failed: e.Failed}
		}
		if strings.HasPrefix(a.Tool, agenttools.Prefix) {
			a.Input, a.Output = "", ""
		}
		r.Actions = append(r.Actions, db.RecordedAction{Action: a, Time: t.Asked})
	}
	return q, r
}

// settled is how long after a turn its own process may still write about it.
const settled = 250 * time.Millisecond

// Held finds out whether a claimed turn has to wait for a terminal, and until when it waits at most. If somebody has the
// session of the chat open in one without having asked, its questions wait as well: two that write would not know of each
// other, until there is another conversation. What was said in one that has ended is added to the History; then the chat has
// changed. An error is one of the database, and the same can be asked again.
func (h *Handoffs) Held(ctx context.Context, c db.Claim) (until time.Time, changed bool, err error) {
	l, held, err := h.Of(ctx, c.Turn.Key)
	if err != nil {
		return until, false, err
	}
	if !held && c.Resume && c.Turn.Follows == 0 {
		l, held, changed, err = h.find(ctx, c)
	}
	if held && (!l.Found || l.Epoch == c.Turn.Epoch) {
		until = l.Since.AddDate(100, 0, 0) // it ends before: the turns are due then
	}
	return until, changed, err
}

// opened gives a chat to the terminal in which somebody has opened the session of a lease without asking. Without one the lease
// that it returns has no process.
func (h *Handoffs) opened(ctx context.Context, l handoffs.Lease) (handoffs.Lease, error) {
	agent, err := h.Pool.Config().AgentOf(l.Key.String())
	if err != nil {
		return handoffs.Lease{}, nil //nolint:nilerr // whoever starts it reports that
	}
	l.Found = true
	if l.Pid, l.Started = agent.InTerminal(l.Session); l.Pid == 0 {
		return l, nil
	}
	if l, err = h.DB.Handoffs().Take(ctx, l); err == nil {
		h.Log.Warn().Stringer("chat", l.Key).Int("pid", l.Pid).
			Msg("somebody has the session of a chat open in a terminal; its questions wait for its end")
		h.look()
	}
	return l, err
}

// find looks for a terminal in which somebody has opened the session of a turn without asking, or has had it open.
func (h *Handoffs) find(ctx context.Context, c db.Claim) (l handoffs.Lease, held, changed bool, err error) {
	own := c.Chat.Session
	if own.ID != c.Turn.Session || own.Node != "" && own.Node != h.Node {
		return l, false, false, nil
	}
	l = handoffs.Lease{Key: c.Turn.Key, Node: h.Node, Epoch: c.Turn.Epoch, Session: own.ID, Cwd: own.Cwd}
	if by, err := h.opened(ctx, l); err != nil || by.Pid != 0 {
		return by, err == nil, false, err
	}
	path, err := h.transcripts(l).Path(own.Cwd, own.ID)
	if err != nil {
		return l, false, false, nil //nolint:nilerr // the session is lost, which the turn notices
	}
	if info, err := os.Stat(path); err != nil || !info.ModTime().After(c.Chat.Turned.Add(settled)) {
		return l, false, false, nil //nolint:nilerr // likewise
	}
	known, err := h.DB.Handoffs().Prompts(ctx, l)
	if err != nil {
		return l, false, false, err
	}
	lost := new(claude.LostError)
	if _, err := h.transcripts(l).Verify(own.Cwd, own.ID, known); !errors.As(err, &lost) || lost.Cause != claude.LostForeign {
		return l, false, false, nil //nolint:nilerr // likewise
	}
	turns, err := h.transcripts(l).Turns(own.Cwd, own.ID, known)
	if err != nil {
		return l, false, false, nil //nolint:nilerr // likewise
	}
	for _, t := range turns {
		if !t.Typed && t.ID != c.Turn.Prompt {
			return l, false, false, nil // the session is lost, which the turn notices
		}
	}
	if len(turns) == 0 {
		return l, false, false, nil
	}
	<-h.Pool.Drop(l.Key.String()) // it does not know what was said
	if err := h.add(ctx, l, turns, true, false); errors.Is(err, engine.ErrAway) {
		return l, false, true, err
	} else if err != nil { // the question is not held up for it
		h.Log.Error().Err(err).Stringer("chat", l.Key).Msg("what was said in a terminal is not stored; the chat goes on without it")
	}
	return l, false, true, nil
}
