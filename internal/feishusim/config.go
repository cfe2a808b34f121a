package feishusim

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Config describes the app and the platform's clocks. The zero value is the real platform's behavior for a random app.
type Config struct {
	AppID     string // default: a random cli_<16 hex>; give each server its own, the SDK's token cache is keyed by it
	AppSecret string // default: random
	BotName   string // default: Magpie
	Listen    string // default: 127.0.0.1:0; loopback only
	Pipe      *Pipe  // instead of Listen
	Folder    string // a folder with the files of [Server.Save], if any; empty = a new world

	AckTimeout time.Duration // an event not acknowledged within it is pushed again; default 3s
	// the waits before each redelivery; default 15s, 5m, 1h, 6h; empty but not nil: never again
	Redeliver    []time.Duration
	PingInterval time.Duration // sent to clients in whole seconds, at least 1s; default 120s
	Reconnect    Reconnect     // sent to clients
	Fragment     int           // above 0: event payloads are split into pieces of this many bytes

	StreamingTTL time.Duration // streaming mode closes itself after it; default 10m
	TokenTTL     time.Duration // life of a tenant access token; default 2h
	MentionsOnly bool          // the app lacks im:message.group_msg: in groups it only gets mentions of the bot
	Limits       Limits
	CardUpdates  CardUpdates

	ClockBehind time.Duration // the platform's clock, as its replies tell it, compared with this machine's

	// the cards in a merged forward can be read as they were sent; else such a read fails, as some observe
	ForwardedCards bool
}

// CardUpdates is how the app is notified that one of its own cards has changed. On the platform that is
// im.message.updated_v1, for each operation, if the app is subscribed to it; the content of the event is not
// documented.
type CardUpdates int

// Ways of notifying about a changed card.
const (
	CardUpdatesUnsubscribed CardUpdates = iota // the app is not subscribed
	CardUpdatesOfBot                           // the event names the bot, and has the content of the message
	CardUpdatesBare                            // it has neither sender nor text
)

// Reconnect is the reconnect policy that the platform sends to clients, in whole seconds.
type Reconnect struct {
	Interval time.Duration // between attempts; default 120s, negative: 0
	Nonce    time.Duration // upper bound of a random wait before the first attempt; default 30s, negative: 0
}

// Limits are the platform's request rates (doc: api-call-guide/frequency-control, im-v1/message/create,
// cardkit-v1/card-element/content). 0 is the documented value, a negative number means no limit.
type Limits struct {
	AppPerSecond     int // requests of one app to one API; default 50
	AppPerMinute     int // the same per minute; default 1000
	ChatPerSecond    int // messages into one chat; default 5
	MessagePerSecond int // updates of one message; default 5
	CardPerSecond    int // operations on one card entity; default 10
}

// maxConnections is how many long connections one app may hold (doc: event-subscription-guide/overview).
const maxConnections = 50

func (c Config) withDefaults() Config {
	setDefault(&c.AppID, "cli_"+randomHex(8))
	setDefault(&c.AppSecret, randomHex(16))
	setDefault(&c.BotName, "Magpie")
	setDefault(&c.Listen, "127.0.0.1:0")
	setDefault(&c.AckTimeout, usualAck)
	setDefault(&c.PingInterval, 120*time.Second)
	setDefault(&c.Reconnect.Interval, 120*time.Second)
	setDefault(&c.Reconnect.Nonce, 30*time.Second)
	setDefault(&c.StreamingTTL, 10*time.Minute)
	setDefault(&c.TokenTTL, 2*time.Hour)
	if c.Redeliver == nil {
		c.Redeliver = []time.Duration{15 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour}
	}
	setDefault(&c.Limits.AppPerSecond, 50)
	setDefault(&c.Limits.AppPerMinute, 1000)
	setDefault(&c.Limits.ChatPerSecond, 5)
	setDefault(&c.Limits.MessagePerSecond, 5)
	setDefault(&c.Limits.CardPerSecond, 10)
	return c
}

// client is the configuration sent to clients, in whole seconds (oapi-sdk-go ws/model.go).
func (c Config) client() map[string]int {
	seconds := func(d time.Duration) int { return max(0, int(d/time.Second)) }
	return map[string]int{"ReconnectCount": -1, "ReconnectInterval": seconds(c.Reconnect.Interval),
		"ReconnectNonce": seconds(c.Reconnect.Nonce), "PingInterval": max(1, seconds(c.PingInterval))}
}

// setDefault sets *p unless it is set; a negative number therefore stays and can mean "none".
func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// randomHex returns 2n hex digits.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
