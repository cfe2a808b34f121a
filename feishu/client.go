// Package feishu turns Feishu events into chat values, and chat values into Feishu calls.
//
// Events come by the official SDK's long connection, calls go through openapi, cards are written by cardjson; only this
// package uses the two. One [Client] is one app.
//
// Who may do what and what a card says do not belong here.
package feishu

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // a short name for one send, not a security measure
	"encoding/hex"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// Handler takes what arrives. An error makes the platform deliver the message again (after 15 s, 5 min, 1 h and 6 h),
// so the message must be stored when Message returns nil, and all must return within a second or so.
type Handler interface {
	Message(ctx context.Context, m chat.Incoming) error
	// Edited takes a message that its author has changed, as it is now. It may not be known.
	Edited(ctx context.Context, m chat.Incoming) error
	// Recalled takes back a message of a chat, or of one of its topics. It may not be known, yet or ever.
	Recalled(ctx context.Context, room chat.Key, id string) error
	// Press handles a button; toast is shown to the person who pressed it; empty shows nothing but that err came, if
	// one did. Its ctx ends after a second, since that person waits. A press is never delivered again.
	Press(ctx context.Context, p chat.Press) (toast string, err error)
	// Active names the chats that spoke lately, those that spoke last first. They are asked for what was missed
	// whenever a connection is made; a message that is known already may be handed over again then.
	Active(ctx context.Context) ([]chat.Activity, error)
	// Change takes in what happened to the bot's place in a chat. It may be told again, and late.
	Change(ctx context.Context, c chat.Change) error
	// Named takes in what people are called, by their ids, when that becomes known. Messages of theirs may have been
	// handed over without a name before.
	Named(ctx context.Context, names map[string]string) error
}

// Client is one app of the platform.
type Client struct {
	cfg          Config
	log          zerolog.Logger
	api          *openapi.Client
	messages     messages
	names        *names
	eventLimiter *eventLimiter
	order        sequencer
	known        seenCache // messages that were handed over
	refused      refusals
	cards        *cards
	signals      *signals
	state        state
	topics       topics
	transcriber  transcriber
	waits        waits
	*uploads
}

// waits is how long those who must be answered soon wait for what may come late. Tests on a busy machine are more
// patient.
type waits struct {
	message time.Duration // of a Handler that takes something in
	press   time.Duration // of a Handler that answers somebody
	missed  time.Duration // of a message, for what was missed before it
}

// New makes a client; it connects in [Client.Run]. Everything else works without a connection.
func New(cfg Config, log zerolog.Logger) *Client {
	a := openapi.New(cfg.api(), log)
	ms := messages{api: a, appID: cfg.AppID}
	n := cfg.patience()
	w := waits{message: n * messageTimeout, press: n * pressTimeout, missed: n * gapPatience}
	return &Client{cfg: cfg, log: log, api: a, messages: ms, waits: w, names: &names{api: a, patience: cmp.Or(cfg.NameWait, nameWait)}, eventLimiter: &eventLimiter{}, cards: &cards{messages: ms, log: log},
		signals: &signals{api: a, app: cfg.AppID},
		topics:  topicsOf(ms, cfg.Topics, n*pressWait), uploads: newUploads(ms, log)}
}

// keyOf is the idempotency key of one send: the same for the same seed and part, also in another process. The platform
// keeps it for an hour and takes 50 characters (page im-v1/message/reply). A send that was refused may be followed
// by another kind of message, which has a key of its own.
func keyOf(seed, kind string, part int) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s\x00%s\x00%d", seed, kind, part)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:16])
}
