// Package talk is a conversation with the bridge at a terminal, or through a pipe: it draws what a [terminal.Client] is
// shown, and passes on what is typed.
//
// What is said and who may say it is decided by the bridge.
package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/internal/chat"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
	"magpie/internal/text"
)

// Talk is a conversation.
type Talk struct {
	Client *terminal.Client
	Lang   i18n.Lang
	Out    io.Writer  // gets the answers
	Notes  io.Writer  // gets what is no answer
	Folder string     // gets the files
	Plain  bool       // without bold and dim letters
	Width  func() int // of the terminal, in columns
}

// ErrNoAnswer means that a question was not answered, for a reason that was shown.
var ErrNoAnswer = errors.New("no answer")

// link is the connection to the service: what it shows, and what comes of what was said.
type link struct {
	events    chan terminal.Event
	connected chan bool
	failed    chan error
}

// connect connects to the service until ctx is done.
func (t *Talk) connect(ctx context.Context) link {
	l := link{make(chan terminal.Event), make(chan bool), make(chan error)}
	go func() {
		err := t.Client.Events(ctx, func(e terminal.Event) { give(ctx, l.events, e) },
			func(ok bool) { give(ctx, l.connected, ok) })
		give(ctx, l.failed, err)
	}()
	return l
}

func give[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// say says something, and returns what answers it. A service that is away gets it when it is back.
func (t *Talk) say(ctx context.Context, l link, words string) *answer {
	a := &answer{to: t.Client.NextID()}
	go func() {
		if err := t.Client.Say(ctx, a.to, words); err != nil {
			give(ctx, l.failed, err)
		}
	}()
	return a
}

// answer is what is known of the answer to a message.
type answer struct {
	to       string         // the message
	last     terminal.Event // its newest state: a card or a text
	reaction chat.Reaction
}

// take notes an event if it is about the answer, and reports whether it is.
func (a *answer) take(e terminal.Event) bool {
	switch {
	case e.Reaction != nil && e.To == a.to:
		a.reaction = *e.Reaction
	case e.File != "" || e.Asks || e.Reaction != nil || e.To != a.to && e.To != a.last.ID:
		return false
	case e.Card != nil || a.last.Card == nil:
		a.last = e
	default:
		return false // a note during the turn
	}
	return true
}

// isOver reports whether the answer is complete. A turn that the service was stopped in goes on when it is back.
func (a *answer) isOver() bool {
	c := a.last.Card
	if c == nil {
		return a.last.Text != ""
	}
	return !c.Live && (c.State != chat.CardQueued || a.reaction != chat.Working)
}

// failed reports whether the answer is none.
func (a *answer) failed() bool {
	return a.last.Card != nil && slices.Contains(
		[]chat.CardState{chat.CardQueued, chat.CardFailed, chat.CardNeedsYou}, a.last.Card.State)
}

// words are the words of the whole answer.
func words(e terminal.Event) string {
	if e.Card == nil {
		return e.Text
	}
	var parts []string
	for _, p := range e.Card.Earlier {
		parts = append(parts, p.Body)
	}
	parts = append(parts, e.Card.Body)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// Ask asks one question and writes the answer to Out, and nothing else. Nobody can decide there what an agent may do, so
// everything is refused. The first of stop ends the turn, the second one the wait.
func (t *Talk) Ask(ctx context.Context, question string, stop <-chan os.Signal) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	l := t.connect(ctx)
	var a *answer
	for stops := 0; a == nil || !a.isOver(); {
		select {
		case ok := <-l.connected:
			if !ok {
				t.note(i18n.TerminalWaits.In(t.Lang))
			} else if a == nil {
				a = t.say(ctx, l, question)
			}
		case err := <-l.failed:
			return err
		case e := <-l.events:
			if a.take(e) {
				continue
			}
			if err := t.aside(ctx, e); err != nil {
				return err
			}
		case <-stop:
			if stops++; stops > 1 || a == nil {
				return ErrNoAnswer
			}
			t.say(ctx, l, "/stop")
		}
	}
	if a.failed() {
		c := a.last.Card
		t.note(strings.Join([]string{c.Title, c.Status, words(a.last)}, "\n"))
		return ErrNoAnswer
	}
	_, err := fmt.Fprintln(t.Out, text.ForTerminal(words(a.last)))
	return err
}

// note tells something that is no answer. Empty lines are left out.
func (t *Talk) note(s string) {
	for line := range strings.Lines(s) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			_, _ = fmt.Fprintln(t.Notes, text.ForTerminal(line))
		}
	}
}

// aside takes what is not the answer itself: it saves files and refuses what is asked.
func (t *Talk) aside(ctx context.Context, e terminal.Event) error {
	switch {
	case e.File != "":
		t.save(ctx, e)
	case e.Asks && e.Card.State == chat.CardNeedsYou:
		refuse := slices.IndexFunc(e.Card.Buttons, func(b chat.Button) bool { return b.Action.Do == chat.DoRefuse })
		if refuse < 0 || !e.Closed {
			return nil
		}
		t.note(e.Card.Title + "\n" + e.Card.Body + "\n" + i18n.TerminalNobodyDecides.In(t.Lang))
		_, err := t.Client.Press(ctx, e.ID, e.Card.Buttons[refuse].Action, nil)
		return err
	case e.Text != "":
		t.note(e.Text)
	}
	return nil
}

// save saves a file in the folder, without overwriting one.
func (t *Talk) save(ctx context.Context, e terminal.Event) {
	name := cmp.Or(safepath.FileName(e.Name), "file")
	f, err := create(t.Folder, name)
	if err == nil {
		err = errors.Join(t.Client.Fetch(ctx, e.File, f), f.Close())
		name = f.Name()
	}
	if err != nil {
		t.note(i18n.TerminalFileFailed.Sprintf(t.Lang, name, err))
		return
	}
	t.note(i18n.TerminalFileSaved.Sprintf(t.Lang, name))
	t.note(e.Text)
}

// create creates a file with this name, or with a number before its extension.
func create(folder, name string) (*os.File, error) {
	ext := filepath.Ext(name)
	for n, tried := 1, name; ; n++ {
		f, err := os.OpenFile(filepath.Join(folder, tried), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) || n > 1000 {
			return f, err
		}
		tried = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ext), n, ext)
	}
}
