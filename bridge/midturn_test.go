package bridge

import (
	"context"
	"errors"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// Which messages belong to the running turn: what is marked as an addition does so whatever else waits; with
// while_busy = "steer" others do as well, unless a question waits that they may belong to.
func TestWhichMessagesARunningTurnGets(t *testing.T) {
	t.Parallel()
	quote := func(of string) []chat.File { return []chat.File{{Number: 1, Kind: chat.Quote, Of: of}} }
	topic := []chat.File{{Number: 1, Kind: chat.Quote, Of: "om_1", Topic: true}}
	picture := []chat.File{{Number: 1, Kind: chat.Picture, Key: "img_1"}}
	for name, tc := range map[string]struct {
		text    string
		files   []chat.File
		by      string // empty = the asker
		always  bool
		waiting bool
		want    bool
	}{
		"a question":                      {text: "and red?"},
		"marked":                          {text: "also: red", want: true},
		"marked, others wait":             {text: "补充：红的", waiting: true, want: true},
		"quotes the card":                 {text: "and red?", files: quote("card"), want: true},
		"quotes the card, others wait":    {text: "and red?", files: quote("card"), waiting: true, want: true},
		"quotes another message":          {text: "also: red", files: quote("om_9")},
		"in a topic":                      {text: "and red?", files: topic},
		"in a topic, marked":              {text: "also: red", files: topic, want: true},
		"in a topic, always":              {text: "and red?", files: topic, always: true, want: true},
		"always":                          {text: "and red?", always: true, want: true},
		"always, others wait":             {text: "and red?", always: true, waiting: true},
		"always, marked, others wait":     {text: "also: red", always: true, waiting: true, want: true},
		"always, quotes another message":  {text: "and red?", files: quote("om_9"), always: true},
		"with a file":                     {text: "also: red", files: picture},
		"with a file and the card quoted": {text: "also: red", files: append(picture, quote("card")...)},
		"by another member":               {text: "also: red", by: "ou_2"},
		"by an admin":                     {text: "also: red", by: "ou_admin", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			l.remake(func(c *Config) { c.Access.Admins = []string{"ou_admin"} })
			in := func(id, by string) chat.Incoming {
				m := incoming(id, "hello")
				m.Kind, m.Actor.ID = chat.Group, by
				return m
			}
			l.receive(in("om_1", "ou_1"))
			claim := l.claim(room)
			turn := claim.Turn.ID
			l.must(l.store.Outbox().SetCard(t.Context(), db.Post{Key: claim.Turn.Key, Turn: turn}, "card"))
			s := l.receiver()
			s.takesAll = tc.always
			s.busy.begin(room, turn, func(error) {})
			s.busy.works(claim, "")
			s.busy.listen(room, "zh")
			if tc.waiting {
				m := in("om_2", "ou_1")
				m.Files = picture
				l.receive(m)
			}
			m := in("om_3", "ou_1")
			m.Text, m.Files = tc.text, tc.files
			if tc.by != "" {
				m.Actor.ID = tc.by
			}
			got, err := s.turnFor(context.Background(), m)
			if err != nil || got != map[bool]int64{true: turn}[tc.want] {
				t.Errorf("turn %d, %v", got, err)
			}
		})
	}
}

func TestStopMeansTheTurnThatRuns(t *testing.T) {
	bc := busyChats{}
	if bc.stop(room, 7) {
		t.Error("stopped nothing")
	}
	bc.Enter(room)
	if bc.stop(room, 0) {
		t.Error("stopped a chat without a turn")
	}
	ctx, stop := context.WithCancelCause(t.Context())
	bc.begin(room, 7, stop)
	if bc.stop(room, 6) || ctx.Err() != nil {
		t.Error("the button of an old card stopped the turn")
	}
	if bc.running(room) != 7 || !bc.stop(room, 7) || !errors.Is(context.Cause(ctx), errStopped) {
		t.Error("the turn was not stopped")
	}
	bc.end(room)
	if bc.running(room) != 0 || bc.stop(room, 7) {
		t.Error("the turn continues after its end")
	}
}
