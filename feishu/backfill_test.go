package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/feishusim"
)

// storingHandler is a Handler that stores each message once, like the bridge with its database. It outlives the client.
type storingHandler struct {
	mu    sync.Mutex
	order []chat.Incoming
	times map[string]int // how often each message was handed over
	fail  func(m chat.Incoming) error
	wrote chan struct{}
}

func newStoringHandler() *storingHandler {
	return &storingHandler{times: make(map[string]int), wrote: make(chan struct{}, 1)}
}

func (*storingHandler) HandleEdit(context.Context, chat.Incoming) error      { return nil }
func (*storingHandler) HandleRecall(context.Context, chat.Key, string) error { return nil }

func (h *storingHandler) HandleMessage(_ context.Context, m chat.Incoming) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail != nil {
		if err := h.fail(m); err != nil {
			return err
		}
	}
	if h.times[m.ID]++; h.times[m.ID] == 1 {
		h.order = append(h.order, m)
	}
	select {
	case h.wrote <- struct{}{}:
	default:
	}
	return nil
}

func (h *storingHandler) HandlePress(context.Context, chat.Press) (string, error) { return "", nil }

func (*storingHandler) HandleMembership(context.Context, chat.Change) error { return nil }

func (*storingHandler) HandleRead(context.Context, chat.Key, chat.Actor) {}

func (*storingHandler) PrivateChat(context.Context, string) (chat.Key, error) {
	return chat.Key{}, nil
}

func (*storingHandler) HandleNames(context.Context, map[string]string) error { return nil }

func (h *storingHandler) ActiveChats(context.Context, string) ([]chat.Activity, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []chat.Activity
	for _, m := range slices.Backward(h.order) {
		if !slices.ContainsFunc(all, func(a chat.Activity) bool { return a.Key == m.Key }) {
			all = append(all, chat.Activity{Key: m.Key, Kind: m.Kind, Since: m.Time})
		}
	}
	return all, nil
}

func (h *storingHandler) texts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, m := range h.order {
		out = append(out, m.Text)
	}
	return out
}

// await waits until n messages are stored.
func (h *storingHandler) await(p *platform, n int) {
	p.t.Helper()
	ctx := p.ctx()
	for len(h.texts()) < n {
		select {
		case <-h.wrote:
		case <-ctx.Done():
			p.t.Fatalf("%d messages, want %d: %q\n%s", len(h.texts()), n, h.texts(), p.log)
		}
	}
}

// start runs a client until stop is called.
func (p *platform) start(c *Client, h door.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, h) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("Run: %v", err)
		}
	})
	p.t.Cleanup(stop)
	return stop
}

// outages are the ways to miss messages. Each starts one and returns the function that ends it.
var outages = map[string]func(p *platform) (end func()){
	"endpoint refused": func(p *platform) func() {
		p.RefuseEndpoint(1, "system busy")
		p.DropConnections(true)
		p.await("lost", func(v *feishusim.View) bool { return v.Connections() == 0 })
		return func() { p.RefuseEndpoint(0, "") }
	},
	"half-open": func(p *platform) func() {
		before := p.Status().Reconnects
		p.Freeze(true)
		return func() {
			p.must(awaitStatus(p, func(s Status) bool { return !s.Connected || s.Reconnects > before }))
			p.Freeze(false)
		}
	},
}

func TestBackfillAfterAnOutage(t *testing.T) {
	for name, begin := range outages {
		t.Run(name, func(t *testing.T) {
			// a redelivery must not come before the backfill
			cfg := feishusim.Config{AckTimeout: 10 * time.Second, Redeliver: many(20 * time.Second)}
			if name == "half-open" {
				cfg.PingInterval = time.Second
			}
			p := newPlatform(t, cfg)
			ann, bob, h := p.AddUser("Ann"), p.AddUser("Bob"), newStoringHandler()
			room, group := p.PrivateChat(ann), p.Group("team", ann, bob)
			p.start(p.Client, h)
			p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
			p.Say(room, ann, "one")
			p.Say(group, bob, "first", feishusim.Mention())
			h.await(p, 2)

			end := begin(p)
			p.Say(room, ann, "two")
			p.Say(group, ann, "second", feishusim.Mention(), feishusim.MentionUsers(bob))
			p.Say(room, ann, "three")
			p.Recall(p.Say(room, ann, "never mind"))
			end()
			p.must(awaitStatus(p, func(s Status) bool { return s.Connected && s.Reconnects > 0 }))
			h.await(p, 5)
			h.mu.Lock()
			defer h.mu.Unlock()
			var private []string
			for _, m := range h.order {
				if m.Kind == chat.Private {
					private = append(private, m.Text)
				} else if !m.ToBot {
					t.Errorf("not to the bot: %+v", m)
				}
			}
			if diff := cmp.Diff([]string{"one", "two", "three"}, private); diff != "" {
				t.Error(diff)
			}
			p.must(awaitStatus(p, func(s Status) bool { return s.Backfilled >= 3 })) // counted when it is handed over
			p.clean()
		})
	}
}

// awaitStatus checks the status after each event of the platform, and periodically.
func awaitStatus(p *platform, cond func(Status) bool) error {
	ctx := p.ctx()
	for !cond(p.Status()) {
		if err := openapi.Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("status %+v: %w\n%s", p.Status(), err, p.log)
		}
	}
	return nil
}

func TestBackfillBetweenTwoRuns(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, h := p.AddUser("Ann"), newStoringHandler()
	room := p.PrivateChat(ann)
	stop := p.start(p.Client, h)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(room, ann, "one")
	h.await(p, 1)
	stop()
	for i := range 60 { // more than one page
		p.Say(room, ann, fmt.Sprint("meanwhile ", i))
	}
	p.Client = p.another()
	p.start(p.Client, h)
	h.await(p, 61)
	for i, text := range h.texts()[1:] {
		if text != fmt.Sprint("meanwhile ", i) {
			t.Errorf("message %d is %q", i, text)
		}
	}
	p.clean()
}

// The backfill delivers missed messages before new ones, even if the platform's list is slow.
func TestBackfilledMessagesComeFirst(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, h := p.AddUser("Ann"), newStoringHandler()
	room := p.PrivateChat(ann)
	stop := p.start(p.Client, h)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(room, ann, "one")
	h.await(p, 1)
	stop()
	p.await("the end", func(v *feishusim.View) bool { return v.Connections() == 0 })
	p.Say(room, ann, "two")
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/messages", Method: "GET", Delay: 200 * time.Millisecond})
	p.Client = p.another()
	p.Client.waits.backfill = time.Minute
	p.start(p.Client, h)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(room, ann, "three")
	h.await(p, 3)
	if got := h.texts(); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("order %q", got)
	}
	p.clean()
}

func TestListedMessageIsTheSameAsTheEvent(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, bob, rec := p.AddUser("Ann"), p.AddUser("Bob"), newRecorder()
	group, room := p.Group("team", ann, bob), p.PrivateChat(ann)
	p.run(rec)
	began := time.Now().Add(-time.Minute)
	p.Say(group, ann, "see @_user_9 you", feishusim.Mention(), feishusim.MentionUsers(bob))
	p.Say(group, bob, "not to you")
	p.Say(group, bob, "all", feishusim.MentionAll())
	p.Server.Post(group, ann,
		json.RawMessage(`{"title":"Plan","content":[[{"tag":"text","text":"bold","style":["bold"]}]]}`),
		feishusim.Mention())
	p.Send(group, ann, "image", json.RawMessage(`{"image_key":"img_v3_x"}`))
	p.Say(room, ann, "private")
	want := make(map[string]chat.Incoming)
	for range 6 {
		m := next(t, rec.messages)
		m.Tenant = "" // a list does not tell it
		want[m.ID] = m
	}
	_, err := p.Reply(p.ctx(), chat.Ref{Key: chat.FeishuChat(group)}, "the bot's own", "seed")
	p.must(err)
	p.Send(group, ann, "system", json.RawMessage(`{"template":"x"}`))
	again, h := p.another(), newStoringHandler()
	again.state.update(func(now *Status) { now.BotOpenID = p.BotOpenID() })
	for room, kind := range map[string]chat.Kind{group: chat.Group, room: chat.Private} {
		g := &backfill{eventHandler: eventHandler{again, h}}
		p.must(g.fetchChat(p.ctx(), chat.Activity{Key: chat.FeishuChat(room), Kind: kind, Since: began}, true))
	}
	if len(h.order) != len(want) {
		t.Errorf("%d messages, want %d: %q", len(h.order), len(want), h.texts())
	}
	for _, m := range h.order {
		if diff := cmp.Diff(want[m.ID], m); diff != "" {
			t.Error(diff)
		}
	}
}

func TestChatsThatCannotBeListedAreSkipped(t *testing.T) {
	p := newPlatform(t, feishusim.Config{MentionsOnly: true})
	ann, bob, h := p.AddUser("Ann"), p.AddUser("Bob"), newStoringHandler()
	group, gone, room := p.Group("team", ann, bob), p.Group("gone", ann), p.PrivateChat(ann)
	stop := p.start(p.Client, h)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(room, ann, "one")
	p.Say(group, ann, "in the group", feishusim.Mention())
	p.Say(gone, ann, "in another", feishusim.Mention())
	h.await(p, 3)
	stop()
	p.RemoveBot(gone, ann)
	p.Say(room, ann, "two")
	p.Client = p.another()
	p.start(p.Client, h)
	h.await(p, 4)
	if got := h.texts()[3]; got != "two" {
		t.Errorf("got %q", got)
	}
	p.clean()
}

func TestBackfillStaysPendingUntilItIsDone(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Redeliver: []time.Duration{}})
	ann, h := p.AddUser("Ann"), newStoringHandler()
	room := p.PrivateChat(ann)
	p.start(p.Client, h)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(room, ann, "one")
	h.await(p, 1)
	end := outages["endpoint refused"](p)
	p.Say(room, ann, "missed")
	remove := p.Inject(feishusim.Fault{Method: "GET", Path: "/open-apis/im/v1/messages", Code: 230020})
	end()
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(room, ann, "later") // is known before the gap is closed
	h.await(p, 2)
	p.DropConnections(false)
	remove()
	h.await(p, 3)
	if diff := cmp.Diff([]string{"one", "later", "missed"}, h.texts()); diff != "" {
		t.Error(diff)
	}
}

func TestBackfillRepeatsMessagesThatWereNotStored(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Redeliver: []time.Duration{}})
	ann, h := p.AddUser("Ann"), newStoringHandler()
	room := p.PrivateChat(ann)
	at := time.Now()
	p.Say(room, ann, "missed")
	failed := false
	h.fail = func(chat.Incoming) error {
		if !failed {
			failed = true
			return errors.New("disk full")
		}
		return nil
	}
	g := &backfill{eventHandler: eventHandler{p.Client, h}}
	g.pending = []chat.Activity{{Key: chat.FeishuChat(room), Kind: chat.Private, Since: at.Add(-time.Second)}}
	g.run(p.ctx())
	if diff := cmp.Diff([]string{"missed"}, h.texts()); diff != "" || !failed {
		t.Errorf("%s, failed %v", diff, failed)
	}
	if left := g.pendingChats(); len(left) != 0 {
		t.Errorf("owed %v", left)
	}
}

func TestBackfillIsBounded(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Limits: feishusim.Limits{AppPerSecond: -1, AppPerMinute: -1}})
	ann, h := p.AddUser("Ann"), newStoringHandler()
	room := p.PrivateChat(ann)
	at := time.Now().Add(-time.Hour)
	for i := range backfillMessages + 30 {
		p.Say(room, ann, fmt.Sprint(i), feishusim.Time(at.Add(time.Duration(i+1)*time.Second)))
	}
	g := &backfill{eventHandler: eventHandler{p.Client, h}}
	p.must(g.fetchChat(p.ctx(), chat.Activity{Key: chat.FeishuChat(room), Kind: chat.Private, Since: at}, true))
	texts := h.texts()
	if len(texts) != backfillMessages || texts[0] != "30" || texts[len(texts)-1] != fmt.Sprint(backfillMessages+29) {
		t.Errorf("%d messages from %s to %s", len(texts), texts[0], texts[len(texts)-1])
	}
	rec := newRecorder()
	rec.active = func() (all []chat.Activity, _ error) {
		for i := range 3 * backfillChats {
			all = append(all, chat.Activity{
				Key: chat.FeishuChat(fmt.Sprint("oc_", i)), Since: at.Add(-time.Duration(i) * time.Minute),
			})
		}
		return all, nil
	}
	g.handler = rec
	g.recordPending(p.ctx())
	if left := g.pendingChats(); len(left) != backfillChats || left[0].Key.ID != "oc_0" ||
		left[backfillChats-1].Key.ID != fmt.Sprint("oc_", backfillChats-1) {
		t.Errorf("%d chats: %v", len(left), left)
	}
}

func TestSeenCacheDropsTheOldest(t *testing.T) {
	r := newSeenCache()
	for i := range remembered + 10 {
		r.markSeen(fmt.Sprint(i))
		r.markSeen(fmt.Sprint(i))
	}
	if r.has("9") || !r.has("10") || !r.has(fmt.Sprint(remembered+9)) || r.ids.Len() != remembered {
		t.Errorf("%d ids", r.ids.Len())
	}
}

// Events, quotes and the backfill parse content in the same way: Markdown with mentions and a picture, and a text that
// was edited.
func TestEventsQuotesAndBackfillParseAlike(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, h := p.AddUser("Ann"), newStoringHandler()
	room := p.Group("team", ann)
	stop := p.start(p.Client, h)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	say := func() []string {
		edited := p.Say(room, ann, "draft", feishusim.Mention())
		p.Server.Edit(edited, json.RawMessage(`{"text":"one <b>\ntwo"}`))
		return []string{edited, p.Server.Post(room, ann, json.RawMessage(`{"title":"T","content":[[{"tag":"text","text":"old"}]],`+
			`"content_v2":[[{"tag":"md","text":"- **see** ![image](img_v3_1)"}]]}`), feishusim.Mention(), feishusim.MentionAll())}
	}
	told := say()
	h.await(p, 2)
	stop()
	missed := say()
	p.Client = p.another()
	p.start(p.Client, h)
	h.await(p, 4)
	h.mu.Lock()
	defer h.mu.Unlock()
	key := chat.FeishuChat(room)
	for _, id := range append(told, missed...) {
		m := h.order[slices.IndexFunc(h.order, func(m chat.Incoming) bool { return m.ID == id })]
		want, pictures := "# T\n\n@all - **see** [图片 1]", 1
		if id == told[0] || id == missed[0] {
			want, pictures = "one <b>\ntwo", 0
		}
		quoted, err := p.FetchQuoted(p.ctx(), key, id)
		p.must(err)
		if quoted.Text != want || len(quoted.Files) != pictures || quoted.Actor.Name != "Ann" {
			t.Errorf("quoted: %+v, want %q", quoted, want)
		}
		if id == told[0] {
			want = "draft" // the text at the time of the event
		}
		if m.Text != want || len(m.Files) != pictures || m.Actor.Name != "Ann" || !m.ToBot {
			t.Errorf("from the event or the backfill: %+v, want %q", m, want)
		}
	}
	p.clean()
}
