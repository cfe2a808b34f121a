package delivery

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// Outbox delivers pending posts from the store, in order within each chat, until the platform has confirmed them.
type Outbox struct {
	presenter // shows a post

	jobs  *workqueue.Queue
	lanes workqueue.Lanes[struct{}]

	mu      sync.Mutex
	held    map[int64]bool // turns whose painter may still be drawing
	hurried map[int64]bool // posts that are tried at once, although they have failed just before
}

// NewOutbox makes an Outbox, which delivers nothing until Run is called. copies holds files until their delivery; lang
// is the language of the outbox's own notices to a chat.
func NewOutbox(
	store *db.DB, out Messenger, copies Spool, lang func(context.Context, chat.Key) i18n.Lang, log zerolog.Logger,
) *Outbox {
	return &Outbox{
		presenter: presenter{
			db: store, posts: store.Outbox(), out: out, lang: lang, log: log,
			fileDelivery: newFileDelivery(store.Outbox(), copies, out),
			unseen:       func(context.Context, string, string) bool { return false }, // until OnUnseen is called
		},
		jobs: workqueue.New(deliveries), held: map[int64]bool{}, hurried: map[int64]bool{},
	}
}

const (
	poll         = time.Second        // interval of the search for postponed posts
	pollServer   = 3 * time.Second    // in a database that several bridges ask, and for files of chats elsewhere
	minRetryWait = time.Second        // first wait after a failed delivery; doubles up to
	maxRetryWait = 5 * time.Minute    //
	giveUp       = 3 * 24 * time.Hour // age at which a delivery is given up
	// attempts before giving up, over more than an hour: the program may have been down for days
	minTries = 20
	// attempts after which the wait stays the same
	maxAttempts = 10
	batch       = 100 // chats taken up at once

	deliveries = 16 // concurrent deliveries
)

// OnUnseen sets the function that is called when the card of an approval cannot be shown, so that nobody can decide.
// notice is the text shown instead. f reports whether it has settled the approval; its new card is then delivered next.
// OnUnseen must be called before Run.
func (o *Outbox) OnUnseen(f func(ctx context.Context, approval, notice string) (settled bool)) {
	o.unseen = f
}

// Enqueue stores and delivers a post. A post whose idempotency key is known already is not added.
func (o *Outbox) Enqueue(ctx context.Context, p db.Post) error {
	if err := o.posts.Enqueue(ctx, p); err != nil {
		return err
	}
	o.Wake(p.Key)
	return nil
}

// EnqueueJob runs a job together with the deliveries, also during shutdown: for messages that are sent without being
// stored.
func (o *Outbox) EnqueueJob(job func(context.Context)) { o.jobs.Enqueue(job) }

// CardOf is the first message of the card of which a message shows a part; see [Messenger].
func (o *Outbox) CardOf(messageID string) (first string) { return o.out.CardOf(messageID) }

// Count returns the number of chats being delivered to, plus the number of cards held by painters.
func (o *Outbox) Count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lanes.Count() + len(o.held)
}

// Wake starts the delivery of a chat's pending posts. It does not wait for it.
func (o *Outbox) Wake(key chat.Key) {
	if o.lanes.Enter(key) {
		o.jobs.Enqueue(func(ctx context.Context) { o.work(ctx, key) })
	}
}

// HoldCard leaves a turn's card to its painter until release is called, because a card must have one writer. The caller
// of release wakes the chat if something is pending.
func (o *Outbox) HoldCard(turn int64) (release func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[turn] = true
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.held, turn)
	}
}

// ready reports whether p can be delivered now.
func (o *Outbox) ready(p db.Post) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return (o.hurried[p.ID] || !time.Now().Before(p.Due)) && (p.Card == nil || !o.held[p.Turn])
}

// settling limits [Outbox.Settle].
const settling = 5 * time.Second

// Settle tries once more to show the answers of earlier turns that could not be shown, before a turn shows its own: people
// read them in the order of their questions. It returns at once if there are none.
func (o *Outbox) Settle(ctx context.Context, key chat.Key, turn int64) {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	tried := map[int64]int{} // attempts before
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for post := range tried {
			delete(o.hurried, post)
		}
	}()
	for ; ctx.Err() == nil; workqueue.Sleep(ctx, settling/100) {
		p, err := o.posts.Next(ctx, key)
		if err != nil || p.Turn == 0 || p.Turn >= turn || p.CardID != "" {
			return
		}
		if before, again := tried[p.ID]; !again {
			tried[p.ID] = p.Attempts
			o.mu.Lock()
			o.hurried[p.ID] = true
			o.mu.Unlock()
			o.Wake(key)
		} else if p.Attempts > before {
			return
		}
	}
}

// Run delivers until stop is closed, and then whatever can be delivered at once. When ctx ends, the rest is left to the
// next start.
func (o *Outbox) Run(ctx context.Context, stop <-chan struct{}) {
	var polls sync.WaitGroup
	interval := poll
	if o.db.Place() != nil {
		interval = pollServer
		polls.Go(func() { often(ctx, stop, interval, o.uploadForOthers) })
	}
	polls.Go(func() { often(ctx, stop, interval, o.wakeDue) })
	o.jobs.Run(ctx, stop)
	polls.Wait()
}

// wakeDue wakes the chats whose deliveries are due for another attempt.
func (o *Outbox) wakeDue(ctx context.Context) {
	keys, err := o.posts.Due(ctx, batch)
	if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrAway) { // of which the operator is told once
		o.log.Error().Err(err).Msg("pending deliveries not found; trying again")
	}
	for _, key := range keys {
		o.Wake(key)
	}
}

// often does something at once and then at intervals, until ctx ends or stop is closed.
func often(ctx context.Context, stop <-chan struct{}, interval time.Duration, do func(context.Context)) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		do(ctx)
		select {
		case <-t.C:
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// work delivers the chat's posts, oldest first, until none are left or one must wait.
func (o *Outbox) work(ctx context.Context, key chat.Key) {
	for ctx.Err() == nil {
		p, err := o.posts.Next(ctx, key)
		switch {
		case err != nil && db.Permanent(err), err == nil && !o.ready(p):
			o.removeButtons(ctx, key)
			// A post may have arrived between the last look and Leave; then the loop looks again.
			if o.lanes.Leave(key) {
				return
			}
		case err != nil:
			if !errors.Is(err, engine.ErrAway) {
				o.log.Error().Err(err).Stringer("chat", key).Msg("next delivery not found; trying again")
			}
			workqueue.Sleep(ctx, workqueue.StoreRetry)
		default:
			o.deliver(ctx, p)
		}
	}
}

// buttonsTimeout limits the removal of buttons: what arrives meanwhile in the chat waits for it.
const buttonsTimeout = 5 * time.Second

// removeButtons removes the buttons that counted below the newest card of a chat only and are below an older one now.
// It tries once: a press of a button that is left is answered anyway.
func (o *Outbox) removeButtons(ctx context.Context, key chat.Key) {
	old, err := o.posts.OldButtons(ctx, key)
	for turn, on := range old {
		limited, cancel := context.WithTimeout(ctx, buttonsTimeout)
		failed := o.out.RemoveButtons(limited, on)
		cancel()
		if ctx.Err() != nil {
			return // left to the next start
		}
		err = errors.Join(err, failed, o.posts.ForgetButtons(ctx, key, turn))
	}
	if err != nil {
		o.log.Debug().Err(err).Stringer("chat", key).Msg("old buttons not removed")
	}
}

// deliver shows p and records the outcome.
func (o *Outbox) deliver(ctx context.Context, p db.Post) {
	log := o.log.With().Stringer("chat", p.Key).Int64("turn", p.Turn).Str("answers", p.ReplyTo).Logger()
	failpoint.At("delivery: begun")
	id, err := o.showUnlessSilenced(ctx, p)
	failpoint.At("delivery: shown")
	switch {
	case err == nil:
	case errors.Is(err, chat.ErrGone) && o.readdress(ctx, log, p):
		return
	case errors.Is(err, chat.ErrGone):
		log.Info().AnErr("why", err).Msg("the question, or its topic, is gone; the answer is not shown")
	case errors.Is(err, chat.ErrUnreachable), errors.Is(err, chat.ErrSilenced):
		log.Warn().Err(err).Msg("chat not reachable; the text is only in the History")
	case ctx.Err() != nil:
		return // left to the next start
	case time.Since(p.Created) > giveUp && p.Attempts >= minTries:
		log.Error().Err(err).Msg("delivery failed for days; giving up")
	default:
		wait := backoff(p.Attempts)
		if errors.Is(err, chat.ErrForbidden) { // until an operator has changed the app
			wait = backoff(maxAttempts)
		} else if errors.Is(err, errNoCopy) {
			wait = min(wait, copyPoll)
		}
		log.Warn().Err(err).Dur("retry_in", wait).Int("attempts", p.Attempts+1).Msg("not delivered yet")
		o.recordOutcome(ctx, log, func(ctx context.Context) error {
			o.mu.Lock()
			delete(o.hurried, p.ID) // it was tried
			o.mu.Unlock()
			return o.delay(ctx, p, time.Now().Add(wait), err)
		})
		return
	}
	if err != nil && p.Approval != "" {
		o.unseen(ctx, p.Approval, o.withheldText(ctx, p.Key))
	}
	o.recordOutcome(ctx, log, func(ctx context.Context) error { return o.posts.MarkDelivered(ctx, p, id) })
	failpoint.At("delivery: noted")
	o.fileDelivery.finish(p)
}

// showUnlessSilenced shows p, unless the platform has recently refused any message of the bot in its chat.
func (o *Outbox) showUnlessSilenced(ctx context.Context, p db.Post) (string, error) {
	silences := o.db.Chats()
	switch silenced, err := silences.IsSilenced(ctx, p.Key); {
	case err != nil:
		return "", err
	case silenced:
		return "", chat.ErrSilenced
	}
	id, err := o.present(ctx, p)
	if errors.Is(err, chat.ErrSilenced) {
		if err := silences.Silence(context.WithoutCancel(ctx), p.Key, err.Error()); err != nil {
			o.log.Error().Err(err).Stringer("chat", p.Key).Msg("silenced chat not recorded")
		}
	}
	return id, err
}

// readdress moves an answer to another question of the same turn when its own question was recalled. It reports whether
// the delivery must be retried.
func (o *Outbox) readdress(ctx context.Context, log zerolog.Logger, p db.Post) bool {
	if p.Turn == 0 || p.File == nil && p.CardID != "" { // it was shown, and deleted
		return false
	}
	err := o.posts.Readdress(context.WithoutCancel(ctx), p)
	if err == nil {
		log.Info().Msg("the question, or its topic, is gone; the answer is shown with the previous question")
	} else if !errors.Is(err, db.ErrNotFound) {
		if !errors.Is(err, engine.ErrAway) {
			log.Error().Err(err).Msg("answer not readdressed; trying again")
		}
		workqueue.Sleep(ctx, workqueue.StoreRetry)
		return true
	}
	return err == nil
}

// recordOutcome stores the outcome of a delivery. If that fails, the delivery is repeated, which does no harm.
func (o *Outbox) recordOutcome(ctx context.Context, log zerolog.Logger, f func(context.Context) error) {
	if err := f(context.WithoutCancel(ctx)); err != nil {
		if !errors.Is(err, engine.ErrAway) {
			log.Error().Err(err).Msg("delivery not recorded; it will be repeated")
		}
		workqueue.Sleep(ctx, workqueue.StoreRetry)
	}
}

// failureOf is what people are told of an error. An error of the platform names the obstacle, and gives its reason
// without the call that was made.
func failureOf(err error) db.Failure {
	var platform interface {
		Obstacle() chat.Obstacle
		Reason() error
	}
	if errors.As(err, &platform) {
		return db.Failure{Obstacle: platform.Obstacle(), Why: platform.Reason().Error()}
	}
	return db.Failure{Why: err.Error()}
}

// backoff is the wait after that many failed attempts. It does not use package backoff: the number of attempts is
// stored in the database, so that the wait continues after a restart.
func backoff(attempts int) time.Duration {
	d := min(minRetryWait<<min(attempts, maxAttempts), maxRetryWait)
	return d - d/10 + rand.N(d/5)
}
