package delivery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// rig is an outbox with a real store, between a test and a messenger. Its chats are in English.
type rig struct {
	*testing.T
	outbox  *Outbox
	store   *deliverytest.Store
	project string // with two files that can be sent
	dir     string // of the copies
}

// room is the chat of the tests.
var room = chat.FeishuChat("oc_1")

// newRig makes an outbox that does not run yet.
func newRig(t *testing.T, out Messenger) *rig {
	t.Helper()
	r := &rig{T: t, store: deliverytest.NewStore(t), project: t.TempDir(), dir: filepath.Join(t.TempDir(), "outgoing")}
	r.remake(out)
	deliverytest.WriteFile(t, filepath.Join(r.project, "plot.png"), deliverytest.Picture(t))
	deliverytest.WriteFile(t, filepath.Join(r.project, "报告 1.txt"), []byte("words"))
	return r
}

// remake makes the outbox again, as after a restart.
func (r *rig) remake(out Messenger) {
	lang := func(context.Context, chat.Key) i18n.Lang { return i18n.English }
	r.outbox = NewOutbox(r.store.DB, out, Spool{Dir: r.dir}, lang, zerolog.Nop())
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// start delivers until the test ends.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); r.outbox.Run(ctx, stop) }()
	r.Cleanup(func() { close(stop); cancel(); <-done })
}

// flush delivers what can be delivered now.
func (r *rig) flush() {
	stop := make(chan struct{})
	close(stop)
	r.outbox.Run(r.Context(), stop)
}

// startTurn starts a turn that answers a message.
func (r *rig) startTurn(key chat.Key, id string) db.Turn {
	r.Helper()
	in := chat.Incoming{
		Key: key, Kind: chat.Private, ID: id, Text: "question", Actor: chat.Actor{ID: "ou_1"},
		Time: time.Now(), ToBot: true,
	}
	_, err := r.store.Messages().Accept(r.Context(), db.Inbound{Incoming: in, Class: chat.Talk})
	r.must(err)
	c, err := r.store.Turns().Claim(r.Context(), key, db.Start{Session: "s", Prompt: "p-" + id, Resume: true})
	r.must(err)
	return c.Turn
}

// cutOff leaves the card of an interrupted turn.
func (r *rig) cutOff(id string) (turn int64) {
	r.Helper()
	t := r.startTurn(room, id)
	end := db.TurnResult{Turn: t, State: convo.Interrupted, Answer: "half", Card: chat.Card{Body: "half"}}
	r.must(r.store.Turns().Finish(r.Context(), end))
	return t.ID
}

// next is the next post of the chat.
func (r *rig) next() db.Post {
	r.Helper()
	p, err := r.store.Outbox().Next(r.Context(), room)
	r.must(err)
	return p
}

// unsent is the number of posts that wait.
func (r *rig) unsent() int { return r.store.Count(`SELECT COUNT(*) FROM outbox`) }

// copies is the number of files in the folder of copies.
func (r *rig) copies() int {
	r.Helper()
	list, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.Fatal(err)
	}
	return len(list)
}

// Chats without deliveries, and cards without a painter, use no memory.
func TestIdleChatsAreForgotten(t *testing.T) {
	r := newRig(t, &deliverytest.Recorder{})
	release := r.outbox.HoldCard(r.cutOff("om_0"))
	for i := range 10 {
		key := chat.FeishuChat(fmt.Sprint("oc_", i))
		r.must(r.outbox.Enqueue(t.Context(), db.Post{Key: key, Idem: fmt.Sprint(i), ReplyTo: "om_1", Text: "words"}))
	}
	if n := r.outbox.Count(); n != 11 {
		t.Errorf("%d chats and cards, want 11", n)
	}
	release()
	r.flush()
	if n := r.outbox.Count(); n != 0 || r.unsent() != 0 {
		t.Errorf("%d chats and cards are remembered, %d posts wait", n, r.unsent())
	}
}
