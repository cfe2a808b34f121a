package turncard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/workqueue"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// drawing is a running painter.
type drawing struct {
	*Painter
	posted []string
	shown  []string // answers, each recorded before it was drawn
	over   func()
	done   chan struct{}
}

func draw(t *testing.T, out Messenger, v State, card string) *drawing {
	d := &drawing{done: make(chan struct{})}
	d.Painter = NewPainter(out, Target{
		ID:     card,
		Find:   func(context.Context) (string, error) { return "", nil },
		Posted: func(_ context.Context, id string) { d.posted = append(d.posted, id) },
		Shows:  func(_ context.Context, parts []string) { d.shown = append(d.shown, strings.Join(parts, "|")) },
	}, v)
	idle, over := context.WithCancel(t.Context())
	d.over = over
	go func() { defer close(d.done); d.Run(t.Context(), idle) }()
	return d
}

func (d *drawing) end() {
	d.over()
	<-d.done
}

func TestThePainterDrawsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{pace: time.Second}
		v := New(1, i18n.Chinese, time.Now())
		d := draw(t, rec, v, "")
		for range 100 {
			v = v.Apply(claude.Text{Text: "x"}, time.Now())
			d.Update(v)
			time.Sleep(100 * time.Millisecond)
		}
		d.end()
		if n := len(rec.edits); n < 9 || n > 10 {
			t.Errorf("%d edits in 10 s at one a second", n)
		}
		if last := rec.edits[len(rec.edits)-1]; len(last.Body) < 80 {
			t.Errorf("the last edit was %d views behind", 100-len(last.Body))
		}
		if !slices.Equal(d.posted, []string{"card"}) {
			t.Errorf("posted %v", d.posted)
		}
		for i, c := range rec.edits {
			if d.shown[i+1] != c.Body { // the first one belongs to the post
				t.Errorf("edit %d shows %q, recorded was %q", i, c.Body, d.shown[i+1])
			}
		}
	})
}

func TestThePainterDrawsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		v := New(1, i18n.Chinese, time.Now()).Apply(claude.Started{}, time.Now())
		d := draw(t, rec, v, "")
		for range 5 {
			d.Update(v.Apply(claude.Started{}, time.Now()))
			synctest.Wait()
		}
		d.end()
		if len(rec.edits) != 0 {
			t.Errorf("%d edits", len(rec.edits))
		}
	})
}

// A painter that waits for the rate limit ends at once when the turn is over.
func TestThePainterEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{pace: time.Hour}
		v := New(1, i18n.Chinese, time.Now())
		d := draw(t, rec, v, "")
		d.Update(v.Waiting(2, time.Now()))
		synctest.Wait()
		began := time.Now()
		d.end()
		if len(rec.edits) != 0 || time.Since(began) > time.Second {
			t.Errorf("%d edits, ended after %v", len(rec.edits), time.Since(began))
		}
	})
}

func TestACardFromBeforeARestartIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: errors.New("a second card")}
		v := New(1, i18n.Chinese, time.Now())
		d := draw(t, rec, v, "old")
		synctest.Wait()
		d.Update(v.Apply(claude.Text{Text: "x"}, time.Now()))
		synctest.Wait()
		d.end()
		if len(rec.edits) != 2 || len(d.posted) != 0 {
			t.Errorf("%d edits, posted %v", len(rec.edits), d.posted)
		}
	})
}

func TestACardThatCannotBePostedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: errors.New("the platform is away")}
		d := draw(t, rec, New(1, i18n.Chinese, time.Now()), "")
		time.Sleep(3*repost + time.Second)
		rec.mu.Lock()
		rec.fail = nil
		rec.mu.Unlock()
		time.Sleep(repost)
		d.end()
		if rec.posts != 5 || !slices.Equal(d.posted, []string{"card"}) {
			t.Errorf("%d posts, posted %v", rec.posts, d.posted)
		}
	})
}

func TestARecalledQuestionIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: chat.ErrGone}
		d := draw(t, rec, New(1, i18n.Chinese, time.Now()), "")
		<-d.done
		if rec.posts != 1 || len(d.posted) != 0 {
			t.Errorf("%d posts, posted %v", rec.posts, d.posted)
		}
	})
}

// recorder is a messenger that records its calls.
type recorder struct {
	mu    sync.Mutex
	pace  time.Duration // between two edits
	fail  error         // of Post
	edits []chat.Card
	posts int
}

func (r *recorder) Post(context.Context, chat.Ref, chat.Card, string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts++
	return "card", r.fail
}

func (r *recorder) Ready(ctx context.Context, _ string) error {
	workqueue.Sleep(ctx, r.pace)
	return ctx.Err()
}

func (r *recorder) Edit(_ context.Context, _ string, c chat.Card) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edits = append(r.edits, c)
	return nil
}

// drawn are the edits so far.
func (r *recorder) drawn() []chat.Card {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.edits)
}
