package openapi

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits keeps to the platform's rates (pages "Frequency control", im-v1/message/create and cardkit-v1/card/update).
// Each allows a little less than the platform does in any second, a burst included.
type limits struct {
	second *rate.Limiter // the platform: 50 in a second
	minute *rate.Limiter // the platform: 1000 in a minute
	turn   turn          // of those who wait for both

	mu    sync.Mutex
	chats map[string]chatLimit
}

// chatLimit is for the messages of one chat.
type chatLimit struct {
	*rate.Limiter
	turn turn
}

// turn lets one wait for a limit at a time, and the others in their order behind it: if each had its time, all whose
// time has come while the machine stood still would go at once.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits until it is one's turn, and then until each limiter lets one through.
func (t turn) take(ctx context.Context, limiters ...*rate.Limiter) error {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t }()
	for _, l := range limiters {
		if err := Take(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// newLimits makes the limits of an app that keeps to so many times the platform's rates.
func newLimits(pace float64) limits {
	return limits{
		second: rate.NewLimiter(rate.Limit(40*pace), int(math.Ceil(8*pace))),
		minute: rate.NewLimiter(rate.Limit(14*pace), int(math.Ceil(120*pace))),
		turn:   newTurn(),
	}
}

// app waits until the app may make a call.
func (l *limits) app(ctx context.Context) error { return l.turn.take(ctx, l.minute, l.second) }

// ready waits until a call would not have to wait.
func (l *limits) ready(ctx context.Context) error {
	if err := Idle(ctx, l.minute, 1); err != nil {
		return err
	}
	return Idle(ctx, l.second, 1)
}

// spare waits until there is room for a call and for some that are more urgent.
func (l *limits) spare(ctx context.Context) error {
	if err := Idle(ctx, l.minute, l.minute.Burst()/2); err != nil {
		return err
	}
	return Idle(ctx, l.second, l.second.Burst()/2)
}

// chat waits until one more message may go to a chat: the platform takes 5 in a second.
func (l *limits) chat(ctx context.Context, id string) error {
	lim := l.of(id)
	return lim.turn.take(ctx, lim.Limiter)
}

func (l *limits) of(chat string) chatLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lim, ok := l.chats[chat]; ok {
		return lim
	}
	if len(l.chats) >= 1000 {
		for id, lim := range l.chats {
			if lim.Tokens() >= float64(lim.Burst()) {
				delete(l.chats, id)
			}
		}
	}
	if l.chats == nil {
		l.chats = make(map[string]chatLimit)
	}
	lim := chatLimit{rate.NewLimiter(3, 2), newTurn()}
	l.chats[chat] = lim
	return lim
}

// CardRate is for the operations on one card entity: the platform takes 10 in a second.
func CardRate() *rate.Limiter { return rate.NewLimiter(8, 2) }

// PatchRate is for a card that is updated as a message: the platform takes 5 in a second, the clients draw each anew.
func PatchRate() *rate.Limiter { return rate.NewLimiter(rate.Every(1200*time.Millisecond), 1) }

// Take waits until the limiter lets one through. Unlike its own Wait it has no error but ctx's.
func Take(ctx context.Context, l *rate.Limiter) error {
	r := l.Reserve()
	if d := r.Delay(); d > 0 {
		if err := Sleep(ctx, d); err != nil {
			r.Cancel()
			return err
		}
	}
	return ctx.Err()
}

// Idle waits until the limiter would let so many through, and leaves it to the caller to take them. It has no error but
// ctx's. (A reservation that
// is cancelled at once would not do: once its time has come it keeps its token.)
func Idle(ctx context.Context, l *rate.Limiter, room int) error {
	for {
		missing := float64(room) - l.Tokens()
		if missing <= 0 {
			return ctx.Err()
		}
		wait := time.Duration(missing / float64(l.Limit()) * float64(time.Second))
		if err := Sleep(ctx, max(wait, time.Millisecond)); err != nil {
			return err
		}
	}
}
