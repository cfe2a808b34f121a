package db_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// act is what a client may do. make chooses with what, and returns nil if there is nothing.
type act struct {
	name string
	make func() func(ctx context.Context, w *world) error
}

// actsOf are all that change something.
func actsOf(c *client) []act {
	type run = func(ctx context.Context, w *world) error
	now, key, id := c.crowd.at, c.key, c.name
	session := db.Session{ID: "s-" + id, Node: fmt.Sprint("n", c.IntN(2)), Cwd: "/w", Tokens: 5}
	start := db.Start{Session: session.ID, Prompt: "p-" + id, Node: session.Node, Resume: true}
	return append(actsOfPeople(c), []act{
		{"claim", func() run {
			return func(ctx context.Context, w *world) error {
				_, err := w.Turns().Claim(ctx, key, start)
				return err
			}
		}},
		{"finish", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			e := db.TurnResult{
				State:   []convo.Phase{convo.Done, convo.Failed, convo.Interrupted, convo.Cancelled}[c.IntN(4)],
				Failure: "f", Card: chat.Card{Body: "end"}, Session: session, Usage: &db.Usage{Model: "m", Input: 7, CostUSD: 0.5},
				WorksOn: c.IntN(4) == 0, Unstopped: c.IntN(4) == 0, Notice: &db.Notice{Text: "done"},
			}
			if c.IntN(2) == 0 {
				e.Answer = "answer " + id
			}
			if c.IntN(4) == 0 {
				e.FileName, e.FileText = "a.md", "text"
			}
			return func(ctx context.Context, w *world) error {
				e := e
				e.Turn = w.turn(*t)
				return w.Turns().Finish(ctx, e)
			}
		}},
		{"requeue", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error { return w.Turns().Requeue(ctx, w.turn(*t), session) }
		}},
		{"postpone", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Turns().Postpone(ctx, w.turn(*t), now.Add(time.Hour), over)
			}
		}},
		{"lift", func() run {
			before := time.Time{}
			if c.IntN(2) == 0 {
				before = now.Add(time.Hour)
			}
			return func(ctx context.Context, w *world) error {
				_, err := w.Turns().Lift(ctx, "m", before)
				return err
			}
		}},
		{"note limits", func() run {
			list := []db.Limit{{Model: "m", Kind: "a", Used: 0.5, Reached: true, Ends: now.Add(time.Hour)}, {Kind: "b", Used: c.Float64()}}
			c.Shuffle(2, func(i, j int) { list[i], list[j] = list[j], list[i] })
			return func(ctx context.Context, w *world) error { return w.Turns().NoteLimits(ctx, list...) }
		}},
		{"set ids", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Turns().SetIDs(ctx, w.turn(*t), session.ID, start.Prompt)
			}
		}},
		{"draft", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Turns().SetDraft(ctx, w.id(t.ID), "draft "+id, "more")
			}
		}},
		{"follow up", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				_, err := w.Turns().FollowUp(ctx, w.turn(*t))
				return err
			}
		}},
		{"replace a follow-up", func() run {
			old, last := c.someTurn(func(t db.Turn) bool { return t.Follows != 0 }), c.someTurn(func(t db.Turn) bool { return t.Follows == 0 })
			if old == nil || last == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				_, err := w.Turns().ReplaceFollowUp(ctx, w.turn(*old), w.turn(*last))
				return err
			}
		}},
		{"happens", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			kind := c.IntN(4)
			return func(ctx context.Context, w *world) error {
				turn := w.id(t.ID)
				e := []convo.Event{
					convo.Acts{Turn: turn, Acted: true}, convo.Wakes{Turn: turn}, convo.Sleeps{Turn: turn}, convo.Stops{Turns: []int64{turn}},
				}[kind]
				_, err := w.Turns().Happens(ctx, key, e)
				return err
			}
		}},
		{"suggest", func() run {
			turn, err := c.w.Turns().LastDone(c.ctx)
			of, missing := c.w.Turns().ChatOf(c.ctx, turn)
			if err != nil || missing != nil || of == swept {
				return nil
			}
			t := &db.Turn{ID: turn, Key: of, ReplyTo: "om_1"}
			return func(ctx context.Context, w *world) error { return w.Turns().Suggest(ctx, w.turn(*t), over) }
		}},
		{"redraw a turn", func() run {
			t := c.interrupted()
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error { return w.Turns().Redraw(ctx, key, w.id(t.ID), "", over) }
		}},
		{"decide", func() run {
			t := c.interrupted()
			if t == nil {
				return nil
			}
			d := db.Decision{Key: key, Event: fmt.Sprint("press", c.IntN(1000)), GoOn: c.IntN(2) == 0, Over: over, ContinueMessage: chat.Message{
				Text: "go on", Actor: chat.Actor{ID: "ou_1"}, Time: now,
			}}
			return func(ctx context.Context, w *world) error {
				d := d
				d.Turn = w.id(t.ID)
				return w.Turns().Decide(ctx, d)
			}
		}},
		{"ask for approval", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			a := db.Approval{
				ID: uuid.NewString(), Key: key, Turn: t.ID, Tool: "Bash", Input: json.RawMessage(`{}`), Project: "/w", Askers: []string{"ou_1"},
				Created: now, Expires: now.Add(time.Hour), Always: &db.Permit{Tool: "Bash", Kind: "exact", Content: fmt.Sprint(c.IntN(3))},
			}
			return func(ctx context.Context, w *world) error {
				a := a
				a.Turn = w.id(a.Turn)
				return w.Access().Ask(ctx, a, over, "om_1")
			}
		}},
		{"settle", func() run {
			a := c.approval()
			if a == nil {
				return nil
			}
			s := db.Settling{From: convo.Waiting, Event: "settle-" + id, Card: over, Always: c.IntN(2) == 0, AgentWaiting: c.IntN(2) == 0,
				Action: db.Action{Use: a.ID, Tool: "Bash", Decision: "allowed"}}
			a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_1"}}
			return func(ctx context.Context, w *world) error {
				a := *a
				a.Turn = w.id(a.Turn)
				return w.Access().Settle(ctx, a, s)
			}
		}},
		{"continue with a decision", func() run {
			t, a := c.interrupted(), c.approval()
			if t == nil || a == nil {
				return nil
			}
			a.Settlement = db.Settlement{State: convo.Denied, By: chat.Actor{ID: "ou_1"}}
			e := c.say(chat.Talk)
			return func(ctx context.Context, w *world) error {
				e, a := e, *a
				a.Turn, e.Continues, e.Over = w.id(a.Turn), w.id(t.ID), over
				e.Effects = []db.Effect{db.DecideApproval{Approval: a, Settling: db.Settling{From: convo.Waiting, Card: over}}}
				_, err := w.Messages().Accept(ctx, e)
				return err
			}
		}},
		{"redraw an approval", func() run {
			a := c.approval()
			if a == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error { return w.Access().Redraw(ctx, *a, over) }
		}},
		{"remind", func() run {
			a := c.approval()
			if a == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Access().Remind(ctx, *a, "decide", []string{"ou_1"})
			}
		}},
		{"deliver", func() run {
			p := c.next()
			if p == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Outbox().MarkDelivered(ctx, w.post(*p), "om_shown_"+id)
			}
		}},
		{"upload", func() run {
			p := c.next()
			if p == nil || p.File == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				p := w.post(*p)
				p.File.Upload = "upload-" + id
				return w.Outbox().SetUpload(ctx, p)
			}
		}},
		{"delay", func() run {
			p := c.next()
			if p == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Outbox().Delay(ctx, w.post(*p), now.Add(time.Minute), db.Failure{Why: "busy"}, false) // its number stays
			}
		}},
		{"set the card", func() run {
			p := c.next()
			if p == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error { return w.Outbox().SetCard(ctx, w.post(*p), "card-"+id) }
		}},
		{"readdress", func() run {
			p := c.next()
			if p == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error { return w.Outbox().Readdress(ctx, w.post(*p)) }
		}},
		{"forget buttons", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error { return w.Outbox().ForgetButtons(ctx, key, w.id(t.ID)) }
		}},
		{"enqueue a file", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			idem := fmt.Sprint("give", c.IntN(100))
			return func(ctx context.Context, w *world) error {
				_, _, err := w.Outbox().EnqueueFile(ctx, w.turn(*t), db.FileDelivery{Name: "a.png", Copy: "c"}, idem)
				return err
			}
		}},
		{"record actions", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Messages().RecordActions(ctx, []db.RecordedAction{{
					Action: db.Action{Use: id, Tool: "Bash"}, Key: key, Turn: w.id(t.ID), Epoch: t.Epoch, Time: now,
				}})
			}
		}},
		{"set pages", func() run {
			t := c.interrupted()
			if t == nil {
				return nil
			}
			pages := map[string]string{"om_page_" + id: "page"}
			return func(ctx context.Context, w *world) error { return w.Messages().SetPages(ctx, key, w.id(t.ID), pages) }
		}},
	}...)
}

// interrupted is a turn that may go on.
func (c *client) interrupted() *db.Turn {
	t, err := c.w.Turns().Interrupted(c.ctx, c.key, 0)
	if err != nil {
		return nil
	}
	return &t
}

// approval is one that is open.
func (c *client) approval() *db.Approval {
	list, err := c.w.Access().OpenApprovals(c.ctx, c.key)
	if err != nil || len(list) == 0 {
		return nil
	}
	return &list[c.IntN(len(list))]
}

// next is what is to be delivered in the chat, or to a person.
func (c *client) next() *db.Post {
	key := c.key
	if c.IntN(10) == 0 {
		key = chat.PersonKey("ou_boss")
	}
	p, err := c.w.Outbox().Next(c.ctx, key)
	if err != nil {
		return nil
	}
	return &p
}
