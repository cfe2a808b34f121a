package feishusim

import (
	"encoding/json"
	"time"
)

// User is a person of the tenant, as this app sees it: the open id is per app.
type User struct {
	OpenID, UserID, UnionID, Name string
	AppID                         string // of another bot; a person has none
}

// Chat is a private chat of the bot and a user, or a group.
type Chat struct {
	ID      string
	Name    string
	Mode    string // p2p | group | topic: a group in which every message belongs to a topic
	Members []User // without the bot
	BotIn   bool   // whether the bot is a member
}

// Sender is the author of a message.
type Sender struct {
	ID   string // open id of a user, app id of a bot
	Type string // user | app
	Name string

	OpenBotID string // open id of a bot
}

// Message is what the people in a chat see, with its history.
type Message struct {
	ID       string
	ChatID   string
	ThreadID string // its topic, or ""
	RootID   string // the root of the tree of replies; in a topic its first message
	ParentID string // the message it replies to; in a topic its first message
	Type     string // text, post, interactive, ...

	Sender    Sender
	FromBot   bool
	Created   time.Time
	Deleted   bool
	Content   string // raw JSON as it was sent
	CardID    string // the CardKit entity that it shows, or ""
	Reactions []string
	Calls     []string // open IDs of the users whom a post of the bot mentions, and who are notified
	States    []State  // its looks, oldest first
}

// Last returns the newest state; a message always has one.
func (m Message) Last() State {
	if len(m.States) == 0 {
		return State{}
	}
	return m.States[len(m.States)-1]
}

// Text returns all currently visible text of the message.
func (m Message) Text() string { return m.Last().Text }

// State is the look of a message from At until the next state.
type State struct {
	At time.Time
	// the cause: create, patch, edit, recall, callback, streaming_timeout, or a CardKit operation
	Op        string
	Text      string          // all visible text
	Card      json.RawMessage // the full card, nil for other types
	Streaming bool            // the card is in streaming mode
}

// Rule names a rule of the platform.
type Rule string

// The rules whose breach is recorded.
const (
	RuleSequence     Rule = "sequence"      // the sequence of a card operation did not increase
	RuleParallel     Rule = "parallel"      // two calls on one card at the same time
	RuleRate         Rule = "rate"          // a frequency limit was exceeded
	RuleSize         Rule = "size"          // a text, post, card or file is too big
	RuleElements     Rule = "elements"      // more than 200 elements
	RuleTables       Rule = "tables"        // too many tables
	RuleImage        Rule = "image"         // an image that is not an uploaded key
	RuleHref         Rule = "href"          // a link that does not lead to the web
	RuleEmpty        Rule = "empty"         // empty content
	RuleAck          Rule = "ack"           // an event was not acknowledged in time, or the ack matches no event
	RuleStreaming    Rule = "streaming"     // streaming content outside streaming mode
	RuleStreamingOn  Rule = "streaming-on"  // streaming mode was left on
	RuleAtAll        Rule = "at-all"        // the text pings everyone
	RuleSentTwice    Rule = "sent-twice"    // a card entity was sent twice
	RuleUnknownID    Rule = "unknown-id"    // no such message, card, element, chat, user or file
	RuleUUIDMissing  Rule = "uuid-missing"  // create or reply without an idempotency key
	RuleUUIDReused   Rule = "uuid-reused"   // one idempotency key for two different requests
	RuleToken        Rule = "token"         // missing, unknown or expired token
	RuleField        Rule = "field"         // a request field is missing or malformed
	RuleContent      Rule = "content"       // message content that the platform refuses
	RuleCard         Rule = "card"          // card JSON that the platform refuses
	RuleSettings     Rule = "settings"      // settings without their config level: accepted, without effect
	RulePatchEntity  Rule = "patch-entity"  // a message of a card entity updated through the message API
	RulePermission   Rule = "permission"    // something that the bot may not do
	RulePath         Rule = "path"          // no such API
	RuleFrame        Rule = "frame"         // a malformed frame on the long connection
	RuleCallback     Rule = "callback"      // a callback answer that the platform refuses
	RuleCallbackWait Rule = "callback-late" // a callback not answered in time
)

// Violation is one breach of a rule by the client.
type Violation struct {
	At     time.Time
	Rule   Rule
	Detail string
	Call   int // number of the request in Calls, 0 if it was not one
}

// Call is one HTTP request to the double.
type Call struct {
	Number  int // from 1
	At      time.Time
	Method  string
	Path    string
	Query   string
	Route   string   // the pattern that served it, e.g. "POST /open-apis/im/v1/messages"
	Body    string   // its first 2 KB; empty for calls that carry secrets
	Members []string // sorted names in its body: of a JSON object or a form; none for calls with secrets
	Status  int      // HTTP status, 0 if the connection was cut
	Code    int      // code of the answer's envelope
	Latency time.Duration
	Faulty  bool // affected by an injected fault
}

// Delivery is one push of one event.
type Delivery struct {
	EventID   string
	EventType string
	MessageID string // the chat message that it is about, or ""
	ID        string // id of this delivery, as in its frames
	Attempt   int    // from 1
	SentAt    time.Time
	AckedAt   time.Time     // zero: never
	AckCode   int           // code in the ack
	BizRT     time.Duration // how long the handler took, as it reports
	Late      bool          // the ack came after Config.AckTimeout
	Failure   string        // "", no_connection, timeout, code
}
