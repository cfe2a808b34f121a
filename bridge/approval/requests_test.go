package approval

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// asking is Requests on a real database, with an agent that has asked for a command.
type asking struct {
	*testing.T
	as        *Requests
	store     *db.DB
	approval  db.Approval
	decisions chan claude.Decision
	outbox    *delivery.Outbox
	gone      bool // the agent no longer accepts answers
}

func (a *asking) must(err error) {
	a.Helper()
	must(a, err)
}

func newAsking(t *testing.T, patience time.Duration) *asking {
	t.Helper()
	return askingOn(t, patience, &deliverytest.Recorder{})
}

// english is the language of all chats.
func english(context.Context, chat.Key) i18n.Lang { return i18n.English }

// askingOn is an asking with another messenger.
func askingOn(t *testing.T, patience time.Duration, out delivery.Messenger) *asking {
	t.Helper()
	store := dbtest.New(t)
	key := chat.FeishuChat("oc_1")
	m := chat.Incoming{Key: key, ID: "om_1", Text: "go", Actor: asker}
	_, err := store.Messages().Accept(t.Context(), db.Inbound{Incoming: m, Class: chat.Talk})
	must(t, err)
	claim, err := store.Turns().Claim(t.Context(), key, db.Start{Session: "s", Prompt: "p", Resume: true})
	must(t, err)
	rules := access.Config{Allow: []string{"*"}}
	rules.ApprovalTimeout.Duration = patience
	a := &asking{T: t, store: store, decisions: make(chan claude.Decision, 10)}
	a.outbox = delivery.NewOutbox(store, out, delivery.Spool{}, english, zerolog.Nop())
	who := access.NewAuthorizer(rules, store.Access(), nil, 0, zerolog.Nop())
	a.as = NewRequests(Config{Language: english, Interrupted: nothingInterrupted{}}, store, a.outbox, who, zerolog.Nop())
	input := json.RawMessage(`{"command": "make",  "description": "x"}`)
	ask := claude.ToolAsk{ID: "r1", Use: "t1", Name: "Bash", Input: input}
	a.as.RequestDecision(t.Context(), claim, Workspace{Dir: "/p"}, ask, func(v claude.Decision) bool {
		if !a.gone {
			a.decisions <- v
		}
		return !a.gone
	})
	list, err := store.Access().OpenApprovals(t.Context(), claim.Turn.Key)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	a.approval = list[0]
	return a
}

// nothingInterrupted is an InterruptedTurns without any turns.
type nothingInterrupted struct{}

func (nothingInterrupted) AwaitRecovery(context.Context, chat.Key) error { return nil }

func (nothingInterrupted) ContinuedCard(context.Context, chat.Key, int64, i18n.Lang) (chat.Card, error) {
	return chat.Card{}, nil
}

func (nothingInterrupted) AskNoMore(context.Context, db.Approval, i18n.Lang) error {
	return db.ErrNotFound
}

func (nothingInterrupted) Wake(chat.Key) {}

// lateRecovery is an InterruptedTurns whose turns are recovered after a while.
type lateRecovery struct {
	nothingInterrupted
	after time.Duration
}

func (r lateRecovery) AwaitRecovery(ctx context.Context, _ chat.Key) error {
	select {
	case <-time.After(r.after):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A press right after a restart waits for the recovery of the previous run, but not until the platform gives up.
func TestAPressWaitsForTheRecovery(t *testing.T) {
	for after, want := range map[time.Duration]error{
		1900 * time.Millisecond: nil, 2100 * time.Millisecond: context.DeadlineExceeded,
	} {
		synctest.Test(t, func(t *testing.T) {
			rs := &Requests{interrupted: lateRecovery{after: after}}
			if got := rs.awaitRecovery(t.Context(), chat.Key{}); !errors.Is(got, want) {
				t.Errorf("after %v: %v", after, got)
			}
		})
	}
}

// work stores decisions until the test ends.
func (a *asking) work() {
	stop, done, jobs := make(chan struct{}), make(chan struct{}), a.as.jobs // [asking.restart] replaces as
	go func() {
		defer close(done)
		jobs.Run(context.WithoutCancel(a.Context()), stop)
	}()
	a.Cleanup(func() { close(stop); <-done })
}

func (a *asking) press(event, do string) string {
	a.Helper()
	toast, err := a.as.Press(a.Context(), chat.Press{
		ID: event, Key: a.approval.Key, Actor: asker,
		Action: chat.Action{Do: do, Turn: a.approval.Turn, ID: ActionID(a.approval)},
	}, i18n.English)
	if err != nil {
		a.Error(err)
	}
	return toast
}

func (a *asking) decision() claude.Decision {
	a.Helper()
	select {
	case v := <-a.decisions:
		return v
	case <-time.After(time.Minute):
		a.Fatal("the agent got no answer")
		return claude.Decision{}
	}
}

func (a *asking) state() convo.Verdict {
	a.Helper()
	got, err := a.store.Access().Approval(a.Context(), a.approval.ID)
	a.must(err)
	return got.State
}

// becomes waits until the approval has a state.
func (a *asking) becomes(want convo.Verdict) {
	a.Helper()
	deliverytest.Until(a, "the state "+string(want), func() bool { return a.state() == want })
}

// hider is a platform that refuses the agent's requests.
type hider struct {
	deliverytest.Recorder
	post, close error
}

func (h *hider) hides(c chat.Card) bool { return strings.Contains(c.Body, "make") }

func (h *hider) Post(ctx context.Context, to chat.Ref, c chat.Card, idem string) (string, error) {
	if id, err := h.Recorder.Post(ctx, to, c, idem); !h.hides(c) || h.post == nil {
		return id, err
	}
	return "", h.post
}

func (h *hider) Close(ctx context.Context, id string, c chat.Card) error {
	if h.hides(c) && h.close != nil {
		return h.close
	}
	return h.Recorder.Close(ctx, id, c)
}

// A request that cannot be shown cannot be decided: it is refused at once, and no card has buttons to allow it.
func TestTheAgentDoesNotWaitForACardThatCannotBeShown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ post, close error }{
		"words that are not allowed":      {post: chat.ErrRefused},
		"words that are seen to be wrong": {close: chat.ErrRefused},
		"the question was taken back":     {post: chat.ErrGone},
		"the chat is closed":              {post: chat.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			out := &hider{post: tc.post, close: tc.close}
			a := askingOn(t, time.Hour, out)
			stop := make(chan struct{})
			close(stop)
			a.outbox.Run(t.Context(), stop) // the request, and its outcome
			if v := a.decision(); v.Allow || v.Why != notAsked {
				t.Errorf("decision %+v", v)
			}
			_, err := a.store.Outbox().Next(t.Context(), a.approval.Key)
			if !errors.Is(err, db.ErrNotFound) || a.state() != convo.Withdrawn {
				t.Errorf("it is %s, and not everything was delivered: %v", a.state(), err)
			}
			if list := out.Closed; len(list) != 1 || list[0].Body != i18n.Withheld.EN || len(list[0].Buttons) != 0 {
				t.Errorf("shown %+v", list)
			}
			if got := a.press("ev_1", DoAllow); got != i18n.ApprovalOver.EN {
				t.Errorf("a press told %q", got)
			}
		})
	}
}

// A press is answered within a second, however long it takes to store the decision. The agent continues only once it
// is stored.
func TestAPressIsAnsweredBeforeItIsStored(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	if got := a.press("ev_1", DoAllow); got != i18n.ApprovalNoted.EN {
		t.Errorf("told %q", got)
	}
	if soon >= time.Second {
		t.Errorf("a press waits %v for its decision", soon)
	}
	if len(a.decisions) != 0 || a.state() != convo.Waiting {
		t.Fatal("the agent continues before the decision is stored")
	}
	a.press("ev_1", DoAllow) // delivered again
	a.work()
	if v := a.decision(); !v.Allow || string(v.Input) != `{"command": "make",  "description": "x"}` {
		t.Errorf("decision %+v", v)
	}
	if got := a.press("ev_2", DoRefuse); got != i18n.ApprovalOver.EN {
		t.Errorf("afterwards told %q", got)
	}
	if len(a.decisions) != 0 || a.state() != convo.Allowed {
		t.Errorf("%d more decisions, state %s", len(a.decisions), a.state())
	}
}

// A tool that was allowed just when its turn ended did not run, and its card says so.
func TestAnApprovalThatCameTooLate(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	a.work()
	a.gone = true
	a.press("ev_1", DoAlways)
	a.becomes(convo.Withdrawn) // the press does not wait long for it
	if a.approval.Always == nil {
		t.Fatal("the request offers no rule for always")
	}
	if rules, err := a.store.Access().Rules(t.Context(), a.approval.Key); err != nil || len(rules) != 0 {
		t.Errorf("rules: %+v, %v", rules, err)
	}
	var last db.Post
	for {
		p, err := a.store.Outbox().Next(t.Context(), a.approval.Key)
		if errors.Is(err, db.ErrNotFound) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		last = p
		must(t, a.store.Outbox().MarkDelivered(t.Context(), p, ""))
	}
	if last.Card == nil || !strings.Contains(last.Card.Status, "not run") {
		t.Errorf("the card says %+v", last.Card)
	}
}

func TestAnApprovalExpires(t *testing.T) {
	t.Parallel()
	a := newAsking(t, 50*time.Millisecond)
	a.work()
	if v := a.decision(); v.Allow || v.Why != notDecided || a.state() != convo.Expired {
		t.Errorf("%+v, %s", v, a.state())
	}
	if got := a.press("ev_1", DoAllow); got != i18n.ApprovalOver.EN || len(a.decisions) != 0 {
		t.Errorf("told %q", got)
	}
}

// A turn that ends leaves no open approvals unless it was interrupted, and its agent gets no answer.
func TestATurnLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	for end, want := range map[convo.Phase]convo.Verdict{
		convo.Cancelled: convo.Withdrawn, convo.Failed: convo.Withdrawn, convo.Interrupted: convo.Waiting, convo.Queued: convo.Waiting,
	} {
		a := newAsking(t, time.Hour)
		turn := db.Turn{ID: a.approval.Turn, Key: a.approval.Key}
		a.as.EndTurn(t.Context(), db.Turn{ID: turn.ID + 1, Key: turn.Key}, end)
		if a.state() != convo.Waiting {
			t.Error("the end of another turn settled it")
		}
		a.as.EndTurn(t.Context(), turn, end)
		_, open := a.as.open.get(a.approval.ID)
		if got := a.state(); got != want || len(a.decisions) != 0 || open != (want == convo.Waiting) ||
			a.as.open.hasAgent(a.approval.ID) {
			t.Errorf("%s: state %s, %d decisions", end, got, len(a.decisions))
		}
	}
}

// If the request cannot be stored, nobody can decide: the tool is refused.
func TestAQuestionThatCannotBeStored(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	must(t, a.store.Close())
	claim := db.Claim{Turn: db.Turn{ID: a.approval.Turn, Key: a.approval.Key}}
	var got claude.Decision
	ask := claude.ToolAsk{Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)}
	a.as.RequestDecision(t.Context(), claim, Workspace{Dir: "/p"}, ask, func(v claude.Decision) bool {
		got = v
		return true
	})
	if got.Allow || got.Why != notAsked {
		t.Errorf("decision %+v", got)
	}
}

// In a read-only project nobody can allow a tool, not even by approving a plan. Questions are asked.
func TestAReadOnlyProject(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	claim := db.Claim{Turn: db.Turn{ID: a.approval.Turn, Key: a.approval.Key}}
	input := json.RawMessage(`{"plan":"x","command":"x","file_path":"x","questions":[{"question":"a"}]}`)
	for w, want := range map[Workspace]map[string]bool{
		{Dir: "/p", ReadOnly: true}: {claude.PlanTool: false, "Bash": false, "Write": false, claude.QuestionTool: true},
		{Dir: "/p"}:                 {claude.PlanTool: true, "Bash": true},
	} {
		for tool, asked := range want {
			var decisions []claude.Decision
			q := claude.ToolAsk{Name: tool, Input: input}
			waits := a.as.RequestDecision(t.Context(), claim, w, q, func(v claude.Decision) bool {
				decisions = append(decisions, v)
				return true
			})
			refused := len(decisions) == 1 && !decisions[0].Allow && decisions[0].Why == lookOnly
			if waits != asked || !asked && !refused {
				t.Errorf("%s in %+v: waits %v, %+v", tool, w, waits, decisions)
			}
		}
	}
}

// By default people have half an hour to decide, and the card says so.
func TestPeopleHaveHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, 0)
		a.work()
		got, patience := Card(a.approval, i18n.Chinese).Footer, a.approval.Expires.Sub(a.approval.Created)
		if patience != 30*time.Minute || !strings.HasPrefix(got, "30 分钟内有效") {
			t.Errorf("until %v, the card says %q", a.approval.Expires, got)
		}
		time.Sleep(30*time.Minute - time.Millisecond)
		synctest.Wait()
		if got := a.state(); got != convo.Waiting {
			t.Errorf("before the timeout it is %s", got)
		}
		time.Sleep(time.Millisecond)
		if v := a.decision(); v.Allow || v.Why != notDecided || a.state() != convo.Expired {
			t.Errorf("the answer is %+v, the state %s", v, a.state())
		}
	})
}

// cards takes the cards that are to be shown out of the outbox.
func (a *asking) cards() (list []chat.Card) {
	a.Helper()
	for _, p := range a.posts() {
		list = append(list, *p.Card)
	}
	return list
}

// The field for a reason comes on request, once, and the approval stays open: it can be decided in any way meanwhile.
func TestTheFieldForAReasonComesOnRequest(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]struct {
		do     string
		values map[string][]string
		want   convo.Verdict
	}{
		"a reason": {DoRefuse, map[string][]string{whyField: {"test first"}}, convo.Denied},
		"none":     {DoRefuse, nil, convo.Denied}, "allowed meanwhile": {DoAllow, nil, convo.Allowed},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsking(t, time.Hour)
			a.work()
			if list := a.cards(); len(list) != 1 || list[0].Form != nil {
				t.Fatalf("at first shown %+v", list)
			}
			if got := a.press("ev_1", DoExplain); got != i18n.ApprovalWhyBelow.EN {
				t.Errorf("told %q", got)
			}
			list := a.cards()
			for _, event := range []string{"ev_1", "ev_2"} { // another card would clear what is being written
				if got := a.press(event, DoExplain); got != i18n.ApprovalWhyBelow.EN || len(a.cards()) != 0 {
					t.Errorf("told %q", got)
				}
			}
			if len(list) != 1 || list[0].Form == nil || list[0].Form.Fields[0].Name != whyField ||
				len(list[0].Buttons) != 3 {
				t.Fatalf("shown %+v", list)
			}
			if len(a.decisions) != 0 || a.state() != convo.Waiting {
				t.Fatalf("it is %s", a.state())
			}
			_, err := a.as.Press(t.Context(), chat.Press{
				ID: "ev_3", Key: a.approval.Key, Actor: asker, Values: decide.values,
				Action: chat.Action{Do: decide.do, Turn: a.approval.Turn, ID: ActionID(a.approval)},
			}, i18n.English)
			v := a.decision()
			if err != nil || v.Allow != (decide.want == convo.Allowed) || a.state() != decide.want ||
				strings.Contains(v.Why, "test first") != (decide.values != nil) {
				t.Errorf("decision %+v, it is %s, %v", v, a.state(), err)
			}
			if got := a.press("ev_4", DoExplain); got != i18n.ApprovalOver.EN {
				t.Errorf("afterwards told %q", got)
			}
			if list := a.cards(); len(list) != 1 || list[0].Form != nil || len(list[0].Buttons) != 0 {
				t.Errorf("in the end shown %+v", list)
			}
		})
	}
}

// Whoever may refuse may also say why; and nobody else changes the card.
func TestWhoGetsTheFieldForAReason(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	a.work()
	a.cards()
	press := func(who chat.Actor) string {
		toast, err := a.as.Press(t.Context(), chat.Press{
			ID: "ev_" + who.ID, Key: a.approval.Key, Actor: who,
			Action: chat.Action{Do: DoExplain, Turn: a.approval.Turn, ID: ActionID(a.approval)},
		}, i18n.English)
		if err != nil {
			t.Error(err)
		}
		return toast
	}
	if got := press(chat.Actor{ID: "ou_other"}); got != i18n.ApprovalNotYours.EN || len(a.cards()) != 0 {
		t.Errorf("somebody else got %q", got)
	}
	a.as.open.change(a.approval.ID, func(p *pending) bool { p.admins = true; return true })
	if got := press(asker); got != i18n.ApprovalWhyBelow.EN {
		t.Errorf("the asker got %q", got)
	}
	if list := a.cards(); len(list) != 1 || !strings.Contains(list[0].Footer, i18n.AdminsAllow.EN) {
		t.Errorf("shown %+v", list)
	}
}

// What could not be stored is tried again with the next press.
func TestTheFieldForAReasonIsTriedAgain(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	a.work()
	must(t, a.store.Close())
	for range 2 {
		if _, err := a.as.askReason(t.Context(), a.approval, i18n.English); err == nil {
			t.Error("nothing was stored, and no error was shown")
		}
	}
}
