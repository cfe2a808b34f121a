package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// abandonedTurn is a turn claimed by a process that is dead.
func (l *bridgeRig) abandonedTurn(id, text string) (transcript string) {
	l.Helper()
	l.say(id, text)
	transcript, err := l.config.Transcripts("").Path(l.config.Project, l.claim(room).Turn.Session)
	l.must(err)
	return transcript
}

// If a transcript cannot be read, the agent may have used tools.
func TestATurnWhoseTranscriptCannotBeReadIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.must(os.MkdirAll(l.abandonedTurn("om_1", "hello"), 0o700)) // a folder cannot be read
	l.start()
	l.turnsOver()
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'interrupted' AND attempts = 1`); n != 1 {
		t.Error("the turn was begun again")
	}
}

// Text after a decision is in a message of its own. It stays there after a crash, and after the next decision.
func TestTheMessagesOfAnAnswerStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	left := l.left()
	l.must(l.store.Turns().SetDraft(t.Context(), left.ID, "I will run it.", "It has run."))
	l.start()
	seen := func(cards int) {
		t.Helper()
		var closed []chat.Card
		l.until("the card", func() bool {
			_, closed, _ = l.rec.SoFar()
			return len(closed) == cards
		})
		c := closed[cards-1]
		if len(c.Earlier) != 1 || c.Earlier[0].Body != "I will run it." || c.Body != "It has run." {
			t.Errorf("card %d shows %+v above %q", cards, c.Earlier, c.Body)
		}
	}
	seen(1)
	_, err := l.bridge.HandlePress(t.Context(), pressed("press", turncard.DoDrop, left.ID))
	l.must(err)
	seen(2)
}

// refusedStates lets the states of turns not be stored.
var refusedStates = dbtest.Trigger{Name: "broken", On: "BEFORE UPDATE OF state ON turns", If: "NEW.state <> OLD.state"}

// If a tool use cannot be recorded because the database fails, it is recorded later.
func TestTheUseOfAToolIsRecordedAtTheEnd(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	turn := l.turnOf(db.Claim{Turn: l.left()})
	turn.painter = turncard.NewPainter(nil, turncard.Target{}, turncard.State{})
	broken := dbtest.Trigger{Name: "broken", On: "BEFORE UPDATE OF acted ON turns", If: "NEW.acted <> OLD.acted"}
	l.sql(broken.Create())
	l.handle(t.Context(), turn, claude.ToolCall{})
	l.sql(broken.Drop())
	l.handle(t.Context(), turn, claude.ToolResult{})
	if n := l.count(`SELECT acted FROM turns`); n != 1 {
		t.Error("after a crash the tool would be used again")
	}
}

// A full disk at startup does not keep the program from running: recovery happens as soon as it can.
func TestRecoveryWaitsForTheStore(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	l.sql(refusedStates.Create())
	l.start()
	l.until("a try", func() bool { return strings.Contains(l.logs.String(), "turn was cut off") })
	l.sql(refusedStates.Drop())
	l.ended(convo.Done, 1)
}

// The usage of an interrupted agent is booked to its asker.
func TestWhatACutOffTurnUsedIsBooked(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	path := l.abandonedTurn("om_1", "hello")
	l.must(l.store.Access().Book(t.Context(),
		db.Expense{Key: room, Purpose: "test", Usage: db.Usage{Model: "m", Input: 100, CostUSD: 1}}))
	l.append(path, l.left().Prompt, message("tool_use",
		`{"type":"tool_use","id":"t1","name":"Bash","input":{}}`))
	l.start()
	l.ended(convo.Interrupted, 1)
	if n := l.count(`SELECT COUNT(*) FROM ledger WHERE user_id = 'ou_1' AND tokens = 10
		AND cost_usd BETWEEN 0.099 AND 0.101`); n != 1 {
		t.Error("it cost nothing")
	}
}

// The program died when it had just posted the card, and was away for longer than the platform knows its key.
func TestACardThatMayHaveBeenPostedLongAgoIsLookedFor(t *testing.T) {
	t.Parallel()
	out := &deliverytest.Recorder{Found: []chat.Sent{{ID: "om_card", Card: "om_card/1"}}}
	l := newBridgeRig(t, out)
	l.abandonedTurn("om_1", "hello")
	l.sql(`UPDATE turns SET created_at = created_at - 7200000`)
	l.start()
	l.ended(convo.Done, 1)
	l.sent()
	if _, _, posts := out.SoFar(); posts != 0 ||
		l.count(`SELECT COUNT(*) FROM turns WHERE card_id = 'om_card/1'`) != 1 {
		t.Errorf("%d cards were posted", posts)
	}
}

// A user who sees that a card has stopped may write "continue" before the program has found the interrupted turn.
func TestContinueWaitsForRecovery(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	l.sql(`UPDATE turns SET draft = 'half', acted = 1`)
	var said sync.WaitGroup
	said.Go(func() {
		if err := l.bridge.HandleMessage(t.Context(), incoming("om_2", "continue")); err != nil {
			t.Error(err)
		}
	})
	l.start()
	said.Wait()
	l.ended(convo.Done, 1)
	if n := l.count(`SELECT continues FROM turns WHERE state = 'done'`); n != 1 {
		t.Error("it was taken for a question of its own")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := newRig(t).bridge.HandleMessage(ctx, incoming("om_3", "continue"))
	if !errors.Is(err,
		context.Canceled) {
		t.Errorf("before the bridge runs: %v", err)
	}
}

// stopBy stops the only turn by a command, by a bare word, or by the button that its card has.
func (l *bridgeRig) stopBy(how string) {
	l.Helper()
	if how != "the button" {
		l.say("om_2", how)
		return
	}
	got, err := l.bridge.HandlePress(l.Context(), pressed("ev_1", turncard.DoStop, 1))
	if got != i18n.StopAsked.EN || err != nil {
		l.Errorf("told %q, %v", got, err)
	}
}

// isStopped waits for the end of the only turn, which must have been stopped before an agent was started.
func (l *bridgeRig) isStopped(how string) {
	l.Helper()
	l.turnsOver()
	l.sent()
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'cancelled'`); n != 1 {
		l.Error("it was not stopped")
	}
	if n := l.count(`SELECT COUNT(*) FROM turns`); n != 1 {
		l.Errorf("%d turns", n)
	}
	if n := l.pool.Stats().Started; n != 0 {
		l.Errorf("%d agents were started", n)
	}
	if texts, _, _ := l.rec.SoFar(); how != "the button" && !slices.Equal(texts, []string{i18n.Stopped.EN}) {
		l.Errorf("said %q", texts)
	}
}

// Somebody stops an answer whose program has died, before the next run has decided about it.
func TestAStopDuringTheRecovery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ how, left string }{
		{"/stop", ""}, {"stop", ""}, {"the button", ""},
		{"/stop", "draft = 'half'"}, {"stop", "draft = 'half'"}, {"the button", "draft = 'half'"},
		{"/stop", "follows = id, started_at = 0"}, {"stop", "follows = id, started_at = 0"}, // background work goes on
	} {
		t.Run(tc.how+" "+tc.left, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			l.abandonedTurn("om_1", "hello")
			if tc.left != "" {
				l.sql(`UPDATE turns SET ` + tc.left)
			}
			l.sql(refusedStates.Create())
			l.start()
			l.until("a try", func() bool {
				return strings.Contains(l.logs.String(), "chat not recovered; trying again")
			})
			l.stopBy(tc.how)
			l.sql(refusedStates.Drop())
			l.isStopped(tc.how)
		})
	}
}

// Somebody stops a turn that is claimed in the database while its lane does not know of it yet.
func TestAStopRightAfterTheClaim(t *testing.T) {
	t.Parallel()
	stopEachWay(t, func(l *bridgeRig) {
		l.open()
		l.say("om_1", "hello")
		l.endTurn(room) // as before the claim was noted
	})
}

// stopEachWay has somebody stop the turn that begin has left, in each way that there is, and runs the queues until it
// has ended as stopped.
func stopEachWay(t *testing.T, begin func(*bridgeRig)) {
	for _, how := range []string{"/stop", "stop", "the button"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			begin(l)
			l.stopBy(how)
			l.endsStopped(how)
		})
	}
}

// endsStopped runs the queues until the turn has ended as stopped.
func (l *bridgeRig) endsStopped(how string) {
	l.Helper()
	ctx, stop := context.WithCancel(l.Context())
	var running sync.WaitGroup
	running.Go(func() { l.work(ctx) })
	l.isStopped(how)
	stop()
	running.Wait()
}

// A turn of the previous process that is put back, and has not begun again yet, is stopped by a bare word, too.
func TestAStopRightAfterTheRecovery(t *testing.T) {
	t.Parallel()
	stopEachWay(t, func(l *bridgeRig) {
		l.abandonedTurn("om_1", "hello")
		l.must(l.recover(l.Context()))
	})
}

// A turn that waited counts as running once it is claimed, so that it can be stopped before it begins.
func TestATurnRunsOnceItIsClaimed(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.say("om_1", "hello")
	q, running := l.queue(), make(chan int64, 1)
	q.run = func(_ context.Context, c db.Claim) { running <- q.busy.running(c.Turn.Key) }
	l.start()
	if got := <-running; got != 1 {
		t.Errorf("turn %d runs", got)
	}
}

// A chat changed its project while its agent worked, and the program died when the agent had finished. The answer is
// given and booked, and its session is known to be where the agent was.
func TestWhatAnAgentDidInAnotherProjectIsRecovered(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.remake(func(c *Config) { c.Projects.Named = map[string]workplace.Project{"other": {Path: t.TempDir()}} })
	path := l.abandonedTurn("om_1", "hello")
	l.append(path, l.left().Prompt, message("end_turn", `{"type":"text","text":"done"}`))
	l.say("om_2", "/cd other")
	l.forget()
	l.start()
	l.turnsOver()
	if n := l.count(`SELECT COUNT(*) FROM turns t JOIN ledger l ON l.turn_id = t.id WHERE state = 'done'
		AND tokens = 10`); n != 1 {
		t.Error("the answer is lost, or not booked")
	}
	if c := l.chat(); c.Session.Cwd != realPath(l.config.Project) || c.Settings.Project != "other" {
		t.Errorf("the session is taken to be in %s", c.Session.Cwd)
	}
}

// A turn that was stopped, and whose program died before it had ended, is over: it is neither begun again nor
// interrupted.
func TestAStoppedTurnIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ draft, body, status string }{
		"before it did anything": {"", i18n.Stopped.EN, ""}, "in the middle": {"half", "half", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newRig(t)
			l.abandonedTurn("om_1", "hello")
			l.sql(`UPDATE turns SET card_id = 'card', draft = '` + tc.draft + `'`)
			l.enter(room) // as the process that died
			l.beginTurn(room, 1, func(error) {})
			l.say("om_2", "/stop")
			l.forget()
			l.start()
			l.ended(convo.Cancelled, 1)
			l.sent()
			if n := l.pool.Stats().Started; n != 0 {
				t.Errorf("%d agents were started", n)
			}
			_, closed, _ := l.rec.SoFar()
			if len(closed) != 1 || closed[0].Body != tc.body || closed[0].Status != tc.status ||
				closed[0].Title != i18n.Stopped.EN {
				t.Errorf("shown: %+v", closed)
			}
		})
	}
}

// Also when the program has died meanwhile, the card of a question that was taken back says so, and offers nothing.
// What people have asked with it still stands: then the turn was stopped, and can go on.
func TestATurnWhoseQuestionWasTakenBackIsNotOffered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status  string
		buttons int
	}{"alone": {i18n.Recalled.EN, 0}, "one of two": {"", 1}} {
		t.Run(name, func(t *testing.T) {
			l := newRig(t)
			if name == "one of two" {
				l.say("om_0", "hello there")
			}
			l.abandonedTurn("om_1", "hello")
			l.sql(`UPDATE turns SET card_id = 'card', draft = 'half', acted = 1`)
			l.must(l.bridge.HandleRecall(t.Context(), room, "om_1"))
			l.forget()
			l.start()
			l.ended(convo.Cancelled, 1)
			l.sent()
			_, closed, _ := l.rec.SoFar()
			if len(closed) != 1 || closed[0].Body != "half" || closed[0].Status != tc.status ||
				closed[0].Title != i18n.Stopped.EN || len(closed[0].Buttons) != tc.buttons {
				t.Errorf("shown: %+v", closed)
			}
		})
	}
}

// A turn that was stopped before it began is over after a crash. The next message is asked alone.
func TestAStoppedTurnDoesNotBeginAfterADeath(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.open() // as in the process that died
	l.say("om_1", "hello")
	l.say("om_2", "/stop")
	l.forget()
	l.say("om_3", "hello again")
	l.start()
	l.until("both ends", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state IN ('cancelled', 'done')`) == 2
	})
	if n := l.count(`SELECT COUNT(*) FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.message_id = 'om_3'
		AND t.state = 'done'`); n != 1 {
		t.Error("what was said after the stop is stopped, too")
	}
}

// All stopped waiting turns stay stopped after a crash, including those from before /new, and the next message is
// asked.
func TestAllThatWaitedStaysStoppedAfterADeath(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.open() // as in the process that died
	l.takePlaces()
	for i, text := range []string{"hello", "/new", "hello again", "/stop", "one more"} {
		l.say(fmt.Sprintf("om_%d", i+1), text)
	}
	l.forget()
	l.start()
	l.until("all ends", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state IN ('cancelled', 'done')`) == 3
	})
	if n := l.count(`SELECT COUNT(*) FROM messages m JOIN turns t ON t.id = m.turn_id
		WHERE (m.message_id = 'om_5') = (t.state = 'done') AND m.role = 'user'`); n != 3 {
		t.Errorf("%d of 3 questions ended as they should", n)
	}
}

// The shown part of a dead process's answer is shown unchanged, and stored like any other answer.
func TestARecoveredAnswerIsStoredRedacted(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.remake(func(c *Config) { c.Redact = redact.All() })
	l.abandonedTurn("om_1", "hello, I am bob@example.com")
	l.sql(`UPDATE turns SET draft = 'Mail to bob@example.com', card_id = 'card', acted = 1`)
	l.start()
	l.ended(convo.Interrupted, 1)
	l.sent()
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE content IN ('hello, I am [REDACTED_EMAIL]',
		'Mail to [REDACTED_EMAIL]')`); n != 2 {
		t.Errorf("%d messages are redacted, want the question and the answer", n)
	}
	if _, closed, _ := l.rec.SoFar(); len(closed) != 1 || closed[0].Body != "Mail to bob@example.com" {
		t.Errorf("shown: %+v", closed)
	}
}

// A turn that was cut off goes on by itself if its tools have only read, and is left to people if one may have changed
// something.
func TestWhatOnlyReadGoesOnByItself(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, input, state string
		acted              int
	}{
		"a file":             {"Read", `{"file_path":"a"}`, "done", 0},
		"a command":          {"Bash", `{"command":"ls -l | wc -l"}`, "done", 0},
		"changed":            {"Bash", `{"command":"touch a"}`, "interrupted", 0},
		"announced only":     {"Read", `{"file_path":"a"}`, "interrupted", 1},
		"a tool of a server": {"mcp__x__read", `{}`, "interrupted", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			path := l.abandonedTurn("om_1", "hello")
			l.append(path, l.left().Prompt, message("tool_use", `{"type":"text","text":"Let me see."}`,
				`{"type":"tool_use","id":"t1","name":"`+tc.tool+`","input":`+tc.input+`}`))
			l.sql(fmt.Sprintf(`UPDATE turns SET draft = 'Let me', acted = %d`, tc.acted))
			l.start()
			l.turnsOver()
			if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = '` + tc.state + `'`); n != 1 {
				t.Errorf("not %s", tc.state)
			}
		})
	}
}

// What is stored of a turn's tools is whether one may change something, or may have.
func TestEffectsOfTools(t *testing.T) {
	var e effects
	for i, step := range []struct {
		use       string
		mayChange bool
		want      bool
	}{{"a", false, false}, {"b", true, true}, {"b", false, false}, {"c", true, true}, {"d", false, true}, {"c", false, false}} {
		if e.set(step.use, step.mayChange); e.any() != step.want {
			t.Errorf("after step %d: %v", i, e.any())
		}
	}
}

// elsewhere is a chat in which an earlier process has left nothing.
var elsewhere = chat.FeishuChat("oc_2")

// sayIn is say in another chat.
func (l *bridgeRig) sayIn(key chat.Key, id, text string) {
	l.Helper()
	m := incoming(id, text)
	m.Key = key
	l.receive(m)
}

// isAnswered waits for the answers to these messages.
func (l *bridgeRig) isAnswered(ids ...string) {
	l.Helper()
	for _, id := range ids {
		l.until("the answer to "+id, func() bool {
			return l.count(`SELECT COUNT(*) FROM turns t JOIN messages m ON m.turn_id = t.id
				WHERE m.message_id = '`+id+`' AND t.state = 'done'`) == 1
		})
	}
}

// The store refuses what one chat has left, for a while: the others answer, also to what asks an interrupted turn to go
// on, and to commands that wait for the recovery. What is said there meanwhile waits, and is answered then.
func TestNoChatWaitsForTheRecoveryOfAnother(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	broken := refusedStates
	broken.If += " AND NEW.chat_key = '" + room.String() + "'"
	l.sql(broken.Create())
	l.start()
	l.say("om_2", "what else?")
	for id, text := range map[string]string{"om_3": "hello", "om_4": "continue"} {
		l.sayIn(elsewhere, id, text)
		l.isAnswered(id)
	}
	l.sayIn(elsewhere, "om_5", "/retry")
	l.until("the second answer to it", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE chat_key = '`+elsewhere.String()+`' AND state = 'done'`) == 3
	})
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE chat_key = '` + room.String() + `' AND state IN ('queued', 'running')`); n != 2 {
		t.Errorf("%d turns wait where the store refuses", n)
	}
	l.sql(broken.Drop())
	l.isAnswered("om_1", "om_2")
}

// What an earlier process has left, and nobody can read any more, ends where people see it, and is counted and paid like
// any other turn. Neither its chat nor another one waits for it.
func TestATurnThatCannotBeRecoveredEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		damage, repair string
		state          convo.Phase
		body           string
		reaction       chat.Reaction
	}{
		"its messages": {"UPDATE turns SET draft = 'half', part_ends = '{', acted = 1", "", convo.Interrupted, "half", chat.NoReaction},
		"its chat": {"UPDATE chats SET settings = 'x'", "UPDATE chats SET settings = '{}'", convo.Failed,
			i18n.FailUnknown.ZH, chat.Failed}, // its language is not known
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			counted := make(chan TurnEnd, 3)
			l.remake(func(cfg *Config) { cfg.OnTurnEnd = func(e TurnEnd) { counted <- e } })
			path := l.abandonedTurn("om_1", "hello")
			l.append(path, l.left().Prompt, message("tool_use", `{"type":"text","text":"half"}`,
				`{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"touch a"}}`))
			l.sql(tc.damage)
			l.start()
			l.ended(tc.state, 1)
			if u := (<-counted).Usage; u == nil || u.Output != 3 {
				t.Errorf("counted: %+v", u)
			}
			l.until("the last reaction", func() bool { return l.rec.Reaction("om_1") == tc.reaction })
			l.sayIn(elsewhere, "om_2", "hello")
			l.isAnswered("om_2")
			l.ended(tc.state, 1)
			l.sent()
			_, closed, _ := l.rec.SoFar()
			if !slices.ContainsFunc(closed, func(c chat.Card) bool { return strings.Contains(c.Body, tc.body) }) {
				t.Errorf("shown: %+v", closed)
			}
			if tc.repair != "" {
				l.sql(tc.repair)
			}
			l.say("om_3", "and now?")
			l.isAnswered("om_3")
		})
	}
}

// Whoever ends the program while what it has found cannot be recovered does not wait for that.
func TestAStopOfTheProgramDuringTheRecovery(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	l.sql(refusedStates.Create())
	l.start()
	l.until("a try", func() bool { return strings.Contains(l.logs.String(), "trying again") })
	l.stop()
	l.sql(refusedStates.Drop())
	if left := l.left(); left.ID != 1 {
		t.Errorf("turn %d is left", left.ID)
	}
}
