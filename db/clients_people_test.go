package db_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/db/schedules"
	"magpie/internal/chat"
)

// actsOfPeople are what people do, and what is done about a chat.
func actsOfPeople(c *client) []act {
	type run = func(ctx context.Context, w *world) error
	now, key, id := c.crowd.at, c.key, c.name
	room := key.Parent()
	number := c.IntN(1000)
	who := fmt.Sprintf("ou_%d", number%5)
	memory := db.Memory{Key: key, Text: "fact " + id} // with one of some IDs
	memory.ID = uuid.NewSHA1(uuid.Nil, []byte(key.String()+fmt.Sprint(number%20))).String()
	accept := func(e db.Inbound) run {
		return func(ctx context.Context, w *world) error {
			_, err := w.Messages().Accept(ctx, e)
			return err
		}
	}
	return []act{
		{"ask", func() run {
			e := c.say(chat.Talk)
			if c.IntN(2) == 0 {
				e.Start = &db.Start{Session: "s-" + id, Prompt: "p-" + id, Resume: true}
			}
			return accept(e)
		}},
		{"ask again", func() run {
			e := c.say(chat.Talk)
			e.Said = "said elsewhere"
			return accept(e)
		}},
		{"add", func() run {
			t := c.someTurn(anyTurn)
			if t == nil {
				return nil
			}
			e := c.say(chat.Talk)
			e.Prompt = "p-" + id
			return func(ctx context.Context, w *world) error {
				e := e
				e.Adds = w.id(t.ID)
				_, err := w.Messages().Accept(ctx, e)
				return err
			}
		}},
		{"overhear", func() run { return accept(c.say(chat.Overheard)) }},
		{"command", func() run {
			e := c.say(chat.Command)
			e.Reply, e.Effects = "done", []db.Effect{c.effect(memory, who)}
			return accept(e)
		}},
		{"new conversation", func() run {
			if c.IntN(3) > 0 {
				return nil
			}
			e := c.say(chat.Talk)
			e.Effects = []db.Effect{db.StartConversation{}}
			return accept(e)
		}},
		{"recall", func() run {
			m := c.some()
			if m == nil || c.IntN(2) == 0 {
				return func(ctx context.Context, w *world) error { // perhaps before it arrives
					_, err := w.Messages().Recall(ctx, room, fmt.Sprintf("om_%d", number%500), over)
					return err
				}
			}
			return func(ctx context.Context, w *world) error {
				_, err := w.Messages().Recall(ctx, room, m.ID, over)
				return err
			}
		}},
		{"edit", func() run {
			m := c.some()
			if m == nil {
				return nil
			}
			e := db.Inbound{Incoming: *m, Class: chat.Talk, Held: &over}
			e.Text, e.Key = "edited "+id, room
			return func(ctx context.Context, w *world) error {
				_, err := w.Messages().Edit(ctx, e)
				return err
			}
		}},
		{"overheard before", func() run {
			m := c.say(chat.Overheard).Incoming
			return func(ctx context.Context, w *world) error {
				return w.Messages().StoreOverheard(ctx, key, 0, []chat.Incoming{m})
			}
		}},
		{"add files", func() run {
			m := c.some()
			if m == nil {
				return nil
			} else if _, err := c.w.Chats().Get(c.ctx, m.Key); err != nil { // nobody has stored it yet
				return nil
			}
			return func(ctx context.Context, w *world) error {
				_, err := w.Messages().InsertFiles(ctx, m.Key, m.ID, []chat.File{{Kind: chat.Document, Of: m.ID, Key: "more"}})
				return err
			}
		}},
		{"fetch a file", func() run {
			m := c.some()
			if m == nil {
				return nil
			}
			f := chat.File{Number: 1, State: chat.Here, Path: "p/" + id, Name: "a.txt"}
			return func(ctx context.Context, w *world) error {
				return w.Messages().FinishFile(ctx, m.Key, m.ID, f, 10, "its text "+id)
			}
		}},
		{"join", func() run {
			if number%5 > 0 {
				return nil
			}
			change := chat.Change{Key: room, Kind: chat.Group, Did: chat.Added, Time: now.Add(time.Duration(number) * time.Second)}
			return func(ctx context.Context, w *world) error {
				_, err := w.Chats().Join(ctx, change, &db.Post{Key: chat.PersonKey("ou_boss"), Idem: "greet-" + id, Text: "hello"})
				return err
			}
		}},
		{"leave", func() run {
			if number%20 > 0 {
				return nil
			}
			change := chat.Change{Key: room, Kind: chat.Group, Did: chat.Removed, Time: now.Add(time.Duration(number) * time.Second)}
			return func(ctx context.Context, w *world) error {
				_, _, err := w.Chats().Leave(ctx, change)
				return err
			}
		}},
		{"set up", func() run {
			if key.Thread == "" && key.ID != "oc_3" { // a topic begins with what its chat has just then
				return nil
			}
			return func(ctx context.Context, w *world) error {
				return w.Chats().Set(ctx, key, func(s *db.Settings) { s.Model += "m" })
			}
		}},
		{"name a conversation", func() run {
			return func(ctx context.Context, w *world) error { return w.Chats().SetTopic(ctx, key, 0, "topic "+id, nil) }
		}},
		{"compact", func() run {
			m := db.Compaction{Key: key, Summary: db.Summary{Text: "sum " + id, Seq: int64(1 + number%50), Until: now}, Reply: "compacted"}
			return func(ctx context.Context, w *world) error { return w.Chats().Compact(ctx, m) }
		}},
		{"restart the context", func() run {
			return func(ctx context.Context, w *world) error {
				return w.Chats().RestartContext(ctx, key, 0, int64(number%50))
			}
		}},
		{"resume a session", func() run {
			list, err := c.w.Chats().PastSessions(c.ctx, key, 5)
			if err != nil || len(list) == 0 {
				return nil
			}
			e := c.say(chat.Command)
			e.Effects = []db.Effect{db.ResumeSession{Session: db.Session{ID: list[c.IntN(len(list))].ID, Node: "n0"}}}
			return accept(e)
		}},
		{"make a folder", func() run {
			return func(ctx context.Context, w *world) error {
				_, err := w.Chats().MakeFolder(ctx, chat.FeishuChat(fmt.Sprint("oc_f", number)), "folder-"+id)
				return err
			}
		}},
		{"forget a session", func() run {
			ch, err := c.w.Chats().Get(c.ctx, key)
			if err != nil {
				return nil
			}
			return func(ctx context.Context, w *world) error { return w.Chats().ForgetSession(ctx, key, ch.Session.ID) }
		}},
		{"silence", func() run {
			return func(ctx context.Context, w *world) error { return w.Chats().Silence(ctx, key, "muted "+id) }
		}},
		{"finish a digest", func() run {
			day := now.AddDate(0, 0, number).Format(time.DateOnly)
			return func(ctx context.Context, w *world) error { return w.Schedules().FinishDigest(ctx, key, day, "report") }
		}},
		{"save a memory", func() run {
			return func(ctx context.Context, w *world) error {
				_, err := w.Memories().Save(ctx, memory, db.Change{Who: "ou_1", Why: "asked"})
				return err
			}
		}},
		{"learn", func() run {
			m := c.some()
			if m == nil {
				return nil
			}
			memory.ID, memory.Key, memory.Sources = uuid.NewString(), m.Key, []string{m.ID}
			return func(ctx context.Context, w *world) error {
				_, err := w.Memories().Learn(ctx, memory, db.Change{Who: "agent", Why: "learnt"})
				return err
			}
		}},
		{"forget a memory", func() run {
			return func(ctx context.Context, w *world) error {
				return w.Memories().Forget(ctx, key, memory.ID, db.Change{Who: "ou_1", Why: "asked"})
			}
		}},
		{"book", func() run {
			return func(ctx context.Context, w *world) error {
				return w.Access().Book(ctx, db.Expense{Key: key, User: who, Purpose: db.ForTitle, Usage: db.Usage{Model: "m", Input: 3}})
			}
		}},
		{"request access", func() run {
			boss := db.Post{Key: chat.PersonKey("ou_boss"), Grant: who, Idem: "request:" + id, Card: &over}
			tell := []db.Post{{Key: key, Idem: "stranger:" + id, Text: "no"}, boss}
			return func(ctx context.Context, w *world) error {
				_, err := w.Access().RequestAccess(ctx, db.Grant{Subject: who, Key: key, Message: "om_" + id}, tell...)
				return err
			}
		}},
		{"decide about access", func() run {
			tell := []db.Post{{Key: chat.PersonKey("ou_boss"), Idem: "decided:" + id, Text: "yes"}, {Key: key, Idem: "told:" + id, Text: "yes"}}
			return func(ctx context.Context, w *world) error {
				return w.Access().DecideGrant(ctx, who, number%2 == 0, "ou_boss", tell...)
			}
		}},
		{"own", func() run {
			app := fmt.Sprint("cli_", number)
			return func(ctx context.Context, w *world) error {
				_, err := w.Access().SetOwner(ctx, db.Owner{App: app, User: who, Source: "code"})
				return errors.Join(err, w.Access().MarkWelcomed(ctx, app, who))
			}
		}},
		{"welcome", func() run {
			return func(ctx context.Context, w *world) error {
				_, err := w.Access().NeedsWelcome(ctx, fmt.Sprint("cli_", number), who)
				return err
			}
		}},
		{"enqueue", func() run {
			to := []chat.Key{key, chat.PersonKey("ou_boss"), chat.PersonKey(who)}[number%3]
			return func(ctx context.Context, w *world) error {
				return w.Outbox().Enqueue(ctx, db.Post{Key: to, Idem: "notice-" + id, Text: "news"})
			}
		}},
		{"import", func() run {
			var list []db.Record
			for n := range 5 {
				list = append(list, db.Record{Kind: chat.Group, Message: chat.Message{
					Key: places[(number+n)%(len(places)-1)], ID: fmt.Sprintf("om_i%d-%d", number, n), Role: chat.User, Class: chat.Talk,
					Text: "imported", Time: now.Add(time.Duration(number-500) * time.Hour),
				}})
			}
			c.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			return func(ctx context.Context, w *world) error {
				_, err := w.Messages().Importer()(ctx, list)
				return err
			}
		}},
		{"embed", func() run {
			list, err := c.w.Search().Unembedded(c.ctx, "v", 2, 0, 1<<60, 5)
			if err != nil || len(list) == 0 {
				return nil
			}
			for i := range list {
				list[i].Vector = []byte{1, 2}
			}
			return func(ctx context.Context, w *world) error { return w.Search().SaveEmbeddings(ctx, "v", list) }
		}},
		{"name people", func() run {
			return func(ctx context.Context, w *world) error {
				return w.Messages().Name(ctx, map[string]string{who: "name"})
			}
		}},
	}
}

// effect is a change by a command.
func (c *client) effect(m db.Memory, who string) db.Effect {
	return []db.Effect{
		db.RequestSummary{}, db.SetTitle{Title: "title " + c.name},
		db.ChangeSchedules{Digest: schedules.Digest{Key: m.Key, Minute: 5, Day: "2026-05-04"}},
		db.SetAccess{Subject: who, Allowed: c.IntN(2) == 0, By: "ou_boss"},
		db.RevokeRule{Number: int64(c.IntN(5))},
		db.ChangeMemory{Memory: m, Forget: c.IntN(3) == 0, By: db.Change{Who: "ou_1"}, Reply: db.MemoryReply{Done: "%d %s"}},
	}[c.IntN(6)]
}
