package bridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/crash"
)

// outbox delivers what the store says must be shown, in order within each chat, until the platform has confirmed it.
type outbox struct {
	db    *db.DB
	out   Messenger
	log   zerolog.Logger
	jobs  *jobs
	lanes lanes

	mu   sync.Mutex
	held map[int64]bool // turns whose painters may still be drawing
}

func newOutbox(store *db.DB, out Messenger, log zerolog.Logger) *outbox {
	return &outbox{db: store, out: out, log: log, jobs: newJobs(deliveries), held: map[int64]bool{}}
}

const (
	poll      = time.Second        // how often what was put off is looked for
	firstWait = time.Second        // before a failed delivery is tried again; doubles up to
	lastWait  = 5 * time.Minute    //
	giveUp    = 3 * 24 * time.Hour // after which nobody waits for it any more
	keysLast  = 50 * time.Minute   // how long the platform surely knows an idempotency key; it promises an hour
	batch     = 100                // chats that are taken up at once

	deliveries = 16 // chats that are delivered to at the same time
)

// hold keeps the card of a turn from being drawn: what its painter is drawing could arrive later. Who releases it wakes
// the chat.
func (o *outbox) hold(turn int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[turn] = true
}

func (o *outbox) release(turn int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.held, turn)
}

func (o *outbox) holds(turn int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held[turn]
}

// wake makes sure that somebody delivers for the chat.
func (o *outbox) wake(key chat.Key) {
	if o.lanes.enter(key) {
		o.jobs.add(func(ctx context.Context) { o.work(ctx, key) })
	}
}

// run delivers until stop is closed and what can be delivered at once is. ctx ends it at last.
func (o *outbox) run(ctx context.Context, stop <-chan struct{}) {
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		o.poll(ctx, stop)
	}()
	o.jobs.run(ctx, stop)
	<-polled
}

// poll wakes the chats for which the time has come to try again.
func (o *outbox) poll(ctx context.Context, stop <-chan struct{}) {
	t := time.NewTicker(poll)
	defer t.Stop()
	for {
		keys, err := o.db.DueChats(ctx, batch)
		if err != nil && ctx.Err() == nil {
			o.log.Error().Err(err).Msg("what is to be delivered is not known; trying again")
		}
		for _, key := range keys {
			o.wake(key)
		}
		select {
		case <-t.C:
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// work delivers what the chat has, oldest first, until nothing is left or something must wait.
func (o *outbox) work(ctx context.Context, key chat.Key) {
	for ctx.Err() == nil {
		p, err := o.db.NextPost(ctx, key)
		switch {
		case errors.Is(err, db.ErrNotFound), err == nil && (time.Now().Before(p.Due) || o.holds(p.Turn)):
			if o.lanes.leave(key) {
				return
			}
		case err != nil:
			o.log.Error().Err(err).Stringer("chat", key).Msg("next delivery not found; trying again")
			pause(ctx, retryStore)
		default:
			o.deliver(ctx, p)
		}
	}
}

// deliver shows p and notes what became of it.
func (o *outbox) deliver(ctx context.Context, p db.Post) {
	log := o.log.With().Stringer("chat", p.Key).Int64("turn", p.Turn).Str("answers", p.ReplyTo).Logger()
	crash.At("delivery: begun")
	id, err := o.show(ctx, p)
	crash.At("delivery: shown")
	switch {
	case err == nil:
	case errors.Is(err, chat.ErrGone):
		log.Info().Msg("the question was taken back; its answer is not shown")
	case errors.Is(err, chat.ErrUnreachable):
		log.Warn().Err(err).Msg("the chat cannot be reached; what was to be shown there is only in the History")
	case time.Since(p.Created) > giveUp:
		log.Error().Err(err).Msg("not delivered for days; given up")
	case ctx.Err() != nil:
		return // it waits for the next start
	default:
		wait := backoff(p.Attempts)
		log.Warn().Err(err).Dur("retry_in", wait).Int("attempts", p.Attempts+1).Msg("not delivered yet")
		o.note(ctx, log, func(ctx context.Context) error { return o.db.Delay(ctx, p, time.Now().Add(wait)) })
		return
	}
	o.note(ctx, log, func(ctx context.Context) error { return o.db.Delivered(ctx, p, id) })
	crash.At("delivery: noted")
}

// note stores what became of a delivery. A delivery that is not noted is repeated, which does no harm.
func (o *outbox) note(ctx context.Context, log zerolog.Logger, f func(context.Context) error) {
	if err := f(context.WithoutCancel(ctx)); err != nil {
		log.Error().Err(err).Msg("delivery not noted; it will be repeated")
		pause(ctx, retryStore)
	}
}

// backoff is the wait after so many failed attempts.
func backoff(attempts int) time.Duration {
	d := min(firstWait<<min(attempts, 10), lastWait)
	return d - d/10 + rand.N(d/5)
}

// show makes p visible, and returns the id of a text's message.
func (o *outbox) show(ctx context.Context, p db.Post) (string, error) {
	to := chat.Ref{Key: p.Key, ID: p.ReplyTo}
	if p.Card == nil {
		return o.say(ctx, to, p)
	}
	id, err := o.card(ctx, to, p)
	if err != nil {
		return "", err
	}
	return "", o.out.Close(ctx, id, *p.Card)
}

// say sends a text, unless an earlier attempt did.
func (o *outbox) say(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	if p.Attempts > 0 && time.Since(p.Created) > keysLast {
		sent, err := o.out.Find(ctx, to)
		if err != nil {
			return "", fmt.Errorf("look whether it was sent: %w", err)
		}
		if len(sent) > 0 {
			return sent[0].ID, nil
		}
	}
	return o.out.Reply(ctx, to, p.Text, p.Idem)
}

// card is the card on which p is drawn: the turn's own, or a new one.
func (o *outbox) card(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	if p.CardID != "" {
		return p.CardID, nil
	}
	id := ""
	if time.Since(p.Begun) > keysLast { // the turn may have sent it long ago
		sent, err := o.out.Find(ctx, to)
		if err != nil {
			return "", fmt.Errorf("look for the card: %w", err)
		}
		for _, s := range sent {
			if s.Card != "" {
				id = s.Card
			}
		}
	}
	if id == "" {
		var err error
		if id, err = o.out.Post(ctx, to, *p.Card, cardKey(p.Turn, to)); err != nil {
			return "", err
		}
	}
	return id, o.db.SetTurnCard(context.WithoutCancel(ctx), p.Turn, id)
}

// cardKey makes the posting of a turn's card idempotent.
func cardKey(turn int64, to chat.Ref) string { return fmt.Sprintf("turn:%d:%s", turn, to.ID) }
