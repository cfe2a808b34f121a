package relay

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// kind is a kind of event. The names are stored.
type kind string

const (
	message    kind = "message"
	edit       kind = "edit"
	recall     kind = "recall"
	press      kind = "press"
	membership kind = "membership"
	read       kind = "read"
)

// recalled and receipt are the events that are no value of package chat.
type (
	recalled struct {
		Room chat.Key
		ID   string
	}
	receipt struct {
		Key    chat.Key
		Reader chat.Actor
	}
)

// handlers hand an event of each kind to the bridge.
var handlers = map[kind]func(ctx context.Context, to door.Handler, event []byte) error{
	message:    of(door.Handler.HandleMessage),
	edit:       of(door.Handler.HandleEdit),
	membership: of(door.Handler.HandleMembership),
	recall: of(func(h door.Handler, ctx context.Context, r recalled) error {
		return h.HandleRecall(ctx, r.Room, r.ID)
	}),
	press: of(func(h door.Handler, ctx context.Context, p chat.Press) error {
		_, err := h.HandlePress(ctx, p) // whoever has pressed was told nothing, and sees what becomes of the card
		return err
	}),
	read: of(func(h door.Handler, ctx context.Context, r receipt) error {
		h.HandleRead(ctx, r.Key, r.Reader)
		return nil
	}),
}

func of[E any](handle func(door.Handler, context.Context, E) error) func(context.Context, door.Handler, []byte) error {
	return func(ctx context.Context, h door.Handler, data []byte) error {
		var event E
		if err := json.Unmarshal(data, &event); err != nil {
			return fmt.Errorf("a forwarded event: %w", err)
		}
		return handle(h, ctx, event)
	}
}

// overtakes reports whether an event may be handled before an earlier one that has failed.
func (k kind) overtakes() bool { return k == press || k == read }

// patience is for how long an event is tried that fails each time. The platform delivers one again for 7.1 hours, and a
// press not at all.
func (k kind) patience() time.Duration {
	if k.overtakes() {
		return time.Minute
	}
	return 8 * time.Hour
}

// isFinal reports whether an error will not be another one the next time. Doors do not repeat such an event either.
func isFinal(err error) bool {
	return errors.Is(err, chat.ErrDenied) || errors.Is(err, chat.ErrNoChat) || errors.Is(err, chat.ErrOtherDoor)
}

// newSeal returns what keeps the content of events from being read in the database. Any text may be the code of a login,
// and only the bridge that has asked for it knows: codes are never stored. All bridges of an app have its secret.
func newSeal(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "magpie forwarded events", 32)
	if err != nil {
		return nil, fmt.Errorf("key for forwarded events: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key for forwarded events: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// errSealed is why an event from another bridge cannot be read.
var errSealed = i18n.Mistakef("读不出另一个鹊桥转来的事件：检查各台机器上飞书应用的 App Secret 是否一致",
	"an event from another bridge cannot be read: check that all machines have the same secret of the Feishu app")

// label is what a sealed event is bound to: it is handled in its own room, as what it is.
func label(room chat.Key, k kind) []byte { return []byte(string(k) + " " + room.String()) }
