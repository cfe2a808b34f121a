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
	"time"

	"github.com/google/uuid"

	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
	"magpie/internal/text"
)

// Talk is a conversation.
type Talk struct {
	Client *terminal.Client
	Lang   i18n.Lang
	Out    io.Writer // gets the answers
	Notes  io.Writer // gets what is no answer
	Folder string    // gets the files

	happens chan func() error // what happens, one thing after another; an error ends the conversation
	typing  *typing           // nil = nobody types
	answer  *answer           // what is waited for; nil = nothing
	saving  int               // files
	over    error             // how it ends when they are saved; nil = it does not
	stops   int               // how often its end was asked for
}

// ErrNoAnswer means that a question was not answered, for a reason that was shown.
var ErrNoAnswer = errors.New("no answer")

// errOver means that a conversation is over.
var errOver = errors.New("over")

// Ask asks one question and writes the answer to Out, and nothing else. Nobody can decide there what an agent may do, so
// everything is refused. The first of stop ends the turn, the second one the wait.
func (t *Talk) Ask(ctx context.Context, question string, stop <-chan os.Signal) error {
	t.Client.Alone = true
	if err := t.run(ctx, question, stop); !errors.Is(err, errOver) {
		return err
	}
	return nil
}

// run talks, beginning with said; empty = nothing.
func (t *Talk) run(ctx context.Context, said string, stop <-chan os.Signal) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	t.happens = make(chan func() error)
	greeted := false
	go func() {
		err := t.Client.Events(ctx,
			func(e api.Event) { t.later(ctx, func() error { return t.show(ctx, e) }) },
			func(there bool) {
				t.later(ctx, func() error {
					if !there {
						t.note(i18n.TerminalWaits.In(t.Lang))
					} else if !greeted && said != "" {
						t.ask(ctx, said)
					}
					greeted = greeted || there
					return nil
				})
			})
		t.later(ctx, func() error { return err })
	}()
	for {
		if t.typing != nil && greeted {
			t.typing.read(ctx)
		}
		var err error
		select {
		case happens := <-t.happens:
			err = happens()
		case <-stop:
			err = t.stop(ctx)
		}
		if err == nil && t.saving == 0 {
			err = t.over
		}
		if err != nil {
			return err
		}
	}
}

// later has the conversation do something, when it is its turn.
func (t *Talk) later(ctx context.Context, do func() error) {
	select {
	case t.happens <- do:
	case <-ctx.Done():
	}
}

// say says something, and returns its ID. A service that is away gets it when it is back.
func (t *Talk) say(ctx context.Context, words string) (id string) {
	key := uuid.NewString()
	go func() {
		if err := t.Client.Say(ctx, key, words); err != nil {
			t.later(ctx, func() error { return err })
		}
	}()
	return t.Client.ID(key)
}

// ask says something whose answer is waited for, unless there is one already.
func (t *Talk) ask(ctx context.Context, words string) {
	if id := t.say(ctx, words); t.answer == nil {
		t.answer, t.stops = &answer{to: id}, 0
	}
}

// stop asks for the end of the turn; a second time, or without a turn, it ends the conversation.
func (t *Talk) stop(ctx context.Context) error {
	if t.stops++; t.answer == nil || t.stops > 1 {
		return ErrNoAnswer
	}
	t.say(ctx, "/stop")
	return nil
}

// press presses a button, and then tells what came of it.
func (t *Talk) press(ctx context.Context, card string, b api.Button, values map[string][]string) {
	go func() {
		toast, err := t.Client.Press(ctx, card, b.Action, values)
		t.later(ctx, func() error {
			t.note(toast)
			return err
		})
	}()
}

// show shows what has happened.
func (t *Talk) show(ctx context.Context, e api.Event) error {
	about := t.answer.take(e)
	if t.typing != nil {
		t.typing.show(ctx, e)
	} else if !about {
		t.aside(ctx, e)
	}
	switch {
	case !about:
		return nil
	case t.answer.isElsewhere(): // unless it comes in a moment
		waits := t.answer
		time.AfterFunc(patience, func() { t.later(ctx, func() error { return t.giveUp(waits) }) })
		return nil
	case !t.answer.isOver():
		return nil
	case t.typing != nil:
		t.answer = nil
		return nil
	}
	last := t.answer.last
	if slices.Contains(failures, last.State) {
		t.note(strings.Join([]string{last.Title, last.Status, last.Text}, "\n"))
		t.over = ErrNoAnswer
		return nil
	}
	_, err := fmt.Fprintln(t.Out, text.ForTerminal(last.Text))
	t.over = errOver
	return err
}

// giveUp ends the wait for an answer that is given elsewhere, and in a pipe the conversation.
func (t *Talk) giveUp(a *answer) error {
	if t.answer != a || !a.isElsewhere() {
		return nil
	}
	t.note(i18n.TerminalElsewhere.In(t.Lang))
	if t.answer = nil; t.typing != nil {
		return nil
	}
	return ErrNoAnswer
}

// patience is how long an answer may come after the sign that it is complete.
const patience = 5 * time.Second

// failures are the states of cards that are no answer.
var failures = []chat.CardState{chat.CardQueued, chat.CardFailed, chat.CardNeedsYou}

// answer is what is known of the answer to a message.
type answer struct {
	to    string         // the message
	last  api.Event      // its newest state: a card or a text
	state chat.CardState // of the message
}

// take notes an event if it is about the answer, and reports whether it is.
func (a *answer) take(e api.Event) bool {
	switch {
	case a == nil:
		return false
	case e.Kind == api.KindMessage && e.ID == a.to:
		a.state = e.State
		return true
	case e.To != a.to || e.Asks:
		return false
	case e.Kind == api.KindCard, e.Kind == api.KindText && a.last.Kind != api.KindCard: // a text may be a note during the turn
		a.last = e
		return true
	}
	return false
}

// isOver reports whether the answer is complete. A turn that the service was stopped in goes on when it is back.
func (a *answer) isOver() bool {
	return a.last.ID != "" && !a.last.Live && (a.last.State != chat.CardQueued || a.state != chat.CardRunning)
}

// isElsewhere reports whether the message has become part of another question, which is answered.
func (a *answer) isElsewhere() bool {
	return a.last.ID == "" && (a.state == chat.CardDone || a.state == chat.CardFailed)
}

// aside takes what is not the answer itself: it saves files and refuses what is asked.
func (t *Talk) aside(ctx context.Context, e api.Event) {
	switch {
	case e.Kind == api.KindFile:
		t.save(ctx, e)
	case e.Asks && !e.Live && e.State == chat.CardNeedsYou:
		for _, b := range e.Buttons {
			if b.Action.Do == chat.DoRefuse {
				t.note(e.Title + "\n" + e.Text + "\n" + i18n.TerminalNobodyDecides.In(t.Lang))
				t.press(ctx, e.ID, b, nil)
			}
		}
	case e.Kind == api.KindText:
		t.note(e.Text)
	}
}

// note tells something that is no answer, line by line, without empty ones.
func (t *Talk) note(s string) {
	if t.typing != nil {
		t.typing.print(dim, s)
		return
	}
	for line := range strings.Lines(text.ForTerminal(s)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			_, _ = fmt.Fprintln(t.Notes, line)
		}
	}
}

// save saves a file in the folder, under its name or with a number before its extension, without overwriting one.
func (t *Talk) save(ctx context.Context, e api.Event) {
	t.saving++
	go func() {
		data, err := t.Client.Fetch(ctx, *e.File)
		t.later(ctx, func() error {
			t.saving--
			path := filepath.Join(t.Folder, cmp.Or(safepath.FileName(e.File.Name), "file"))
			if err == nil {
				path, err = write(path, data)
			}
			if err != nil {
				t.note(i18n.TerminalFileFailed.Sprintf(t.Lang, path, err))
				return nil
			}
			t.note(i18n.TerminalFileSaved.Sprintf(t.Lang, path) + "\n" + e.Text)
			return nil
		})
	}()
}

// write writes a file that is not there yet, and returns its path. Of a file that could not be written nothing is left.
func write(path string, data []byte) (string, error) {
	ext := filepath.Ext(path)
	begin := strings.TrimSuffix(path, ext)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	for n := 1; errors.Is(err, os.ErrExist) && n < 1000; n++ {
		path = fmt.Sprintf("%s (%d)%s", begin, n, ext)
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return path, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return path, err
}
