package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// aheadStarts has the process of a chat started when something tells that a question is likely to come: it would have
// to be started, and to resume the session, while somebody waits.
type aheadStarts struct {
	preview *Preview
	db      *db.DB
	pool    *claude.Pool
	specs   processSpecs
	due     func(db.Chat) bool // whether a summary comes before the next turn
	jobs    *workqueue.Queue
	log     zerolog.Logger

	mu   sync.Mutex
	last map[chat.Key]time.Time // when a process was last asked for because of a mere sign
}

// Bounds of what a sign brings about: most signs are followed by no question.
const (
	signPeriod = 10 * time.Minute // of one chat, at most one of them counts
	signAge    = time.Hour        // in a chat that was silent for longer they do not count
)

// sign notes that somebody is active in a chat who may have a question.
func (a *aheadStarts) sign(key chat.Key) { a.signOf(key, nil) }

// signOf does so for somebody who may not be admitted; that is asked for only if the sign counts. nil = admitted.
func (a *aheadStarts) signOf(key chat.Key, admitted func(context.Context) (bool, error)) {
	if a.pool.Holds(key.String()) {
		return
	}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, at := range a.last {
		if now.Sub(at) >= signPeriod {
			delete(a.last, other)
		}
	}
	if _, ok := a.last[key]; ok {
		return
	}
	a.last[key] = now
	a.enqueue(key, aheadSign{age: signAge, admitted: admitted})
}

// expect notes that a question is coming.
func (a *aheadStarts) expect(key chat.Key) { a.enqueue(key, aheadSign{}) }

// expectNew notes that a new conversation has begun in a chat, whose first question may take its time.
func (a *aheadStarts) expectNew(key chat.Key) { a.enqueue(key, aheadSign{isNew: true}) }

// afterTurn has the next process of a chat started when that of a turn that has ended does not fit any more: settings
// have changed meanwhile, or a new conversation has begun. Often a question waits already.
func (a *aheadStarts) afterTurn(ctx context.Context, c db.Claim) {
	now, err := a.db.Chats().Get(ctx, c.Turn.Key)
	if err != nil || ctx.Err() != nil {
		return // the next turn finds out as well
	}
	isNew, s, was := now.Epoch != c.Turn.Epoch, now.Settings, c.Chat.Settings
	if isNew || s.Project != was.Project || s.Mode != was.Mode || s.Model != was.Model || s.Effort != was.Effort {
		a.enqueue(c.Turn.Key, aheadSign{isNew: isNew, replaces: true})
	}
}

// aheadSign tells that a question is likely to come.
type aheadSign struct {
	isNew    bool                                // as the first one of a new conversation
	replaces bool                                // a process that is there ends if it does not fit
	age      time.Duration                       // it does not count if the chat was silent for longer; 0 = it always does
	admitted func(context.Context) (bool, error) // whether whoever gave it may ask; nil = yes
}

func (a *aheadStarts) enqueue(key chat.Key, s aheadSign) {
	a.jobs.Enqueue(func(ctx context.Context) {
		ok, err := true, error(nil)
		if s.admitted != nil {
			ok, err = s.admitted(ctx)
		}
		if ok && err == nil {
			err = a.start(ctx, key, s)
		}
		if err != nil {
			// the turn finds out as well, and goes on from the History
			a.log.Debug().Err(err).Stringer("chat", key).Msg("no process started ahead of the question")
		}
	})
}

// start starts the process that the next turn of a chat would start.
func (a *aheadStarts) start(ctx context.Context, key chat.Key, s aheadSign) error {
	if _, err := a.db.Folders().Find(ctx, key); errors.Is(err, db.ErrNotFound) {
		return nil // its first turn takes a spare process
	} else if err != nil {
		return err
	}
	claim, err := a.preview.claim(ctx, chat.Message{Key: key, Text: "?", Time: time.Now()})
	if err != nil || a.due(claim.Chat) || s.age > 0 && time.Since(claim.Chat.Turned) > s.age {
		return err
	}
	spec, err := a.specs.ofChat(claim.Chat)
	if err != nil {
		return err
	}
	if claim.Resume {
		if cause := a.preview.cfg.checkResumable(claim.Chat); cause != "" {
			return &claude.LostError{Session: claim.Turn.Session, Cause: cause}
		}
	} else {
		claim.Turn.Session = uuid.NewString()
	}
	spec.Session, spec.Resume, spec.Files = claim.Turn.Session, claim.Resume, a.specs.files.Dir(ctx, key)
	spec.Known = func() []string { return names(known(ctx, a.db, claim)) }
	if s.replaces {
		if err := a.pool.DropUnfit(key.String(), spec); err != nil {
			return err
		}
	}
	if s.isNew {
		return a.pool.Ahead().StartNew(ctx, key.String(), spec)
	}
	return a.pool.Ahead().Start(ctx, key.String(), spec)
}
