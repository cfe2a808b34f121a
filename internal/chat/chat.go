// Package chat holds the types that all of Magpie shares: chats, messages, cards. It is a leaf: of our packages it
// imports only internal/text, and any package may import it.
//
// What a platform, the agent or the database does with them does not belong here.
package chat

import (
	"crypto/sha1" //nolint:gosec // a stable short name, not a security measure
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/internal/text"
)

// Key identifies one conversation on one platform, and its History. Thread is set only for a topic inside a chat.
type Key struct {
	Channel string // platform: "feishu", "telegram", "web"
	Kind    string // what ID identifies: "chat", "user"
	ID      string // the platform's own id
	Thread  string // the platform's id of a topic, or empty
}

// FeishuChat is the key of a Feishu chat (private or group) with the given chat id ("oc_...").
func FeishuChat(id string) Key { return Key{Channel: "feishu", Kind: "chat", ID: id} }

// FeishuUser is the key of the private chat that the bot has with the user with the given open id ("ou_..."), whatever
// its chat id is. It is good only for sending: what the user writes arrives under the key of the chat.
func FeishuUser(id string) Key { return Key{Channel: "feishu", Kind: "user", ID: id} }

// Parent is the chat that contains a topic; the parent of a chat is the chat itself.
func (k Key) Parent() Key {
	k.Thread = ""
	return k
}

// String is the durable form, "channel:kind:id" or "channel:kind:id:thread:thread_id".
func (k Key) String() string {
	s := k.Channel + ":" + k.Kind + ":" + k.ID
	if k.Thread != "" {
		s += ":thread:" + k.Thread
	}
	return s
}

// ParseKey reads what [Key.String] wrote.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, ":")
	ok := len(parts) == 3 || (len(parts) == 5 && parts[3] == "thread")
	for _, p := range parts {
		ok = ok && p != ""
	}
	if !ok {
		return Key{}, fmt.Errorf("chat key %q: must be channel:kind:id or channel:kind:id:thread:id", s)
	}
	k := Key{Channel: parts[0], Kind: parts[1], ID: parts[2]}
	if len(parts) == 5 {
		k.Thread = parts[4]
	}
	return k, nil
}

// longestID bounds ids of platforms, in bytes.
const longestID = 256

// Validate reports why a key cannot be stored and parsed again.
func (k Key) Validate() error {
	for _, part := range []struct{ name, value string }{
		{"channel", k.Channel}, {"kind", k.Kind}, {"id", k.ID}, {"thread", k.Thread},
	} {
		if err := ValidID(part.value); err != nil && (part.value != "" || part.name != "thread") {
			return fmt.Errorf("chat key: %s: %w", part.name, err)
		}
	}
	return nil
}

// ValidID reports why a platform's id cannot be part of a key.
func ValidID(s string) error {
	hidden := func(r rune) bool {
		return text.IsInvisible(r) || unicode.IsSpace(r)
	}
	switch {
	case s == "":
		return errors.New("it is missing")
	case len(s) > longestID:
		return fmt.Errorf("it is longer than %d bytes", longestID)
	case !utf8.ValidString(s):
		return errors.New("it is not UTF-8")
	// Keys are joined with colons.
	case strings.Contains(s, ":"):
		return errors.New("a colon cannot be part of it")
	// Two ids that look the same must not be different.
	case strings.ContainsFunc(s, hidden):
		return errors.New("a space or a character that is not seen cannot be part of it")
	}
	return nil
}

// Actor is the durable name of one user within this chat, "<chat key>:user:<user id>".
func (k Key) Actor(userID string) string { return k.String() + ":user:" + userID }

// Stable is a short name for the chat that never changes and reveals nothing about it: prefix and the first 12 bytes of
// the SHA-1 of the key, in hex.
func (k Key) Stable(prefix string) string {
	sum := sha1.Sum([]byte(k.String())) //nolint:gosec // see the import
	return prefix + hex.EncodeToString(sum[:12])
}

// Role says who speaks in a message.
type Role string

// The roles of History. Only User and Assistant ever reach a prompt.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	System    Role = "system"
)

// Class says what kind of entry a stored message is.
type Class string

// The classes. Only Talk is part of the conversation and of the history prefix.
const (
	Talk      Class = "talk"      // a question to the bot, or its answer
	Command   Class = "command"   // "/new" and the like, and their replies
	Overheard Class = "overheard" // said in a group, but not to the bot
)

// Kind tells a private chat from a group.
type Kind string

// The kinds of chat. Anything that is not private is treated as a group.
const (
	Private Kind = "p2p"
	Group   Kind = "group"
)

// Actor is a person (or bot) who speaks.
type Actor struct {
	ID   string // the platform's id of the user; stable within one app
	Name string // as shown to people; may be empty
	Bot  bool   // another bot
}

// Message is one entry of a chat's History.
type Message struct {
	Key   Key
	ID    string // the platform's id; unique within the channel
	Seq   int64  // order within the chat, given by the database
	Epoch int64  // raised by /new and /reset; context never reads across it
	Turn  int64  // the turn that asks or answers with it; 0 = none
	Role  Role
	Class Class
	Actor Actor
	Text  string
	Time  time.Time // when the platform says it was written
	Files []File    // that belong to it; only where it says so
}

// Incoming is a message as the platform delivered it, before it is stored.
type Incoming struct {
	Key   Key
	Kind  Kind
	Title string // of the chat, if the platform reports it
	ID    string
	Actor Actor
	Text  string // attachments stand in it as a [Mark]
	Files []File // that belong to it, in the order in which its text names them
	Time  time.Time
	ToBot bool // private, or the bot was mentioned
	// ToOthers says that it mentions somebody, or everybody, but not the bot.
	ToOthers bool
	// Unreadable is the platform's type of a message whose content cannot be read; Text is a mark of it then.
	Unreadable string
}

// Activity says until when the messages of a chat are known.
type Activity struct {
	Key   Key
	Kind  Kind
	Since time.Time // time of the newest known message of a person, by the platform's clock
}

// Sent is a message of the bot, as the platform reports it.
type Sent struct {
	ID   string    // of the message
	Card string    // the card's durable id; empty if it is not a card
	File string    // the durable name of the file that it shows; empty = none
	Time time.Time // by the platform's clock
}

// Press is the press of a card's button.
type Press struct {
	ID     string // the platform's id of this press; the same if the event is repeated
	Key    Key
	Card   string // platform id of the message that shows the card
	Actor  Actor
	Action Action
	Values map[string][]string // values of the form's fields by name; untrusted
}

// Action is the meaning of a button. It travels through the platform and back, so it is untrusted.
type Action struct {
	Do   string `json:"do"`
	Turn int64  `json:"turn,omitempty"`
	ID   string `json:"id,omitempty"` // of the object of the action, for example an approval
}

// Card is the content of a card, for example of a running turn: a value that is drawn again whenever it changes.
type Card struct {
	Title   string    // its header; empty = it has none
	State   CardState // gives the header its color
	Status  string    // one line about the progress; empty = none
	Earlier []Part    `json:",omitempty"` // what was said before it, oldest first, on messages of their own; the body goes on below them
	Body    string    // Markdown of the agent, as far as it has come
	Charts  []Chart   // below the body
	Panels  []Panel
	Form    *Form  // input from readers; nil = none
	Footer  string // small print; empty = none
	Summary string // one line for the chat list
	Buttons []Button
	Live    bool // it will change
	// cards that answer the same message and are not this one's, by their durable names: for whoever looks for a message
	// of the card that an earlier process has sent
	Others []string `json:"-"`
}

// Part is what a message of a card says that is complete: what goes on, goes on below.
type Part struct {
	Body   string // Markdown
	Status string // one line
}

// Chart is a bar chart.
type Chart struct {
	Title string
	Bars  []Bar
	Limit Bar // a line across the bars at its value; 0 = none
}

// Bar is an amount with its name.
type Bar struct {
	Label string
	Value float64
}

// CardState is how things stand with what a card is about, for people who look for a color.
type CardState string

// The states of cards. Of other cards it is empty.
const (
	CardQueued   CardState = "queued" // or over, and of no interest any more
	CardRunning  CardState = "running"
	CardDone     CardState = "done"
	CardFailed   CardState = "failed"
	CardNeedsYou CardState = "needs_you" // nothing goes on until people have done something
)

// Panel is a part of a card that readers can fold.
type Panel struct {
	Title string // one line
	Body  string // Markdown
	Open  bool   // unfolded at first
	Last  bool   // below the buttons of the card; else it stands above the body
}

// Form asks readers for more than a button can express. Its buttons submit the values.
type Form struct {
	Fields  []Field
	Buttons []Button
	Last    bool // at the end of the card; else it stands above its buttons
}

// Field is one thing to fill in.
type Field struct {
	Name     string // unique within the form
	Label    string
	Hint     string // what an empty field shows
	Kind     FieldKind
	Options  []Option // of One and Many
	Required bool
}

// FieldKind says how a field is filled in.
type FieldKind string

// The kinds of fields.
const (
	One   FieldKind = "one"  // one of the options
	Many  FieldKind = "many" // any of the options
	Words FieldKind = "words"
)

// Option is one of those that a field offers.
type Option struct {
	Value string // what a press brings
	Label string
}

// Button is one button of a card.
type Button struct {
	Label   string
	Primary bool // what most people want; at most one of a card
	Danger  bool
	Action  Action
}

// Reaction is the bot's reaction to a message: an emoji in place of words.
type Reaction string

// The signals on a question.
const (
	NoReaction Reaction = ""
	Working    Reaction = "working" // an answer is being written
	Finished   Reaction = "finished"
	Failed     Reaction = "failed"
)

// Ref is the message that something answers, or the chat if ID is empty.
type Ref struct {
	Key Key
	ID  string
}

// Errors of a platform. With the first two a retry makes no sense: nobody can be reached.
var (
	ErrGone        = errors.New("the message was taken back")
	ErrUnreachable = errors.New("the bot cannot reach this chat")
	ErrSilenced    = errors.New("the bot may not write in this chat") // also matches ErrUnreachable
	ErrForbidden   = errors.New("the app may not do this")            // until an operator changes the app
	ErrRefused     = errors.New("the platform does not allow this content")
	ErrNotTaken    = errors.New("the platform does not take this file")
	ErrTooBig      = errors.New("the file is larger than the limit")
)
