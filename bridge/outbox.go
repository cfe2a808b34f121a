package bridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// outbox delivers what the store says must be shown, in order within each chat, until the platform has confirmed it.
type outbox struct {
	db    *db.DB
	posts db.Outbox // what is to be delivered
	out   Messenger
	lang  func(context.Context, chat.Key) i18n.Lang // in which a chat is spoken to
	log   zerolog.Logger
	jobs  *workqueue.Queue
	lanes workqueue.Lanes

	fileDelivery *fileDelivery
	// ends what people cannot read and decide; see [approvals.unseen]
	unseen func(ctx context.Context, approval, notice string) bool

	mu   sync.Mutex
	held map[int64]bool // turns whose painter may still be drawing
}

func newOutbox(store *db.DB, out Messenger, copies fileSpool, tongue func(context.Context, chat.Key) i18n.Lang, log zerolog.Logger) *outbox {
	return &outbox{
		db: store, posts: store.Outbox(), out: out, lang: tongue, log: log, jobs: workqueue.New(deliveries), held: map[int64]bool{},
		fileDelivery: newFileDelivery(store.Outbox().FileDeliveries(), copies, out),
		unseen:       func(context.Context, string, string) bool { return false }, // as long as nobody asks
	}
}

const (
	poll      = time.Second        // how often what was put off is looked for
	firstWait = time.Second        // before a failed delivery is tried again; doubles up to
	lastWait  = 5 * time.Minute    //
	giveUp    = 3 * 24 * time.Hour // after which nobody waits for it any more
	// made before something is given up, in more than an hour: the program may have been off for days
	leastTries = 20
	keysLast   = 50 * time.Minute // how long the platform surely knows an idempotency key; it promises an hour
	batch      = 100              // chats that are taken up at once
	// for what was sent, within half a minute; the bot may not be allowed to list messages, and then sends
	mostSearches = 5

	deliveries = 16 // chats that are delivered to at the same time
)

// wake makes sure that somebody delivers for the chat.
func (o *outbox) wake(key chat.Key) {
	if o.lanes.Enter(key) {
		o.jobs.Enqueue(func(ctx context.Context) { o.work(ctx, key) })
	}
}

// hold leaves a turn's card to its painter until release is called. Who releases it wakes the chat when there is
// something to be delivered.
func (o *outbox) hold(turn int64) (release func()) {
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
func (o *outbox) ready(p db.Post) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !time.Now().Before(p.Due) && (p.Card == nil || !o.held[p.Turn])
}

// run delivers until stop is closed and what can be delivered at once is. ctx ends it at last.
func (o *outbox) run(ctx context.Context, stop <-chan struct{}) {
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		o.poll(ctx, stop)
	}()
	o.jobs.Run(ctx, stop)
	<-polled
}

// poll wakes the chats for which the time has come to try again.
func (o *outbox) poll(ctx context.Context, stop <-chan struct{}) {
	t := time.NewTicker(poll)
	defer t.Stop()
	for {
		keys, err := o.posts.Due(ctx, batch)
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
		p, err := o.posts.Next(ctx, key)
		switch {
		case err != nil && hopeless(err), err == nil && !o.ready(p):
			if o.lanes.Leave(key) {
				return
			}
		case err != nil:
			o.log.Error().Err(err).Stringer("chat", key).Msg("next delivery not found; trying again")
			workqueue.Sleep(ctx, workqueue.StoreRetry)
		default:
			o.deliver(ctx, p)
		}
	}
}

// deliver shows p and notes what became of it.
func (o *outbox) deliver(ctx context.Context, p db.Post) {
	log := o.log.With().Stringer("chat", p.Key).Int64("turn", p.Turn).Str("answers", p.ReplyTo).Logger()
	failpoint.At("delivery: begun")
	id, err := o.show(ctx, p)
	failpoint.At("delivery: shown")
	switch {
	case err == nil:
	case errors.Is(err, chat.ErrGone) && o.readdress(ctx, log, p):
		return
	case errors.Is(err, chat.ErrGone):
		log.Info().Msg("the question was taken back; its answer is not shown")
	case errors.Is(err, chat.ErrUnreachable):
		log.Warn().Err(err).Msg("the chat cannot be reached; what was to be shown there is only in the History")
	case ctx.Err() != nil:
		return // it waits for the next start
	case time.Since(p.Created) > giveUp && p.Attempts >= leastTries:
		log.Error().Err(err).Msg("not delivered for days; given up")
	default:
		wait := backoff(p.Attempts)
		log.Warn().Err(err).Dur("retry_in", wait).Int("attempts", p.Attempts+1).Msg("not delivered yet")
		o.note(ctx, log, func(ctx context.Context) error { return o.delay(ctx, p, time.Now().Add(wait)) })
		return
	}
	if err != nil && p.Approval != "" {
		o.unseen(ctx, p.Approval, o.withheld(ctx, p.Key))
	}
	o.note(ctx, log, func(ctx context.Context) error { return o.posts.Delivered(ctx, p, id) })
	failpoint.At("delivery: noted")
	o.fileDelivery.done(p)
}

// readdress lets an answer to several questions, of which one was taken back, answer another. It reports whether there
// is something to be tried again.
func (o *outbox) readdress(ctx context.Context, log zerolog.Logger, p db.Post) bool {
	if p.Turn == 0 || p.Parcel == nil && p.CardID != "" { // it has been shown, and was taken away
		return false
	}
	err := o.posts.Readdress(context.WithoutCancel(ctx), p)
	if err == nil {
		log.Info().Msg("the question was taken back; the answer is shown with the one before it")
	} else if !errors.Is(err, db.ErrNotFound) {
		log.Error().Err(err).Msg("answer not readdressed; trying again")
		workqueue.Sleep(ctx, workqueue.StoreRetry)
		return true
	}
	return err == nil
}

// note stores what became of a delivery. A delivery that is not noted is repeated, which does no harm.
func (o *outbox) note(ctx context.Context, log zerolog.Logger, f func(context.Context) error) {
	if err := f(context.WithoutCancel(ctx)); err != nil {
		log.Error().Err(err).Msg("delivery not noted; it will be repeated")
		workqueue.Sleep(ctx, workqueue.StoreRetry)
	}
}

// backoff is the wait after so many failed attempts.
func backoff(attempts int) time.Duration {
	d := min(firstWait<<min(attempts, 10), lastWait)
	return d - d/10 + rand.N(d/5)
}

// show makes p visible. It returns the id of the message that shows it, when it is not a card that is drawn again.
func (o *outbox) show(ctx context.Context, p db.Post) (string, error) {
	to := chat.Ref{Key: p.Key, ID: p.ReplyTo}
	if p.Turn == 0 && p.Approval == "" && p.Grant == "" || p.Parcel != nil {
		send := o.say
		if p.Parcel != nil {
			send = o.file
		}
		id, err := send(ctx, to, p)
		if errors.Is(err, chat.ErrRefused) {
			return o.out.Reply(ctx, to, o.withheld(ctx, p.Key), p.Idem+":withheld")
		}
		return id, err
	}
	id, err := o.card(ctx, to, p)
	if err == nil {
		err = o.out.Close(ctx, id, *p.Card)
	}
	if errors.Is(err, chat.ErrRefused) {
		err = o.withhold(ctx, to, p, id)
	}
	return "", err
}

// withhold shows that there is a card that the platform does not allow, in place of it when it is drawn already. Nobody
// can decide about what he cannot read.
func (o *outbox) withhold(ctx context.Context, to chat.Ref, p db.Post, card string) error {
	notice := o.withheld(ctx, p.Key)
	if p.Approval != "" && o.unseen(ctx, p.Approval, notice) {
		return nil // what became of it is shown next
	}
	if card == "" {
		_, err := o.out.Reply(ctx, to, notice, p.Idem+":withheld")
		return err
	}
	c := chat.Card{Body: notice, Summary: notice, Buttons: p.Card.Buttons}
	if p.Approval != "" || p.Grant != "" {
		c.Buttons = nil
	}
	return o.out.Close(ctx, card, c)
}

// withheld is said in place of words that the platform does not allow, which are in the History anyway.
func (o *outbox) withheld(ctx context.Context, key chat.Key) string {
	return i18n.Withheld.In(o.lang(ctx, key))
}

// say sends what belongs to no turn, unless an earlier attempt did.
func (o *outbox) say(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	sent, err := o.find(ctx, to, p.Created, p)
	if err != nil {
		return "", err
	}
	for _, s := range sent {
		if s.File == "" && (p.Card != nil || s.Card == "") {
			return s.ID, nil
		}
	}
	if p.Card == nil {
		return o.out.Reply(ctx, to, p.Text, p.Idem)
	}
	card, err := o.out.Post(ctx, to, *p.Card, p.Idem)
	message, _, _ := strings.Cut(card, "/") // with which the name of a card begins
	return message, err
}

// card is the card on which p is drawn: its own, or a new one.
func (o *outbox) card(ctx context.Context, to chat.Ref, p db.Post) (id string, err error) {
	if p.CardID != "" {
		return p.CardID, nil
	}
	idem := p.Idem
	switch {
	case p.Approval != "":
		idem = "approval:" + p.Approval
		id, err = o.asking(ctx, to, p)
	case p.Turn != 0:
		idem = cardKey(p.Turn, to)
		id, err = o.posted(ctx, to, p)
	}
	if err == nil && id == "" {
		id, err = o.out.Post(ctx, to, *p.Card, idem)
	}
	if err != nil {
		return "", err
	}
	ctx = context.WithoutCancel(ctx)
	switch {
	case p.Approval != "":
		return id, o.db.Approvals().SetCard(ctx, p.Approval, id)
	case p.Grant != "":
		return id, o.db.Grants().SetCard(ctx, p.Grant, id)
	}
	return id, o.db.Turns().SetCard(ctx, p.Turn, id)
}

// askedAt is how much earlier than an approval was asked for its card can have been posted, by the platform's clock.
const askedAt = 5 * time.Second

// asking looks for the card of an approval that was posted without being noted; empty = none as far as is known. No
// card that its turn has begun before is it.
func (o *outbox) asking(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	sent, err := o.find(ctx, to, p.Begun, p)
	if err != nil || len(sent) == 0 {
		return "", err
	}
	others, err := o.posts.BesideCards(ctx, to.Key, p.Approval)
	if err != nil {
		return "", err
	}
	return notAmong(others, slices.DeleteFunc(sent, func(s chat.Sent) bool { return s.Time.Before(p.Begun.Add(-askedAt)) })), nil
}

// notAmong is the first card of what was sent that is none of the others; empty = there is none.
func notAmong(others []string, sent []chat.Sent) string {
	for _, s := range sent {
		if s.Card != "" && !slices.ContainsFunc(others, func(card string) bool { return strings.HasPrefix(card, s.ID) }) {
			return s.Card
		}
	}
	return ""
}

// posted looks for the card that a turn has posted without noting it; empty = none as far as is known.
func (o *outbox) posted(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	sent, err := o.find(ctx, to, p.Begun, p)
	if err != nil || len(sent) == 0 {
		return "", err
	}
	others, err := o.posts.ContinuedCards(ctx, p.Turn) // they answer the same message
	if err == nil && to.Key.Thread != "" {
		var near []string
		near, err = o.posts.NearbyCards(ctx, to.Key, p.Turn) // and in a topic it is not known what is answered
		others = append(others, near...)
	}
	if err != nil {
		return "", err
	}
	return notAmong(others, sent), nil
}

// find lists what was sent in answer to a message, when that may have been so long ago that the platform does not know
// its key any more. Before that, sending it again does no harm. What the History knows was sent for something else, and
// what answers nothing cannot be looked for.
func (o *outbox) find(ctx context.Context, to chat.Ref, since time.Time, p db.Post) ([]chat.Sent, error) {
	if to.ID == "" || time.Since(since) <= keysLast {
		return nil, nil
	}
	sent, err := o.out.Find(ctx, to)
	switch {
	case err != nil && (p.Attempts < mostSearches || errors.Is(err, chat.ErrGone)):
		return nil, fmt.Errorf("look whether it was sent: %w", err)
	case err != nil:
		o.log.Warn().Err(err).Stringer("chat", to.Key).Msg("what was sent cannot be looked for; sending it")
	}
	var open []chat.Sent
	for _, s := range sent {
		known, err := o.db.Messages().Known(ctx, to.Key, s.ID)
		if err != nil {
			return nil, err
		}
		if !known {
			open = append(open, s)
		}
	}
	return open, nil
}

// cardKey makes the posting of a turn's card idempotent.
func cardKey(turn int64, to chat.Ref) string { return fmt.Sprintf("turn:%d:%s", turn, to.ID) }
