package door_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/door"
)

// plain is a door that can do only what every door must. It notes what it is told.
type plain struct {
	channel string
	health  door.Health
	got     *[]string
}

func (p plain) note(what string, of ...string) {
	*p.got = append(*p.got, p.channel+" "+what+" "+strings.Join(of, " "))
}

func (p plain) Channel() string     { return p.channel }
func (p plain) Traits() door.Traits { return door.Traits{} }
func (p plain) Health() door.Health { return p.health }

func (p plain) Run(ctx context.Context, _ door.Handler) error {
	<-ctx.Done()
	return nil
}

func (p plain) Reply(_ context.Context, to chat.Ref, text, _ string) (string, error) {
	p.note("reply", to.ID, text)
	return p.channel + ":reply", nil
}

func (p plain) Post(_ context.Context, to chat.Ref, c chat.Card, _ string) (string, error) {
	p.note("post", to.ID, c.Body)
	return p.channel + ":card", nil
}

func (p plain) Edit(_ context.Context, card string, _ chat.Card) error {
	p.note("edit", card)
	return nil
}

func (p plain) Close(_ context.Context, card string, _ chat.Card) error {
	p.note("close", card)
	return nil
}

// able is a door that can do everything.
type able struct{ plain }

func (a able) Ready(_ context.Context, card string) error {
	a.note("ready", card)
	return nil
}

func (a able) RemoveButtons(_ context.Context, buttons string) error {
	a.note("remove", buttons)
	return nil
}

func (a able) CardOf(message string) string { return "first of " + message }

func (a able) Find(_ context.Context, to chat.Ref) ([]chat.Sent, error) {
	a.note("find", to.ID)
	return []chat.Sent{{ID: "found"}}, nil
}

func (a able) Mention(_ context.Context, to chat.Ref, users []string, text, _ string) (string, error) {
	a.note("mention", to.ID, strings.Join(users, "+"), text)
	return "om_mention", nil
}

func (a able) SetReaction(_ context.Context, to chat.Ref, r chat.Reaction) error {
	a.note("react", to.ID, string(r))
	return nil
}

func (a able) Upload(_ context.Context, to chat.Ref, u chat.Upload) (string, error) {
	a.note("upload", to.ID, u.Name)
	return "file/1", nil
}

func (a able) Attach(_ context.Context, to chat.Ref, name, _, _ string) (string, error) {
	a.note("attach", to.ID, name)
	return "om_file", nil
}

func (a able) Download(_ context.Context, f chat.File, _ int64, _ io.Writer) error {
	a.note("download", f.Of)
	return nil
}

func (a able) FetchQuoted(_ context.Context, _ chat.Key, id string) (chat.Incoming, error) {
	a.note("quoted", id)
	return chat.Incoming{ID: id}, nil
}

func (a able) FetchForwarded(_ context.Context, _ chat.Key, id string) (string, error) {
	a.note("forwarded", id)
	return "words", nil
}

func (a able) ListMessages(
	_ context.Context, key chat.Key, _ chat.Kind, _ time.Time, _ int,
) ([]chat.Incoming, error) {
	a.note("list", key.String())
	return []chat.Incoming{{}}, nil
}

func (a able) Departments(_ context.Context, user string) ([]string, error) {
	a.note("departments", user)
	return []string{"od_1"}, nil
}

func (a able) Transcribe(context.Context, *os.File, time.Duration) (string, error) {
	a.note("transcribe", "")
	return "", nil
}

func (a able) Age(time.Time) time.Duration { return time.Hour }

// What is shown goes to the door of the message that it answers, or of its chat; what a door cannot do is left out.
func TestWhatIsShownFindsItsDoor(t *testing.T) {
	t.Parallel()
	var got []string
	main, term := able{plain{channel: "feishu", got: &got}}, plain{channel: "cli", got: &got}
	ds, ctx := door.Doors{main, term}, t.Context()
	apps := append(ds, able{plain{channel: "feishu-sales", got: &got}})
	room, desk := chat.FeishuChat("oc_1"), chat.Key{Channel: "cli", Kind: "chat", ID: "main"}
	for _, tc := range []struct {
		name string
		do   func() error
		want string
	}{
		{"answer to the chat's own door", func() error { _, err := ds.Reply(ctx, chat.Ref{Key: room, ID: "om_1"}, "a", ""); return err },
			"feishu reply om_1 a"},
		{"answer to a question from another door", func() error { _, err := ds.Reply(ctx, chat.Ref{Key: room, ID: "cli:t.1"}, "a", ""); return err },
			"cli reply cli:t.1 a"},
		{"what answers nothing", func() error { _, err := ds.Reply(ctx, chat.Ref{Key: desk}, "a", ""); return err }, "cli reply  a"},
		{"version of an edited message", func() error { _, err := ds.Reply(ctx, chat.Ref{Key: room, ID: "edit:om_1:1"}, "a", ""); return err },
			"feishu reply edit:om_1:1 a"},
		{"mention where nobody can be mentioned", func() error {
			_, err := ds.Mention(ctx, chat.Ref{Key: desk, ID: "cli:t.1"}, []string{"cli:1"}, "a", "")
			return err
		}, "cli reply cli:t.1 a"},
		{"mention", func() error {
			_, err := ds.Mention(ctx, chat.Ref{Key: room, ID: "om_1"}, []string{"ou_1"}, "a", "")
			return err
		}, "feishu mention om_1 ou_1 a"},
		{"card", func() error {
			_, err := ds.Post(ctx, chat.Ref{Key: room, ID: "cli:t.1"}, chat.Card{Body: "b"}, "")
			return err
		}, "cli post cli:t.1 b"},
		{"edit", func() error { return ds.Edit(ctx, "cli:t.1/1", chat.Card{}) }, "cli edit cli:t.1/1"},
		{"close", func() error { return ds.Close(ctx, "om_1/c", chat.Card{}) }, "feishu close om_1/c"},
		{"a card in a topic", func() error { return ds.Edit(ctx, "om_1/c@oc_1:thread:omt_1", chat.Card{}) }, "feishu edit om_1/c@oc_1:thread:omt_1"},
		{"pace", func() error { return ds.Ready(ctx, "om_1/c") }, "feishu ready om_1/c"},
		{"no pace", func() error { return ds.Ready(ctx, "cli:t.1/1") }, ""},
		{"buttons", func() error { return ds.RemoveButtons(ctx, "om_1/c") }, "feishu remove om_1/c"},
		{"buttons that stay", func() error { return ds.RemoveButtons(ctx, "cli:t.1/1") }, ""},
		{"reaction", func() error { return ds.SetReaction(ctx, chat.Ref{Key: room, ID: "om_1"}, chat.Working) }, "feishu react om_1 working"},
		{"no reaction", func() error { return ds.SetReaction(ctx, chat.Ref{Key: room, ID: "cli:t.1"}, chat.Working) }, ""},
		{"upload", func() error { _, err := ds.Upload(ctx, chat.Ref{Key: room}, chat.Upload{Name: "n"}); return err }, "feishu upload  n"},
		{"download", func() error { return ds.Download(ctx, chat.File{Of: "om_1"}, 1, io.Discard) }, "feishu download om_1"},
		{"quote", func() error { _, err := ds.FetchQuoted(ctx, room, "om_1"); return err }, "feishu quoted om_1"},
		{"departments", func() error { _, err := ds.Departments(ctx, "ou_1"); return err }, "feishu departments ou_1"},
		{"departments of a stranger", func() error { _, err := ds.Departments(ctx, "cli:1"); return err }, ""},
		{"recording", func() error { _, err := apps.Transcribe(ctx, "feishu-sales:om_1", nil, 0); return err }, "feishu-sales transcribe "},
		{"recording of the first app", func() error { _, err := apps.Transcribe(ctx, "om_1", nil, 0); return err }, "feishu transcribe "},
		{"recording of a program", func() error { _, err := apps.Transcribe(ctx, "cli:t.1", nil, 0); return err }, "feishu transcribe "},
		{"list", func() error { _, err := ds.ListMessages(ctx, room, chat.Group, time.Time{}, 1); return err }, "feishu list feishu:chat:oc_1"},
		{"list where none is", func() error { _, err := ds.ListMessages(ctx, desk, chat.Group, time.Time{}, 1); return err }, ""},
	} {
		got = nil
		if err := tc.do(); err != nil || strings.Join(got, ", ") != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.name, got, err, tc.want)
		}
	}
	if ds.CardOf("om_2") != "first of om_2" || ds.CardOf("cli:t.2") != "cli:t.2" {
		t.Errorf("cards of messages: %q, %q", ds.CardOf("om_2"), ds.CardOf("cli:t.2"))
	}
	now := time.Now()
	if ds.Age(chat.Incoming{ID: "om_1", Time: now}) != time.Hour || ds.Age(chat.Incoming{ID: "cli:t.1", Time: now}) > time.Minute {
		t.Error("a message's age is not by the clock of its door")
	}
}

// Where there is no door, or it takes no files, nothing is tried again.
func TestNoDoor(t *testing.T) {
	t.Parallel()
	ds, ctx := door.Doors{plain{channel: "cli", got: new([]string)}}, t.Context()
	gone := chat.Ref{Key: chat.FeishuChat("oc_1"), ID: "om_1"}
	_, reply := ds.Reply(ctx, gone, "a", "")
	_, post := ds.Post(ctx, gone, chat.Card{}, "")
	for _, err := range []error{reply, post, ds.Edit(ctx, "om_1/c", chat.Card{}), ds.Close(ctx, "om_1/c", chat.Card{})} {
		if !errors.Is(err, chat.ErrUnreachable) {
			t.Errorf("%v", err)
		}
	}
	desk := chat.Ref{Key: chat.Key{Channel: "cli", Kind: "chat", ID: "main"}}
	if _, err := ds.Attach(ctx, desk, "file/1", "", ""); !errors.Is(err, chat.ErrNotTaken) {
		t.Errorf("a file for a door that takes none: %v", err)
	}
	if h := ds.Health(); h.Connected {
		t.Errorf("%+v", h)
	}
	if n := ds.Name("telegram"); n.ZH != "telegram" {
		t.Errorf("%v", n)
	}
}

// All is well if it is at every door.
func TestTheHealthOfDoors(t *testing.T) {
	t.Parallel()
	well, ill := door.Health{Connected: true}, door.Health{LastError: io.EOF}
	stuck := door.Health{Connected: true, CircuitOpen: true}
	for _, tc := range []struct{ a, b, want door.Health }{{well, well, well}, {well, ill, ill}, {ill, well, ill}, {well, stuck, stuck}} {
		if got := (door.Doors{plain{health: tc.a}, plain{health: tc.b}}).Health(); got != tc.want {
			t.Errorf("%+v and %+v: %+v", tc.a, tc.b, got)
		}
	}
	if got := (door.Doors{}).Health(); got.Connected {
		t.Errorf("no door: %+v", got)
	}
}
