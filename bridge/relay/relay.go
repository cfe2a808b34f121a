// Package relay has each event handled by the bridge that has its room, where several bridges serve an app: the platform
// brings an event to any of them. What arrives at another one is stored, acknowledged, and handled soon after by the right
// one, or by whoever takes the room after that one is gone.
//
// It does not decide who has a room, nor what an event means.
package relay

import (
	"context"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/db/forwarded"
	"magpie/internal/chat"
	"magpie/internal/door"
)

// Config is what a relay needs.
type Config struct {
	// Take takes the room of a chat for this bridge, and reports whether it has it.
	Take func(ctx context.Context, key chat.Key) (mine bool, err error)
	// Away tells whoever has written a message to the bot if no bridge is there that may handle it, and reports whether it did.
	// Without it nobody is told.
	Away func(ctx context.Context, m chat.Incoming) (told bool, err error)
	// Queue keeps events for other bridges.
	Queue forwarded.Queue
	// Secret is known to all bridges, and not to the database.
	Secret string
	Log    zerolog.Logger
}

// Relay takes in what arrives at the doors. It hands to the bridge what that has the room of.
type Relay struct {
	door.Handler // the bridge; events of no chat are its own

	config Config
	seal   cipher.AEAD
	pause  time.Duration // after the first failure

	mu    sync.Mutex
	lanes map[string]*lane // by room
}

// New returns a relay for a bridge. [Relay.Run] must run beside it.
func New(bridge door.Handler, c Config) (*Relay, error) {
	seal, err := newSeal(c.Secret)
	if err != nil {
		return nil, err
	}
	return &Relay{Handler: bridge, config: c, seal: seal, pause: firstPause, lanes: map[string]*lane{}}, nil
}

// HandleMessage implements [door.Handler].
func (r *Relay) HandleMessage(ctx context.Context, m chat.Incoming) error {
	return r.pass(ctx, message, chat.Ref{Key: m.Key, ID: m.ID}, m, func() error { return r.Handler.HandleMessage(ctx, m) })
}

// HandleEdit implements [door.Handler].
func (r *Relay) HandleEdit(ctx context.Context, m chat.Incoming) error {
	return r.pass(ctx, edit, chat.Ref{Key: m.Key, ID: m.ID}, m, func() error { return r.Handler.HandleEdit(ctx, m) })
}

// HandleRecall implements [door.Handler].
func (r *Relay) HandleRecall(ctx context.Context, room chat.Key, id string) error {
	return r.pass(ctx, recall, chat.Ref{Key: room, ID: id}, recalled{room, id}, func() error {
		return r.Handler.HandleRecall(ctx, room, id)
	})
}

// HandlePress implements [door.Handler]. Of a press that another bridge handles there is no toast.
func (r *Relay) HandlePress(ctx context.Context, p chat.Press) (toast string, err error) {
	err = r.pass(ctx, press, chat.Ref{Key: p.Key, ID: p.Card}, p, func() (err error) {
		toast, err = r.Handler.HandlePress(ctx, p)
		return err
	})
	return toast, err
}

// HandleMembership implements [door.Handler].
func (r *Relay) HandleMembership(ctx context.Context, c chat.Change) error {
	return r.pass(ctx, membership, chat.Ref{Key: c.Key}, c, func() error { return r.Handler.HandleMembership(ctx, c) })
}

// HandleRead implements [door.Handler].
func (r *Relay) HandleRead(ctx context.Context, key chat.Key, reader chat.Actor) {
	err := r.pass(ctx, read, chat.Ref{Key: key}, receipt{key, reader}, func() error {
		r.Handler.HandleRead(ctx, key, reader)
		return nil
	})
	if err != nil {
		r.config.Log.Warn().Err(err).Stringer("chat", key).Msg("read receipt not handled")
	}
}

// pass has this bridge handle an event, or stores it for the one that has the room, also if the room goes elsewhere
// meanwhile.
func (r *Relay) pass(ctx context.Context, k kind, at chat.Ref, event any, handle func() error) error {
	here, err := r.isHere(ctx, k, at)
	if err != nil {
		return err
	}
	if here {
		if err := handle(); !errors.Is(err, chat.ErrElsewhere) {
			return err
		}
	}
	if chat.IsLocal(at.Channel()) {
		return chat.ErrElsewhere // the answer would be shown at the other bridge's machine
	}
	data, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("forward an event: %w", err)
	}
	return r.config.Queue.Add(ctx, at.Key, string(k), r.seal.Seal(nil, nil, data, label(at.Key.Parent(), k)))
}

// isHere reports whether this bridge handles an event now. While events of the room wait that another bridge has stored, a
// further one waits behind them, unless it may overtake.
func (r *Relay) isHere(ctx context.Context, k kind, at chat.Ref) (bool, error) {
	mine, err := r.config.Take(ctx, at.Key)
	if err != nil || !mine || k.overtakes() || chat.IsLocal(at.Channel()) {
		return mine, err
	}
	waits, err := r.config.Queue.Has(ctx, at.Key)
	return !waits, err
}
