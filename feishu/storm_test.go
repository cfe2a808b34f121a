package feishu

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// deliver retries a call until it is confirmed, as the outbox does.
func deliver(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil {
			return nil
		}
		if openapi.Sleep(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("given up: %w", err)
		}
	}
}

// Every third call fails. In the end each answer is visible, complete and once.
func TestAnswersArriveInAStorm(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.Client = p.configured(Config{CircuitTimeout: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const answers, rooms = 45, 10
	began := time.Now()
	stop := p.Storm(20261121, 0.3)
	var (
		all  sync.WaitGroup
		asks [answers]chat.Ref
	)
	for i := range rooms {
		p.AddUser(fmt.Sprint("user ", i))
	}
	for i := range answers {
		ann := p.Users()[i%rooms]
		room := p.PrivateChat(ann)
		asks[i] = chat.Ref{Key: chat.FeishuChat(room), ID: p.Say(room, ann, "hello")}
		all.Go(func() {
			if i%8 == 7 {
				p.replyInStorm(ctx, asks[i], i)
			} else {
				p.answerInStorm(ctx, asks[i], i)
			}
		})
	}
	all.Wait()
	dealt := stop()
	calls := p.Status().Calls
	t.Logf("%d faults in %d calls, %+v, %v", dealt, len(p.Calls()), calls, time.Since(began).Round(time.Second))
	if dealt < 50 || calls.Unknown == 0 || calls.Limited == 0 {
		t.Errorf("%d faults, calls %+v: no storm", dealt, calls)
	}
	for i, ask := range asks {
		p.answeredOnce(ask, answerOf(i))
	}
	p.clean()
}

// answerOf is the i-th answer. Every fifth needs two cards.
func answerOf(i int) string {
	text := fmt.Sprintf("Answer %d begins. ", i)
	if i%5 == 0 {
		text += strings.Repeat("Some words in a row, and some more.\n\n", 700)
	}
	return text + fmt.Sprintf("Answer %d ends.", i)
}

func (p *platform) answerInStorm(ctx context.Context, ask chat.Ref, i int) {
	var id string
	text := answerOf(i)
	err := deliver(ctx, func() (err error) {
		id, err = p.Client.Post(ctx, ask, chat.Card{Live: true, Status: "on it"}, fmt.Sprint("turn ", i))
		return err
	})
	for _, part := range []int{5, 3, 2} {
		if err == nil {
			err = p.Ready(ctx, id)
		}
		if err == nil {
			_ = p.Edit(ctx, id, chat.Card{Live: true, Body: text[:len(text)/part]}) // an intermediate view may be lost
		}
	}
	if err == nil {
		err = deliver(ctx, func() error { return p.Client.Close(ctx, id, chat.Card{Body: text}) })
	}
	if err != nil {
		p.t.Errorf("answer %d: %v", i, err)
	}
}

func (p *platform) replyInStorm(ctx context.Context, ask chat.Ref, i int) {
	err := deliver(ctx, func() error {
		_, err := p.Reply(ctx, ask, answerOf(i), fmt.Sprint("turn ", i))
		return err
	})
	if err != nil {
		p.t.Errorf("answer %d: %v", i, err)
	}
}

// answeredOnce fails unless the answer to a question is visible once, complete and closed.
func (p *platform) answeredOnce(ask chat.Ref, text string) {
	p.t.Helper()
	var shown strings.Builder
	for _, m := range p.answers(ask.Key.ID) {
		if m.ParentID != ask.ID {
			continue
		}
		if m.Last().Streaming {
			p.t.Errorf("message %s is still live", m.ID)
		}
		shown.WriteString(m.Text() + "\n")
	}
	if got, want := squash(shown.String()), squash(text); got != want {
		p.t.Errorf("%d characters are shown, want %d: %.200q", len(got), len(want), got)
	}
}
