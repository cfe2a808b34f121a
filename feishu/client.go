// Package feishu turns Feishu events into chat values, and chat values into Feishu calls.
//
// Events arrive over the long connection of the official SDK, calls go through openapi, and cardjson writes the cards;
// only this package uses the two. One [Client] is one app.
//
// It does not decide who may do what, nor what a card says.
package feishu

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // a short name for one send, not a security measure
	"encoding/hex"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

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
	message  time.Duration // of a [door.Handler] call that stores something
	press    time.Duration // of a [door.Handler] call that answers a press
	backfill time.Duration // how long a message waits for missed messages
}

// New returns a client; it connects in [Client.Run]. Everything else works without a connection.
func New(cfg Config, log zerolog.Logger) *Client {
	a := openapi.New(cfg.apiConfig(), log)
	ms := messages{api: a, appID: cfg.AppID, readBacks: newReadBacks(),
		updates: newPartialUpdates(cfg.WholeCards, log), sent: newSeenCache(), sequences: &sequences{last: map[string]sequence{}}}
	n := cfg.timeoutFactor()
	names := newNames(a, cmp.Or(cfg.NameWait, nameWait))
	topics := newTopicCache(ms, cfg.Topics, n*pressWait)
	state := &state{}
	return &Client{
		cfg: cfg, log: log, api: a, messages: ms, names: names, state: state, topics: topics, known: newSeenCache(),
		reader: &messageReader{
			appID: cfg.AppID, answerBots: cfg.AnswerBots, state: state, names: names, topics: topics,
			private: newPrivateChats(), edits: newEditTimes(), malformedLog: malformedLog{log: log},
		},
		cards:     newCards(ms, log),
		reactions: newReactions(a, cfg.AppID),
		waits:     timeouts{message: n * messageTimeout, press: n * pressTimeout, backfill: n * backfillTimeout},

		transcriber: &transcriber{api: a}, uploads: newUploads(ms, log),
	}
}

// Channel begins the keys of Feishu's chats.
func (c *Client) Channel() string { return chat.FeishuChat("").Channel }

// Traits are facts about the platform that change what the bridge does.
func (c *Client) Traits() door.Traits {
	name := c.cfg.PlatformName()
	return door.Traits{Name: i18n.Phrase{ZH: i18n.ErrorText(i18n.Chinese, name), EN: i18n.ErrorText(i18n.English, name)}}
}

// Health is whether the client is connected and its calls are answered.
func (c *Client) Health() door.Health {
	s := c.Status()
	return door.Health{
		Connected: s.Connected, Since: s.Since, LastError: s.LastError, Hint: s.Hint, CircuitOpen: s.CircuitOpen,
	}
}

// SetShare limits this program to a part of the rates that the platform allows the app, from 0 to 1.
func (c *Client) SetShare(share float64) { c.api.SetShare(share) }

// ShutWhile has all calls fail while shut reports true, because another program may make them.
func (c *Client) ShutWhile(shut func() bool) { c.api.ShutWhile(shut) }

// Age is how long ago, at least, a time of the platform was, whatever this machine's clock says.
func (c *Client) Age(at time.Time) time.Duration { return c.api.Age(at) }

// keyOf is the idempotency key of one send: the same for the same seed, kind and part, also in another process. The
// platform keeps it for an hour and allows 50 characters (page im-v1/message/reply). The kind is part of it because a
// refused send may be followed by another kind of message, which needs another key.
func keyOf(seed, kind string, part int) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s\x00%s\x00%d", seed, kind, part)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:16])
}
