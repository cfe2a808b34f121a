package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"magpie/db/forwarded"
	"magpie/internal/chat"
)

const (
	pollEvery = time.Second
	// pollIdle is pollEvery while no events wait: a hint tells of new ones, and is hardly ever lost.
	pollIdle = 5 * time.Second
	longWait = 2 * time.Second // of a message, until somebody looks why
	// tooLong is how long the bridge may take for an event: what a door gives it, and no longer than a stop may take.
	tooLong = 2500 * time.Millisecond
	// Pauses after failures; each is twice as long as the one before. While an event has failed only so often, what came
	// later in its room waits for it; then the room goes on, as it does when the platform delivers an event again.
	firstPause, longestPause = time.Second, 5 * time.Minute
	keepsOrder               = 3
	// leastTries is how often an event is tried, however old it is.
	leastTries = 5
)

// lane is the work on a room. One goroutine at a time works on it.
type lane struct {
	running, again bool
	refused        time.Time // when another bridge had the room
	failures       map[int64]*failure
	told           bool // somebody knows that nobody can handle its events
}

// failure is that of an event.
type failure struct {
	times int
	next  time.Time // not before
}

// Run handles what other bridges have stored until ctx is done.
func (r *Relay) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	hint := make(chan struct{}, 1)
	all.Go(func() {
		r.config.Queue.Wait(ctx, func() {
			select {
			case hint <- struct{}{}:
			default: // there is one
			}
		})
	})
	for ctx.Err() == nil {
		pause := pollEvery
		rooms, err := r.config.Queue.Rooms(ctx)
		if err != nil && ctx.Err() == nil {
			r.config.Log.Warn().Err(err).Msg("events at other bridges cannot be read")
		} else if err == nil {
			r.forgetOthers(rooms)
			if len(rooms) == 0 {
				pause = pollIdle
			}
		}
		for _, room := range rooms {
			if l := r.enter(room); l != nil {
				all.Go(func() { r.work(ctx, room, l) })
			}
		}
		select {
		case <-hint:
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// enter returns the lane of a room that is to be worked on; nil = somebody does.
func (r *Relay) enter(room chat.Key) *lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[room.String()]
	if l == nil {
		l = &lane{failures: map[int64]*failure{}}
		r.lanes[room.String()] = l
	}
	if l.running || time.Since(l.refused) < pollEvery/2 {
		l.again = true
		return nil
	}
	l.running, l.again = true, false
	return l
}

// forgetOthers forgets rooms of which no event waits any more.
func (r *Relay) forgetOthers(rooms []chat.Key) {
	waiting := map[string]bool{}
	for _, room := range rooms {
		waiting[room.String()] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for room, l := range r.lanes {
		if !l.running && !waiting[room] {
			delete(r.lanes, room)
		}
	}
}

// work handles the events of a room, if this bridge has it or can take it.
func (r *Relay) work(ctx context.Context, room chat.Key, l *lane) {
	for again := true; again; {
		mine, err := r.config.Take(ctx, room)
		if err == nil && mine {
			err = r.handleAll(ctx, room, l)
		} else if err == nil {
			err = r.tellAway(ctx, room, l)
		}
		if err != nil && ctx.Err() == nil {
			r.config.Log.Warn().Err(err).Stringer("chat", room).Msg("events at other bridges not handled")
		}
		r.mu.Lock()
		if err == nil && !mine {
			l.refused = time.Now()
		}
		again = l.again && mine && err == nil && ctx.Err() == nil
		l.running, l.again = again, false
		r.mu.Unlock()
	}
}

// tellAway tells who waits if nobody is there that may handle the events of a room, once while some wait.
func (r *Relay) tellAway(ctx context.Context, room chat.Key, l *lane) error {
	if l.told || r.config.Away == nil {
		return nil
	}
	events, err := r.config.Queue.Events(ctx, room, 0)
	if err != nil {
		return err
	}
	for _, e := range events {
		var m chat.Incoming
		if kind(e.Kind) != message || e.Age < longWait {
			continue
		}
		data, err := r.seal.Open(nil, nil, e.Payload, label(room, message))
		if err != nil || json.Unmarshal(data, &m) != nil || !m.ToBot {
			continue // whoever handles it says what is wrong with it
		}
		if l.told, err = r.config.Away(ctx, m); l.told || err != nil {
			return err
		}
	}
	return nil
}

// handleAll handles all events of a room that are due.
func (r *Relay) handleAll(ctx context.Context, room chat.Key, l *lane) error {
	held, last := false, int64(0) // an event must be tried again before later ones are handled
	for {
		events, err := r.config.Queue.Events(ctx, room, last)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			last = e.ID
			if held && !kind(e.Kind).overtakes() {
				continue
			}
			if f := l.failures[e.ID]; f == nil || !time.Now().Before(f.next) {
				err := r.handle(ctx, room, e)
				if errors.Is(err, chat.ErrElsewhere) {
					return nil // whoever has the room now handles what waits
				}
				if err == nil || r.gaveUp(room, e, l, err) {
					if err := r.config.Queue.Remove(context.WithoutCancel(ctx), room, e.ID); err != nil {
						return err
					}
					delete(l.failures, e.ID)
				}
			}
			if f := l.failures[e.ID]; f != nil && f.times <= keepsOrder && !kind(e.Kind).overtakes() {
				held = true
			}
		}
	}
}

// handle hands an event to the bridge, also while this one stops: half of what an event needs could give it another
// meaning. It may be handed over again: after a crash before it is removed.
func (r *Relay) handle(ctx context.Context, room chat.Key, e forwarded.Event) error {
	k := kind(e.Kind)
	data, err := r.seal.Open(nil, nil, e.Payload, label(room, k))
	if err != nil { // which tells nothing
		return errSealed
	}
	to := handlers[k]
	if to == nil {
		return fmt.Errorf("a forwarded event of a kind that this version does not know: %q", k)
	}
	ctx, cancel := context.WithTimeout(r.config.Log.WithContext(context.WithoutCancel(ctx)), tooLong)
	defer cancel()
	return to(ctx, r.Handler, data)
}

// gaveUp notes that an event has failed, and reports whether it is not to be tried again.
func (r *Relay) gaveUp(room chat.Key, e forwarded.Event, l *lane, err error) bool {
	if isFinal(err) {
		return true
	}
	f := l.failures[e.ID]
	if f == nil {
		f = &failure{}
		l.failures[e.ID] = f
	}
	f.times++
	f.next = time.Now().Add(min(longestPause, r.pause<<min(f.times-1, 10)))
	over := f.times >= leastTries && e.Age > kind(e.Kind).patience()
	log := r.config.Log.Warn()
	if over {
		log = r.config.Log.Error()
	}
	log.Err(err).Stringer("chat", room).Str("kind", e.Kind).Int("times", f.times).Bool("dropped", over).
		Msg("an event from another bridge was not handled")
	return over
}
