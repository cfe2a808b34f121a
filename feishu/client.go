// Package feishu turns Feishu events into chat values, and chat values into Feishu calls.
//
// Events arrive over the long connection of the official SDK, calls go through openapi, and cardjson writes the cards;
// only this package uses the two. One [Client] is one app.
//
// It does not decide who may do what, nor what a card says.
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

// Handler receives what arrives. After an error the platform delivers the message again (after 15 s, 5 min, 1 h and 6
// h), so HandleMessage must return nil only when the message is stored. All methods must return within about a second.
type Handler interface {
	HandleMessage(ctx context.Context, m chat.Incoming) error
	// HandleEdit receives the new version of a message that its author has edited. The message may be unknown.
	HandleEdit(ctx context.Context, m chat.Incoming) error
	// HandleRecall reports that a message of a chat, or of one of its topics, was recalled. The message may be unknown,
	// and may still arrive.
	HandleRecall(ctx context.Context, room chat.Key, id string) error
	// HandlePress handles a button. toast is shown to the person who pressed it; an empty toast shows nothing, or a
	// general text if err is set. ctx ends before the platform shows an error. A press is never delivered again, so
	// it should take a second only if it would fail otherwise.
	HandlePress(ctx context.Context, p chat.Press) (toast string, err error)
	// ActiveChats lists the recently active chats, the latest first. The client fetches their missed messages after
	// each connect; a message that is known already may be passed to HandleMessage again then.
	ActiveChats(ctx context.Context) ([]chat.Activity, error)
	// HandleMembership reports a change of the bot's membership in a chat. It may arrive late, and more than once.
	HandleMembership(ctx context.Context, c chat.Change) error
	// HandleRead reports that a person has read what the bot wrote in a private chat. It comes for each message.
	HandleRead(ctx context.Context, key chat.Key, reader chat.Actor)
	// PrivateChat is the private chat with a person who has written there before; the zero key if there is none.
	PrivateChat(ctx context.Context, user string) (chat.Key, error)
	// HandleNames reports names by user id when they become known. Messages of these users may have been passed on
	// without a name before.
	HandleNames(ctx context.Context, names map[string]string) error
}

// Client is one app of the platform.
type Client struct {
	cfg       Config
	log       zerolog.Logger
	api       *openapi.Client
	messages  messages
	names     *names
	order     sequencer
	known     seenCache // ids of messages that the handler has accepted
	reader    *messageReader
	cards     *cards
	reactions *reactions
	state     *state
	topics    *topics
	waits     timeouts
	*transcriber
	*uploads
}

// timeouts limit calls whose result someone is waiting for. Tests on a busy machine use longer ones.
type timeouts struct {
	message  time.Duration // of a Handler call that stores something
	press    time.Duration // of a Handler call that answers a press
	backfill time.Duration // how long a message waits for missed messages
}

// New returns a client; it connects in [Client.Run]. Everything else works without a connection.
func New(cfg Config, log zerolog.Logger) *Client {
	a := openapi.New(cfg.apiConfig(), log)
	ms := messages{api: a, appID: cfg.AppID, readBacks: &readBacks{last: map[string]readBack{}},
		updates: newPartialUpdates(cfg.WholeCards, log), sent: &seenCache{}, sequences: &sequences{last: map[string]sequence{}}}
	n := cfg.timeoutFactor()
	names := newNames(a, cmp.Or(cfg.NameWait, nameWait))
	topics := newTopicCache(ms, cfg.Topics, n*pressWait)
	state := &state{}
	return &Client{
		cfg: cfg, log: log, api: a, messages: ms, names: names, state: state, topics: topics,
		reader: &messageReader{
			appID: cfg.AppID, answerBots: cfg.AnswerBots, state: state, names: names, topics: topics,
			private: newPrivateChats(), edits: newEditTimes(), malformedLog: malformedLog{log: log},
		},
		cards:     &cards{messages: ms, log: log},
		reactions: newReactions(a, cfg.AppID),
		waits:     timeouts{message: n * messageTimeout, press: n * pressTimeout, backfill: n * backfillTimeout},

		transcriber: &transcriber{api: a}, uploads: newUploads(ms, log),
	}
}

// Age is how long ago, at least, a time of the platform was, whatever this machine's clock says.
func (c *Client) Age(at time.Time) time.Duration { return c.api.Age(at) }

// keyOf is the idempotency key of one send: the same for the same seed, kind and part, also in another process. The
// platform keeps it for an hour and allows 50 characters (page im-v1/message/reply). The kind is part of it because a
// refused send may be followed by another kind of message, which needs another key.
func keyOf(seed, kind string, part int) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s\x00%s\x00%d", seed, kind, part)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:16])
}
