package bridge

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/pgtest"
)

// What belongs to another app is answered with the same bytes as what does not exist, and after the same number of round
// trips to the database: how long they take does not tell either.
func TestWhatIsAnothersIsNotFound(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, pgtest.Start(t, pgtest.Config{}))
	store, err := db.Open(t.Context(), db.Config{URL: proxy.URL("postgres"), Data: t.TempDir()})
	must(t, err)
	defer store.Close() //nolint:errcheck // it was only looked into
	cfg := Config{
		Access: access.Config{Owner: "ou_a", Apps: map[string]access.Config{secondApp: {Owner: secondApp + ":ou_b"}}},
		Apps:   []access.App{{Channel: secondApp}}, Projects: workplace.Set{Default: "/srv/one"}, Context: contextmgr.Defaults(),
	}
	cfg.Context.TimeZone = "UTC"
	out := &deliverytest.Recorder{}
	b := New(cfg, store, claude.NewPool(claude.Config{MaxProcesses: 1}), out, zerolog.Nop())
	w := &memoryRig{tester: t, parts: parts{b}, ctx: context.Background(), store: store, out: out}
	w.open()

	first := place{chat.FeishuChat("oc_a"), chat.Private, "ou_a"}
	other := chat.Key{Channel: secondApp, Kind: "chat", ID: "oc_b"}
	w.order(first, "/whoami")
	// A chat of the second app with all that can be named: a turn that is over, one that was interrupted, a session, a memory, an
	// approval, a stranger who asks for access.
	ask := func(id string) db.Claim {
		t.Helper()
		_, err := store.Messages().Accept(w.ctx, db.Inbound{Incoming: chat.Incoming{Key: other, Kind: chat.Private, ID: secondApp + ":" + id,
			Text: "榴莲", Time: time.Now(), Actor: chat.Actor{ID: secondApp + ":ou_b"}, ToBot: true}, Class: chat.Talk})
		must(t, err)
		c, err := store.Turns().Claim(w.ctx, other, newStart())
		must(t, err)
		return c
	}
	over := ask("om_1")
	must(t, store.Turns().Finish(w.ctx, db.TurnResult{Turn: over.Turn, Answer: "a", Card: chat.Card{Body: "a"}, State: convo.Done,
		Session: db.Session{ID: uuid.NewString(), Node: "here", Cwd: "/srv/one"}}))
	session, err := store.Chats().Get(w.ctx, other)
	must(t, err)
	runs := ask("om_2")
	asked := db.Approval{ID: uuid.NewString(), Key: other, Turn: runs.Turn.ID, NeededBy: runs.Turn.ID, Tool: "Bash",
		Input: []byte(`{"command":"ls"}`), Project: "/srv/one", Created: time.Now(), Expires: time.Now().Add(time.Hour),
		Askers: []string{secondApp + ":ou_b"}, Settlement: db.Settlement{State: convo.Waiting}}
	must(t, store.Access().Ask(w.ctx, asked, chat.Card{}, secondApp+":om_2"))
	stranger := secondApp + ":ou_stranger"
	_, err = store.Access().RequestAccess(w.ctx, db.Grant{Subject: stranger, Key: other, Message: secondApp + ":om_3"},
		db.Post{Key: chat.PersonKey(secondApp + ":ou_b"), Grant: stranger, Idem: "x", Card: &chat.Card{}})
	must(t, err)
	must(t, b.HandleMessage(w.ctx, chat.Incoming{Key: other, Kind: chat.Private, ID: secondApp + ":om_4", Text: "/remember 榴莲在冰箱里",
		Time: time.Now(), Actor: chat.Actor{ID: secondApp + ":ou_b"}, ToBot: true}))
	kept, err := store.Memories().List(w.ctx, other)
	must(t, err)

	pressed := 0
	press := func(a chat.Action) string {
		t.Helper()
		pressed++
		toast, err := b.HandlePress(w.ctx, chat.Press{ID: fmt.Sprint("e_", pressed), Key: first.key, Card: "om_card",
			Actor: chat.Actor{ID: first.who}, Action: a})
		return fmt.Sprint(toast, err)
	}
	order := func(format string, id string) string { return w.order(first, fmt.Sprintf(format, id)) }
	nobody, nothing := secondApp+":ou_nobody", uuid.NewString()
	const noTurn = 987654
	for what, do := range map[string]func(real bool) string{
		"allow":  func(real bool) string { return press(actionOf(approval.DoAllow, real, asked, nothing)) },
		"refuse": func(real bool) string { return press(actionOf(approval.DoRefuse, real, asked, nothing)) },
		"let in": func(real bool) string {
			return press(chat.Action{Do: access.DoLetIn, ID: either(real, stranger, nobody)})
		},
		"turn away": func(real bool) string {
			return press(chat.Action{Do: access.DoTurnAway, ID: either(real, stranger, nobody)})
		},
		"stop": func(real bool) string {
			return press(chat.Action{Do: turncard.DoStop, Turn: either(real, runs.Turn.ID, noTurn)})
		},
		"go on": func(real bool) string {
			return press(chat.Action{Do: turncard.DoGoOn, Turn: either(real, over.Turn.ID, noTurn)})
		},
		"continue": func(real bool) string {
			return press(chat.Action{Do: turncard.DoContinue, Turn: either(real, runs.Turn.ID, noTurn)})
		},
		"drop": func(real bool) string {
			return press(chat.Action{Do: turncard.DoDrop, Turn: either(real, runs.Turn.ID, noTurn)})
		},
		"ask again": func(real bool) string {
			return press(chat.Action{Do: turncard.DoAskAgain, Turn: either(real, over.Turn.ID, noTurn)})
		},
		"suggestion": func(real bool) string {
			return press(chat.Action{Do: turncard.DoAsk, Turn: either(real, over.Turn.ID, noTurn), ID: "?"})
		},
		"resume": func(real bool) string { return order("/resume %s", either(real, session.Session.ID, nothing)) },
		"memory": func(real bool) string { return order("/memory show %s", either(real, kept[0].ID, nothing)) },
		"forget": func(real bool) string { return order("/memory forget %s", either(real, kept[0].ID, nothing)) },
		"grant":  func(real bool) string { return order("/admin users allow %s", either(real, stranger, nobody)) },
		"revoke": func(real bool) string { return order("/admin users revoke %s", either(real, stranger, nobody)) },
		"chat": func(real bool) string {
			return order("/admin chats allow %s", either(real, other.String(), secondApp+":chat:oc_none"))
		},
	} {
		var said [2]string
		trips := [2]int64{}
		for round := range 12 { // the statements are prepared in the first, and on each new connection
			i := round % 2
			before := proxy.Trips()
			said[i] = do(i == 0)
			if n := proxy.Trips() - before; trips[i] == 0 || n < trips[i] {
				trips[i] = n
			}
		}
		if said[0] != said[1] || trips[0] != trips[1] || said[0] == "" {
			t.Errorf("%s: of another app %q after %d trips, of nothing %q after %d", what, said[0], trips[0], said[1], trips[1])
		}
		t.Logf("%-10s %2d trips: %s", what, trips[0], said[0])
	}
	if g, err := store.Access().Grant(w.ctx, stranger); err != nil || !g.Decided.IsZero() {
		t.Errorf("somebody of another app has decided about a stranger: %+v, %v", g, err)
	}
	if a, err := store.Access().Approval(w.ctx, asked.ID); err != nil || a.State != convo.Waiting {
		t.Errorf("somebody of another app has decided: %+v, %v", a, err)
	}
}

func either[T any](real bool, a, b T) T {
	if real {
		return a
	}
	return b
}

// actionOf is the action of a button of an approval, or of one that does not exist.
func actionOf(do string, real bool, a db.Approval, nothing string) chat.Action {
	if !real {
		a.ID, a.Turn = nothing, 987654
	}
	return chat.Action{Do: do, Turn: a.Turn, ID: cmp.Or(approval.ActionID(a), a.ID)}
}
