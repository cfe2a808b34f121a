// Package doortest is the suite that every door passes: what people can do there, from the first question to a service
// that is killed at any step of a message's way. What differs between doors is a value of [Door].
package doortest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/modelsim"
)

// Door is a door under test.
type Door struct {
	// New makes a service whose door this is. It does not run yet, and ends with the test.
	New func(*testing.T, Options) Service
	// Steps are the steps of package failpoint that an ordinary question reaches at this door.
	Steps []string

	// Several means that several people can be in one chat.
	Several bool
	// Files means that people get files.
	Files bool
	// Unplug takes what the door connects to away from a service until plug is called; nil = there is nothing.
	Unplug func(Service) (plug func())
}

// Options are how the agent of a service works.
type Options struct {
	CLI     bool     // the real CLI, and not the scripted agent
	Allowed []string // tools that need no permission
}

// Service is a Magpie that runs as a process of its own, with its agent, and with people at the door.
type Service interface {
	// Start starts the service, and returns when people can reach it. At a step of package failpoint it kills itself.
	Start(failpoint string)
	// Died waits until it has killed itself, and reports whether it did.
	Died() bool
	// Stop asks it to end, and waits until it has.
	Stop()
	// Ready is what it says of its own health.
	Ready() bool
	// Log is what it has logged, also in earlier runs.
	Log() string
	// Count asks its database for a number.
	Count(query string) int
	// Agents are the IDs of the processes of its agents.
	Agents() []int
	// Transcripts are the files in which its agents keep their sessions.
	Transcripts() []string
	// Project is the folder in which its agents work.
	Project() string
	// Model answers its agents.
	Model() *modelsim.Server

	// Open opens a chat with as many people, of whom the first is [Asker].
	Open(people int) Room
	// Await waits until cond holds. It looks whenever something is shown.
	Await(ctx context.Context, cond func() bool) error
}

// Person is somebody at a door.
type Person int

// The people. Only the first one is at a door without several people.
const (
	Asker    Person = iota // in every chat
	Member                 // in a chat of two
	Stranger               // in none
)

// Room is a chat at the door as people see it.
type Room interface {
	// Say says something to the bot, and returns the message's ID.
	Say(by Person, text string) (id string)
	// Again brings a message to the bot once more.
	Again(id string)
	// Answers are what is shown in answer to a message, oldest first.
	Answers(id string) []Shown
	// Press presses a button, or one that the card does not have. It returns what the person is told.
	Press(by Person, on Shown, action chat.Action) (toast string, err error)
}

// Shown is a card, a text or a file.
type Shown struct {
	ID      string
	Text    string        // of a card: its status and its answer
	Looks   []string      // all that could be read on it, each time it was drawn
	Live    bool          // it will change
	Buttons []chat.Button // with labels and actions
	Data    []byte        // of a file
}

// Offers is the action of the button that does something; it has one if ok.
func (s Shown) Offers(do string) (a chat.Action, ok bool) {
	i := slices.IndexFunc(s.Buttons, func(b chat.Button) bool { return b.Action.Do == do })
	if i < 0 {
		return chat.Action{}, false
	}
	return s.Buttons[i].Action, true
}

// The actions of the suite's buttons.
const (
	doStop     = "stop"
	doAllow    = "allow"
	doRefuse   = "refuse"
	doContinue = "continue"
)

// ended reports whether the turn of a card has ended.
func (s Shown) ended() bool {
	_, runs := s.Offers(doStop)
	return !s.Live && !runs
}

// patience bounds every wait. The CLI takes 0.7 s to start on an idle machine, and longer if several start at once.
const patience = 5 * time.Minute

// Run tests a door.
func Run(t *testing.T, d Door) {
	t.Run("talk", func(t *testing.T) {
		t.Parallel()
		s := started(t, d, Options{})
		for name, test := range map[string]func(*testing.T, Door, Service){
			"a question and a further one": followUp, "the text grows": stream, "stopped by a word": stopByWord,
			"stopped by a button": stopByButton, "a new conversation": newConversation, "a long answer": long,
			"a message comes again": redelivery, "people decide": approval, "a file": file,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, d, s)
			})
		}
	})
	t.Run("talk with the CLI", func(t *testing.T) {
		t.Parallel()
		s := started(t, d, Options{CLI: true})
		followUp(t, d, s)
		stream(t, d, s)
		stopByWord(t, d, s)
		lostSession(t, s)
	})
	t.Run("restarts", func(t *testing.T) {
		t.Parallel()
		s := started(t, d, Options{})
		lostSession(t, s)
		stopLetsFinish(t, s)
		stopInterrupts(t, s)
		health(t, d, s)
	})
	for _, step := range d.Steps {
		t.Run("killed at "+step, func(t *testing.T) {
			t.Parallel()
			Crash{Step: step, Finished: !Beforehand(step)}.Run(t, d)
		})
	}
}

// started is a service that runs.
func started(t *testing.T, d Door, o Options) Service {
	t.Helper()
	s := d.New(t, o)
	s.Start("")
	return s
}

// await waits until something is shown.
func await(t *testing.T, s Service, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("timeout"))
	defer cancel()
	if err := s.Await(ctx, cond); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// until polls what cannot be awaited: processes, the database, the log.
func until(t *testing.T, s Service, what string, cond func() bool) {
	t.Helper()
	for began, pause := time.Now(), 10*time.Millisecond; !cond(); time.Sleep(pause) {
		if pause = min(2*pause, 200*time.Millisecond); time.Since(began) > patience {
			t.Fatalf("waiting for %s; log:\n%s", what, s.Log())
		}
	}
}

// shown waits until only one thing answers a message and satisfies cond.
func shown(t *testing.T, s Service, r Room, id, what string, cond func(Shown) bool) (got Shown) {
	t.Helper()
	await(t, s, what, func() bool {
		list := r.Answers(id)
		if len(list) == 1 {
			got = list[0]
		}
		return len(list) == 1 && cond(got)
	})
	return got
}

// answer waits for the complete answer to a message, which must be one card or text, and returns it.
func answer(t *testing.T, s Service, r Room, id string) (got Shown) {
	t.Helper()
	return shown(t, s, r, id, "the answer", Shown.ended)
}

// ask asks something and returns what the answer says.
func ask(t *testing.T, s Service, r Room, text string) string {
	t.Helper()
	return answer(t, s, r, r.Say(Asker, text)).Text
}

// script has the model answer the question that contains words with these steps, once.
func script(s Service, words string, steps ...modelsim.Step) {
	s.Model().Script(modelsim.Rule{Name: words, Match: asksFor(words), Times: 1, Steps: steps})
}

// asksFor matches the requests whose newest text by a person contains words.
func asksFor(words string) func(*modelsim.Request) bool {
	return func(q *modelsim.Request) bool { return strings.Contains(q.LastUser(), words) }
}

// asked counts the requests of which this is the question.
func asked(s Service, words string) (n int) {
	for _, q := range s.Model().Requests() {
		if asksFor(words)(&q) && !AfterTool(&q) {
			n++
		}
	}
	return n
}

// AfterTool reports whether a request passes a tool's result to the model. A note of the CLI may follow it: without the
// bridge, the MCP server of its tools no longer responds.
func AfterTool(r *modelsim.Request) bool {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role != "system" {
			return strings.HasPrefix(m.Text, "[tool_result")
		}
	}
	return false
}
