// Package chat holds the words that all of Magpie shares: who said what, and where.
// It is a leaf: of ours it imports only internal/text, and everything else may import it.
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

// Key names one conversation on one platform. It is the key of the chat's History.
// Thread is set only for a topic inside a chat.
type Key struct {
	Channel string // platform: "feishu", "telegram", "web"
	Kind    string // what ID names there: "chat", "room"
	ID      string // the platform's own id
	Thread  string // the platform's id of a topic, or empty
}

// FeishuChat is the key of a Feishu chat (private or group) with the given chat id ("oc_...").
func FeishuChat(id string) Key { return Key{Channel: "feishu", Kind: "chat", ID: id} }

// FeishuUser is the key of whatever private chat the bot has with the user with the given open id ("ou_..."). It is
// good for sending only: what the user says comes from the chat itself.
func FeishuUser(id string) Key { return Key{Channel: "feishu", Kind: "user", ID: id} }

// Parent is the chat in which a topic stands; of a chat, itself.
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
		return Key{}, fmt.Errorf("chat key %q: want channel:kind:id or channel:kind:id:thread:id", s)
	}
	k := Key{Channel: parts[0], Kind: parts[1], ID: parts[2]}
	if len(parts) == 5 {
		k.Thread = parts[4]
	}
	return k, nil
}

// longestID is the length of the longest id of a platform, in bytes.
const longestID = 256

// Validate says why a key cannot be stored, or be read again then.
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

// ValidID says why an id of a platform cannot be part of a key.
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
	case strings.Contains(s, ":"):
		return errors.New("a colon cannot be part of it")
	case strings.ContainsFunc(s, hidden):
		return errors.New("a space or a character that is not seen cannot be part of it")
	}
	return nil
}

// Actor is the durable name of one user within this chat, "<chat key>:user:<user id>".
func (k Key) Actor(userID string) string { return k.String() + ":user:" + userID }

// Stable is a short name for the chat that never changes and tells nothing about it:
// prefix and the first 12 bytes of the SHA-1 of the key, in hex.
func (k Key) Stable(prefix string) string {
	sum := sha1.Sum([]byte(k.String())) //nolint:gosec // see the import
	return prefix + hex.EncodeToString(sum[:12])
}

// Role says in which part a message was spoken.
type Role string

// The roles of History. Only User and Assistant ever reach a prompt.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	System    Role = "system"
)

// Class says what a stored message is for.
type Class string

// Only Talk counts as conversation: it is what the history prefix is made of.
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

// Incoming is a message as a platform delivered it, before it is stored.
type Incoming struct {
	Key   Key
	Kind  Kind
	Title string // of the chat, when the platform told
	ID    string
	Actor Actor
	Text  string // what is no text stands in it as a [Mark]
	Files []File // that belong to it, in the order in which its text names them
	Time  time.Time
	ToBot bool // private, or the bot was mentioned
	// ToOthers: it mentions somebody, or everybody, but not the bot.
	ToOthers bool
	// Unreadable names the platform's type of a message whose content cannot be read; Text is a mark of it then.
	Unreadable string
}

// Activity is a chat that has spoken, and until when its messages are known.
type Activity struct {
	Key   Key
	Kind  Kind
	Since time.Time // when the newest message that is known of a person there was written, by the platform's clock
}

// Sent is a message of the bot, as the platform remembers it.
type Sent struct {
	ID   string    // of the message
	Card string    // the card's durable name; empty when it is not a card
	File string    // the durable name of the file that it shows; empty = none
	Time time.Time // by the platform's clock
}

// Press is a button of a card pressed by a person.
type Press struct {
	ID     string // the platform's id of this press; the same when it is told again
	Key    Key
	Card   string // platform id of the message that shows the card
	Actor  Actor
	Action Action
	Values map[string][]string // what was filled in, by the names of the form's fields; untrusted
}

// Action is what a button means. It travels through the platform and back, so it is untrusted.
type Action struct {
	Do   string `json:"do"`
	Turn int64  `json:"turn,omitempty"`
	ID   string `json:"id,omitempty"` // of what it is done to, such as a question that waits for its answer
}

// Card is what one turn looks like: a value that is drawn again whenever it changes.
type Card struct {
	Status  string // one line about what goes on; empty = none
	Body    string // Markdown as the agent wrote it so far
	Panels  []Panel
	Form    *Form  // what readers are asked; nil = nothing
	Footer  string // small print; empty = none
	Summary string // one line for the chat list
	Buttons []Button
	Live    bool // more is to come
}

// Panel is a part of a card that readers fold away and unfold.
type Panel struct {
	Title string // one line
	Body  string // Markdown
	Open  bool   // unfolded at first
}

// Form asks readers for more than the press of a button can say. Its buttons bring what was filled in.
type Form struct {
	Fields  []Field
	Buttons []Button
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
	Label  string
	Danger bool
	Action Action
}

// Signal is what the bot shows on a message without words.
type Signal string

// The signals on a question.
const (
	NoSignal Signal = ""
	Working  Signal = "working" // an answer comes
	Finished Signal = "finished"
	Failed   Signal = "failed"
)

// Ref names the message that something answers.
type Ref struct {
	Key Key
	ID  string
}

// What a platform's error can match. With the first two there is nobody who could be told, now or later.
var (
	ErrGone        = errors.New("the message was taken back")
	ErrUnreachable = errors.New("the bot cannot reach this chat")
	ErrRefused     = errors.New("the platform does not allow this content")
	ErrNotTaken    = errors.New("the platform does not take this file")
	ErrTooBig      = errors.New("the file is bigger than what is taken in")
)
