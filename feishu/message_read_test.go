package feishu

import (
	"errors"
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// Somebody who wrote before this process started is known to the handler, which is asked once about each person.
func TestReadMessagesAfterARestart(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, bob, rec := p.AddUser("Ann"), p.AddUser("Bob"), newRecorder()
	room := p.PrivateChat(ann)
	var asked []string
	rec.private = func(user string) (chat.Key, error) {
		asked = append(asked, user)
		switch {
		case len(asked) == 1:
			return chat.Key{}, errors.New("the disk is busy")
		case user == ann.OpenID:
			return chat.FeishuChat(room), nil
		}
		return chat.Key{}, nil
	}
	ctx, events := p.ctx(), eventHandler{p.Client, rec}
	for _, who := range []feishusim.User{ann, ann, bob, ann, bob} {
		p.must(events.messageRead(ctx, gjson.Parse(`{"event":{"reader":{"reader_id":{"open_id":"`+who.OpenID+`"}}}}`)))
	}
	if want := []string{ann.OpenID, ann.OpenID, bob.OpenID}; !slices.Equal(asked, want) || len(rec.reads) != 2 {
		t.Errorf("asked about %q, want %q; %d reported", asked, want, len(rec.reads))
	}
}

// A read receipt is reported with its private chat, which the event does not contain, without an API call. Nothing is
// reported for unknown users or incomplete events.
func TestReadMessagesAreReported(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, bob, rec := p.AddUser("Ann"), p.AddUser("Bob"), newRecorder()
	room, group := p.PrivateChat(ann), p.Group("team", ann, bob)
	p.run(rec)
	p.Say(group, bob, "in a group", feishusim.Mention())
	next(t, rec.messages)
	p.Say(room, ann, "hello")
	m := next(t, rec.messages)
	answer, err := p.Reply(p.ctx(), chat.Ref{Key: m.Key, ID: m.ID}, "hello", "seed")
	p.must(err)
	calls := len(p.Calls())
	p.Server.Read(answer, bob)
	p.Emit(eventRead, map[string]any{})
	p.Emit(eventRead, map[string]any{"reader": map[string]any{"reader_id": map[string]any{"open_id": "ou_1/../x"}}})
	p.Server.Read(answer, ann)
	if got := next(t, rec.reads); got != m.Key {
		t.Errorf("read in %v, want %v", got, m.Key)
	}
	p.EnterChat(bob)
	next(t, rec.changes)
	p.Server.Read(answer, bob)
	if got := next(t, rec.reads); got != chat.FeishuChat(p.PrivateChat(bob)) {
		t.Errorf("read in %v", got)
	}
	p.await("all acknowledged", func(v *feishusim.View) bool {
		for _, d := range v.Deliveries() {
			if d.AckCode != 200 {
				return false
			}
		}
		return true
	})
	if len(rec.reads) != 0 || len(p.Calls()) != calls {
		t.Errorf("%d further receipts, %d calls", len(rec.reads), len(p.Calls())-calls)
	}
	p.clean()
}
