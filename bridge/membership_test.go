package bridge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

func changed(did chat.ChangeKind, at int64) chat.Change {
	return chat.Change{Key: room, Kind: chat.Group, Did: did, Actor: chat.Actor{ID: "ou_1", Name: "Ann"}, Title: "team",
		Time: time.UnixMilli(at)}
}

// waiting is what is to be said in the room.
func waiting(w *memoryRig, key chat.Key) string {
	w.Helper()
	p, err := w.store.Outbox().Next(w.ctx, key)
	if errors.Is(err, db.ErrNotFound) {
		return ""
	}
	w.must(err)
	w.must(w.store.Outbox().MarkDelivered(w.ctx, p, "om_"+p.Idem))
	return p.Text
}

func TestTheBotIntroducesItself(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	for _, tt := range []struct {
		c    chat.Change
		want string
	}{
		{changed(chat.Added, 1000), "@我"}, {changed(chat.Added, 1000), ""}, {changed(chat.Removed, 2000), ""},
		{changed(chat.Added, 1500), ""},
		{changed(chat.Added, 3000), "@我"}, {changed("stroked", 4000), ""},
	} {
		w.must(w.bridge.HandleMembership(w.ctx, tt.c))
		if got := waiting(w, room); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q", tt.c, got)
		}
	}
	w.must(w.store.Chats().Set(w.ctx, room, func(s *db.Settings) { s.Mention = "all" }))
	w.must(w.bridge.HandleMembership(w.ctx, changed(chat.Added, 5000)))
	if got := waiting(w, room); !strings.Contains(got, "直接提问") {
		t.Errorf("where no mention is needed: %q", got)
	}
	private := chat.Change{Key: chat.FeishuChat("oc_p"), Kind: chat.Private, Did: chat.Opened,
		Actor: chat.Actor{ID: "ou_1"}, Time: time.Now()}
	for _, want := range []string{"直接提问", ""} {
		w.must(w.bridge.HandleMembership(w.ctx, private))
		if got := waiting(w, private.Key); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("opened: %q", got)
		}
	}
}

// Unprompted messages are in the configured language, too, including those to the owner about others.
func TestUnaskedWordsAreInTheConfiguredLanguage(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Config){func(c *Config) { c.Lang = "en" }, func(c *Config) { c.NewLang = "en" }} {
		w := testWorld(t, change)
		w.must(w.bridge.HandleMembership(w.ctx, changed(chat.Added, 1000)))
		if got := waiting(w, room); got != i18n.GreetingMention.EN {
			t.Errorf("in a new group: %q", got)
		}
		w.out.Fail = chat.ErrRefused
		w.must(w.outbox().Enqueue(w.ctx, db.Post{Key: room, Idem: "refused", Card: &chat.Card{Body: "x"}}))
		flush(w.ctx, w.outbox())
		if got := w.out.Said; !slices.Equal(got, []string{i18n.Withheld.EN}) {
			t.Errorf("in place of an answer: %q", got)
		}
		w.bridge.SetAccess(access.Config{Owner: "ou_boss"})
		w.must(w.bridge.HandleMembership(w.ctx, chat.Change{
			Key: chat.FeishuChat("oc_2"), Kind: chat.Group, Did: chat.Added,
			Actor: chat.Actor{ID: "ou_1"}, Time: time.Now()}))
		if got := waiting(w, chat.PersonKey("ou_boss")); !strings.Contains(got, "added me") {
			t.Errorf("the owner is told %q", got)
		}
		if err := w.bridge.HandleMessage(w.ctx, incoming("om_1", "你好")); !errors.Is(err, chat.ErrDenied) {
			t.Errorf("a stranger's message: %v", err)
		}
		post, err := w.store.Outbox().Next(w.ctx, chat.PersonKey("ou_boss"))
		if w.must(err); post.Card == nil || post.Card.Summary != i18n.AccessRequestSummary.EN {
			t.Errorf("a stranger's request: %+v", post.Card)
		}
	}
}

// teller remembers whom it told something.
type teller struct {
	deliverytest.Recorder
	to []chat.Key
}

func (r *teller) Reply(ctx context.Context, to chat.Ref, text, idem string) (string, error) {
	r.Mu.Lock()
	r.to = append(r.to, to.Key)
	r.Mu.Unlock()
	return r.Recorder.Reply(ctx, to, text, idem)
}

// A group without access gets no message. The owner is notified once.
func TestAGroupOfStrangers(t *testing.T) {
	t.Parallel()
	out := &teller{}
	l := newBridgeRig(t, out)
	l.bridge.SetAccess(access.Config{Owner: "ou_boss"})
	l.start()
	for range 2 {
		l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Added, 1000)))
	}
	private := changed(chat.Opened, 1000)
	private.Kind = chat.Private
	l.must(l.bridge.HandleMembership(t.Context(), private))
	l.until("the owner to be told", func() bool {
		out.Mu.Lock()
		defer out.Mu.Unlock()
		return len(out.Said) > 0
	})
	l.stop()
	if len(out.Said) != 1 || !strings.Contains(out.Said[0], "Ann") || !strings.Contains(out.Said[0], room.ID) ||
		!slices.Equal(out.to, []chat.Key{chat.PersonKey("ou_boss")}) {
		t.Errorf("told %v: %q", out.to, out.Said)
	}
	if n := l.unsent(); n != 0 {
		t.Errorf("%d messages wait for strangers", n)
	}
	_, rest, _ := strings.Cut(out.Said[0], "`")
	order, _, _ := strings.Cut(rest, "`")
	in := incoming("om_1", order)
	in.Key, in.Actor.ID = chat.FeishuChat("oc_boss"), "ou_boss"
	l.receive(in)
	if who, err := l.authorizer().Authorize(t.Context(), room, chat.Actor{ID: "ou_1"}); err != nil ||
		who != access.Admitted {
		t.Errorf("%q does not let the group in", order)
	}
}

// After the bot has left a chat, nothing continues there; once it is back, it answers again.
func TestRemovedAndAddedAgain(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Added, 1000)))
	for _, id := range []string{"om_1", "om_2"} { // nobody works yet: both wait
		l.say(id, "hello")
	}
	l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Dissolved, 2000)))
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'cancelled' AND failure = 'chat'`); n != 1 {
		t.Errorf("%d turns are cancelled", n)
	}
	l.start()
	l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Added, 3000)))
	l.say("om_3", "hello again")
	l.ended(convo.Done, 1)
	l.sent()
	if n := l.count(`SELECT COUNT(*) FROM turns`); n != 2 {
		t.Errorf("%d turns", n)
	}
}

// Whoever adds the bot to a group again, in which it was muted, is greeted: it is not muted any more.
func TestAddedAgainAfterBeingMuted(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Added, 1000)))
	topic := room
	topic.Thread = "omt_1"
	for _, key := range []chat.Key{room, topic} {
		l.must(l.store.Chats().Silence(t.Context(), key, "muted"))
	}
	l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Removed, 2000)))
	l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Added, 3000)))
	l.start()
	l.sent()
	l.stop()
	if n := l.count(`SELECT COUNT(*) FROM silenced`); n != 0 || len(l.rec.Said) != 1 {
		t.Errorf("%d chats are silenced, said %q", n, l.rec.Said)
	}
}

// A running turn of the chat or of one of its topics is stopped, also one that was claimed and has not begun.
func TestRemovedWhileATurnRuns(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	topic := room
	topic.Thread = "omt_1"
	stopped, begin := map[chat.Key]error{}, map[chat.Key]func(){}
	for _, key := range []chat.Key{room, topic} {
		in := incoming("om_"+key.Thread, "hello")
		in.Key = key
		l.accept(in)
		c := l.claim(key)
		l.enter(key)
		begin[key] = func() {
			l.beginTurn(key, c.Turn.ID, func(cause error) { stopped[key] = cause })
		}
	}
	begin[room]()
	l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Removed, 2000)))
	begin[topic]()
	if !errors.Is(stopped[room], errStopped) || !errors.Is(stopped[topic], errStopped) {
		t.Errorf("stopped %v", stopped)
	}
}

// A press of a turn's button belongs to the turn's topic, and to no other chat than that in which it was pressed.
func TestAPressBelongsToTheTurnsTopic(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	topic := room
	topic.Thread = "omt_1"
	in := incoming("om_1", "hello")
	in.Key = topic
	got := l.accept(in)
	for _, tt := range []struct {
		pressed chat.Key
		turn    int64
		want    chat.Key
	}{{room, got.Turn, topic}, {room, 0, room}, {room, got.Turn + 7, room},
		{chat.FeishuChat("oc_2"), got.Turn, chat.FeishuChat("oc_2")}, {topic, 0, topic}} {
		key, turn := l.presses().chatOf(t.Context(), chat.Press{Key: tt.pressed, Action: chat.Action{Turn: tt.turn}})
		if key != tt.want || turn != tt.turn && turn != noTurn || (turn == noTurn) == (tt.turn == 0 || key == topic) {
			t.Errorf("pressed in %v, turn %d: %v, turn %d", tt.pressed, tt.turn, key, turn)
		}
	}
}
