package bridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// cliAttacks are ways in which the CLI misbehaves while it answers; the scripted agent knows them by these names.
// answer is the remaining part of its answer, and failure why the turn failed; empty = it did not.
var cliAttacks = []cliAttack{
	{"garbage lines", "echo: fault: garbage lines", ""},
	{"wrong types", "echo: fault: wrong types", ""},
	{"bytes that are no text", "echo: fault: bytes that are no text", ""},
	{"a huge line", "echo: fault: a huge line", ""},
	{"two results", "first", ""},
	{"words behind the result", "in time", ""},
	{"another session", "echo: fault: another session", ""},
	{"a flood of errors", "echo: fault: a flood of errors", ""},
	{"a question about nothing", "echo: fault: a question about nothing", ""},
	{"no result", "half an answer", turncard.FailDied},
	{"half a line", "", turncard.FailDied},
	{"an exit code", "", turncard.FailDied},
	{"a child that stays", "", turncard.FailDied},
	{"silence", "", turncard.FailSilent},
	{"closed output", "", turncard.FailSilent},
	{"deaf to signals", "", turncard.FailSilent},
	{"a request that nobody knows", "", turncard.FailSilent},
	{"talk without an end", "", turncard.FailTurnEnd},
}

type cliAttack struct{ name, answer, failure string }

// screens is a messenger that records the last card of each chat, and the number of cards.
type screens struct {
	deliverytest.Recorder
	mu    sync.Mutex
	room  map[string]string      // by card
	cards map[string][]chat.Card // by chat
}

func (s *screens) Post(_ context.Context, to chat.Ref, _ chat.Card, _ string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint("card_", len(s.room))
	s.room[id] = to.Key.ID
	return id, nil
}

func (s *screens) Close(_ context.Context, id string, c chat.Card) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cards[s.room[id]] = append(s.cards[s.room[id]], c)
	return nil
}

func (s *screens) cardsOf(room string) []chat.Card {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cards[idOf(room)]
}

// idOf is the ID of the room in which the fault happens.
func idOf(name string) string { return strings.ReplaceAll(name, " ", "_") }

// TestAttackCLIFaults makes the CLI misbehave in each way, each in its own chat. Each time people get one card, with
// the answer or a notice of what happened; the chat continues with the next question; and nothing is left running.
func TestAttackCLIFaults(t *testing.T) {
	const rows = 18
	if len(cliAttacks) != rows {
		t.Fatalf("%d faults, want %d", len(cliAttacks), rows)
	}
	t.Run("that is seen", func(t *testing.T) {
		t.Parallel()
		cliFaults(t, time.Minute, 4*time.Minute, func(failure string) bool { return failure != turncard.FailSilent && failure != turncard.FailTurnEnd })
	})
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		cliFaults(t, 6*time.Second, time.Minute, func(failure string) bool { return failure == turncard.FailSilent })
	})
	t.Run("a turn without an end", func(t *testing.T) {
		t.Parallel()
		cliFaults(t, time.Minute, 8*time.Second, func(failure string) bool { return failure == turncard.FailTurnEnd })
	})
}

// cliFaults runs the faults that fail in some ways, with limits on the agent's silence and its turns.
func cliFaults(t *testing.T, silence, turn time.Duration, fails func(failure string) bool) {
	attacks := slices.DeleteFunc(slices.Clone(cliAttacks), func(a cliAttack) bool { return !fails(a.failure) })
	out := &screens{room: map[string]string{}, cards: map[string][]chat.Card{}}
	l := newBridgeRig(t, out, func(c *claude.Config) {
		c.Env["MAGPIE_SCRIPTED_FAULTS"] = "1"
		c.MaxTurns, c.MaxProcesses = workspace.AutoCount(len(attacks)), workspace.AutoCount(len(attacks))
		c.Grace = 300 * time.Millisecond
		c.Silence.Duration, c.ToolSilence.Duration, c.TurnLimit.Duration = silence, silence, turn
	})
	l.start()
	for _, a := range attacks {
		l.askIn(a.name, 0, "fault: "+a.name)
	}
	for _, a := range attacks {
		l.until("an end to "+a.name, func() bool { return len(out.cardsOf(a.name)) == 1 })
		l.wentWrong(a, out.cardsOf(a.name)[0])
		if a.failure != "" {
			l.gone(a.name + ".pid")
		}
	}
	for _, a := range attacks {
		answered := func(c chat.Card) bool { return c.Body == "echo: and now?" }
		// On a busy machine even a working agent may be silent for too long.
		for n := 1; n <= 20 && !slices.ContainsFunc(out.cardsOf(a.name), answered); n++ {
			l.askIn(a.name, n, "and now?")
			l.until("an answer after "+a.name, func() bool { return len(out.cardsOf(a.name)) == n+1 })
		}
		if list := out.cardsOf(a.name); !answered(list[len(list)-1]) {
			t.Errorf("%s: afterwards it is shown %+v", a.name, list)
		}
	}
	l.stop()
	l.pool.Close()
	for _, a := range attacks {
		l.gone(a.name + ".pid")
		l.gone(a.name + ".child")
	}
}

// askIn asks a question in the chat named after a fault.
func (l *bridgeRig) askIn(name string, n int, text string) {
	l.Helper()
	m := incoming(fmt.Sprint("om_", idOf(name), n), text)
	m.Key = chat.FeishuChat(idOf(name))
	l.receive(m)
}

// wentWrong fails the test unless the first turn of a chat ended as expected.
func (l *bridgeRig) wentWrong(a cliAttack, card chat.Card) {
	l.Helper()
	notices := map[string]i18n.Phrase{turncard.FailDied: i18n.FailDied, turncard.FailSilent: i18n.FailSilent,
		turncard.FailTurnEnd: i18n.FailTurnEnd}
	words := strings.Fields(card.Status + " " + card.Body)
	want := strings.Fields(notices[a.failure].EN + " " + a.answer)
	slices.Sort(words) // the position of the notice depends on whether there is an answer
	slices.Sort(want)
	if !slices.Equal(words, want) || card.Live {
		l.Errorf("%s: shown %q, %q", a.name, card.Status, card.Body)
	}
	key := chat.FeishuChat(idOf(a.name))
	var failure, answer string
	side := l.store.Side()
	l.must(side.QueryRow(`SELECT failure, COALESCE((SELECT content FROM messages m WHERE m.turn_id = turns.id
		AND m.role = 'assistant'), '') FROM turns WHERE chat_key = '`+key.String()+`' ORDER BY id`).Scan(&failure, &answer))
	l.must(side.Close())
	if failure != a.failure || answer != a.answer {
		l.Errorf("%s: stored are %q and %q, want %q and %q", a.name, failure, answer, a.failure, a.answer)
	}
}

// gone waits until the process whose ID is in a file of the project has ended. The file may be missing.
func (l *bridgeRig) gone(file string) {
	l.Helper()
	pid, err := os.ReadFile(filepath.Join(l.config.Project, file))
	if os.IsNotExist(err) && strings.HasSuffix(file, ".child") {
		return
	}
	l.must(err)
	l.until("the end of the process in "+file, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
