// Package chat holds the types that all of Magpie shares: chats, messages, cards. It is a leaf: of our packages it
// imports only internal/text and internal/i18n, and any package may import it.
//
// It has no logic of the platform, the agent or the database.
package chat

import (
	"crypto/sha1" //nolint:gosec // a stable short name, not a security measure
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/internal/i18n"
	"magpie/internal/text"
)

// Key identifies one conversation on one platform, and its History. Thread is set only for a topic inside a chat.
type Key struct {
	Channel string // platform: "feishu", "telegram", "web"
	Kind    string // what ID identifies: "chat", "user"
	ID      string // the platform's own id
	Thread  string // the platform's id of a topic, or empty
}

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

// ParseKey parses the result of [Key.String].
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, ":")
	ok := len(parts) == 3 || (len(parts) == 5 && parts[3] == "thread")
	for _, p := range parts {
		ok = ok && p != ""
	}
	if !ok {
		return Key{}, i18n.Mistakef("聊天 %q：应写成 channel:kind:id 或 channel:kind:id:thread:id",
			"chat key %q: must be channel:kind:id or channel:kind:id:thread:id", s)
	}
	k := Key{Channel: parts[0], Kind: parts[1], ID: parts[2]}
	if len(parts) == 5 {
		k.Thread = parts[4]
	}
	return k, nil
}

// longestID limits IDs of platforms, in bytes.
const longestID = 256

// Validate returns an error if a key cannot be stored and parsed again.
func (k Key) Validate() error {
	for _, part := range []struct{ name, value string }{
		{"channel", k.Channel}, {"kind", k.Kind}, {"id", k.ID}, {"thread", k.Thread},
	} {
		if err := ValidID(part.value); err != nil && (part.value != "" || part.name != "thread") {
			return i18n.Mistakef("聊天的 %s：%v", "chat key: %s: %v", part.name, err)
		}
	}
	return nil
}

// ValidID returns an error if a platform's ID cannot be part of a key.
func ValidID(s string) error {
	hidden := func(r rune) bool {
		return text.IsInvisible(r) || unicode.IsSpace(r)
	}
	switch {
	case s == "":
		return i18n.Mistakef("缺失", "missing")
	case len(s) > longestID:
		return i18n.Mistakef("超过 %d 字节", "longer than %d bytes", longestID)
	case !utf8.ValidString(s):
		return i18n.Mistakef("不是 UTF-8 编码", "not UTF-8")
	// Keys are joined with colons.
	case strings.Contains(s, ":"):
		return i18n.Mistakef("不能含有冒号", "must not contain a colon")
	// Two IDs that look the same must not be different.
	case strings.ContainsFunc(s, hidden):
		return i18n.Mistakef("不能含有空格或不可见的字符",
			"must not contain spaces or invisible characters")
	}
	return nil
}

// ActorKey is the durable name of one user within this chat, "<chat key>:user:<user id>".
func (k Key) ActorKey(userID string) string { return k.String() + ":user:" + userID }

// StableID is a short name for the chat that never changes and reveals nothing about it: prefix and the first 12 bytes
// of the SHA-1 of the key, in hex.
func (k Key) StableID(prefix string) string {
	sum := sha1.Sum([]byte(k.String())) //nolint:gosec // see the import
	return prefix + hex.EncodeToString(sum[:12])
}

// Role is the author's role in a message.
type Role string

// The roles of History. Only User and Assistant ever reach a prompt.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	System    Role = "system"
)

// Class is the kind of a stored message.
type Class string

// The classes. Only Talk is part of the conversation and of the history prefix.
const (
	Talk      Class = "talk"      // a question to the bot, or its answer
	Command   Class = "command"   // "/new" and the like, and their replies
	Overheard Class = "overheard" // a group message that was not addressed to the bot
)

// Kind tells a private chat from a group.
type Kind string

// The kinds of chat. Anything that is not private is treated as a group.
const (
	Private Kind = "p2p"
	Group   Kind = "group"
)

// Actor is the author of a message: a person or a bot.
type Actor struct {
	ID   string // the platform's id of the user; stable within one app
	Name string // for users; may be empty
	Bot  bool   // another bot
}

// Message is one entry of a chat's History.
type Message struct {
	Key   Key
	ID    string // the platform's id; unique within the channel
	Seq   int64  // order within the chat, assigned by the database
	Epoch int64  // raised by /new and /reset; context never reads across it
	Turn  int64  // the turn of the question or answer; 0 = none
	Role  Role
	Class Class
	Actor Actor
	Text  string
	Time  time.Time // when it was written, according to the platform
	Files []File    // its attachments; only where documented
}

// Incoming is a message as the platform delivered it, before it is stored.
type Incoming struct {
	Key    Key
	Tenant string // the organization of the chat, as the platform calls it; empty = it is not told
	Kind   Kind
	Title  string // of the chat, if the platform reports it
	ID     string
	Actor  Actor
	Text   string // with an [AttachmentMark] for each attachment
	Files  []File // its attachments, in the order of their marks
	Time   time.Time
	ToBot  bool // private, or the bot was mentioned
	// ToOthers means that it mentions somebody, or everyone, but not the bot.
	ToOthers bool
	// Unreadable is the platform's type of a message whose content cannot be read; Text is then a mark for it.
	Unreadable string
}

// HasFiles reports whether a message has attachments of its own. Messages that it quotes do not count.
func (m Incoming) HasFiles() bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Kind != Quote })
}

// Quoted is the platform's ID of the message that the author replies to; empty = none.
func (m Incoming) Quoted() string {
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Kind == Quote && !f.Topic })
	if i < 0 {
		return ""
	}
	return m.Files[i].Of
}

// Activity is the time up to which the messages of a chat are known.
type Activity struct {
	Key   Key
	Kind  Kind
	Since time.Time // time of the newest known message of a person, by the platform's clock
}

// Sent is a message of the bot, as the platform reports it.
type Sent struct {
	ID   string    // of the message
	Card string    // the card's durable ID; empty if it is not a card
	File string    // the durable key of its file; empty = none
	Time time.Time // by the platform's clock
}

// Press is a press of a card's button.
type Press struct {
	ID     string // the platform's ID of this press; the same if the event is repeated
	Key    Key
	Tenant string // see [Incoming]
	Card   string // platform id of the message that shows the card
	Actor  Actor
	Action Action
	Values map[string][]string // values of the form's fields by name; untrusted
}

// DoCommand is the action that gives a command. The command line is the action's ID.
const DoCommand = "order"

// DoRefuse is the action that refuses what an agent wants to do, or does not answer what it asks.
const DoRefuse = "refuse"

// OwnTurn is the turn of an action on the card of a turn whose number is not known yet: see [Card.OfTurn].
const OwnTurn = -1

// Action is the meaning of a button. It travels through the platform and back, so it is untrusted.
type Action struct {
	Do   string `json:"do"`
	Turn int64  `json:"turn,omitempty"` // 0 = none
	ID   string `json:"id,omitempty"`   // of the object of the action, for example an approval
	// the topic of an action without a turn, since a press names only its chat; empty = none
	Thread string `json:"thread,omitempty"`
}

// Card is the content of a card, for example of a running turn: a value that is drawn again whenever it changes.
type Card struct {
	Title   string    // of the header; empty = no header
	State   CardState // determines the header's color
	Status  string    // one line about the progress; empty = none
	Earlier []Part    `json:",omitempty"` // earlier parts, oldest first, each in its own message
	Body    string    // the agent's Markdown so far
	Charts  []Chart   // below the body
	Panels  []Panel
	Form    *Form  // input from readers; nil = none
	Footer  string // small print; empty = none
	Summary string // one line for the chat list
	Buttons []Button
	Live    bool // it will change
	Asks    bool `json:"-"` // people decide by its code blocks what is run
	// durable IDs of other cards that reply to the same message, for the search for a message of this card that an
	// earlier process has sent
	Others []string `json:"-"`
	// where Close puts on which messages it has shown the card; nil = not wanted
	Shown *Shown `json:"-"`
}

// OfTurn is the card as that of a turn: buttons about [OwnTurn] are about that turn.
func (c Card) OfTurn(turn int64) Card {
	c.Buttons = slices.Clone(c.Buttons)
	for i, b := range c.Buttons {
		if b.Action.Turn == OwnTurn {
			c.Buttons[i].Action.Turn = turn
		}
	}
	return c
}

// InThread is the card as shown in a topic: its actions are those of the topic.
func (c Card) InThread(thread string) Card {
	c.Buttons = slices.Clone(c.Buttons)
	for i, b := range c.Buttons {
		if b.Action.Turn == 0 {
			c.Buttons[i].Action.Thread = thread
		}
	}
	return c
}

// FirstMessage is the ID of the first message that shows a card, with which the card's durable ID begins. A message may
// be the first of several durable IDs, all of the same card.
func FirstMessage(cardID string) string {
	message, _, _ := strings.Cut(cardID, "/")
	return message
}

// Shown is how a card is shown.
type Shown struct {
	Pages   map[string]string // what each message shows, by its ID, if there are several
	Buttons string            // durable ID of the message with the buttons; it begins like that of a card
}

// Part is a complete part of a card, in its own message; the card continues below.
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

// CardState is the state of a card's subject, which determines the color.
type CardState string

// The states of cards. It is empty for other cards.
const (
	CardQueued   CardState = "queued" // or finished, and of no interest any more
	CardRunning  CardState = "running"
	CardDone     CardState = "done"
	CardFailed   CardState = "failed"
	CardNeedsYou CardState = "needs_you" // waits for a user
)

// The marks with which the lines of steps begin on a panel.
const (
	StepRuns   = "▸"
	StepDone   = "✓"
	StepFailed = "✗"
)

// Panel is a collapsible part of a card.
type Panel struct {
	Title string // one line
	Body  string // Markdown
	Open  bool   // initially open
	Last  bool   // below the buttons of the card; otherwise above the body
}

// Form asks readers for more than a button can express. Its buttons submit the values.
type Form struct {
	Fields  []Field
	Buttons []Button
	Last    bool // at the end of the card; otherwise above its buttons
}

// Field is one input of a form.
type Field struct {
	Name     string // unique within the form
	Label    string
	Hint     string // the placeholder of an empty field
	Kind     FieldKind
	Options  []Option // of One and Many
	Required bool
}

// FieldKind is the kind of input.
type FieldKind string

// The kinds of fields.
const (
	One   FieldKind = "one"  // one of the options
	Many  FieldKind = "many" // any of the options
	Words FieldKind = "words"
)

// Option is an option of a field.
type Option struct {
	Value string // the value submitted by a press
	Label string
}

// Button is one button of a card.
type Button struct {
	Label   string
	Primary bool // the usual choice; at most one per card
	Danger  bool
	Quiet   bool // without a frame: for what is seldom wanted
	Newest  bool // counts as long as no newer card is in the chat, and is removed then
	Action  Action
}

// Reaction is the bot's reaction to a message: an emoji.
type Reaction string

// The reactions to a question.
const (
	NoReaction Reaction = ""
	Working    Reaction = "working" // an answer is being written
	Finished   Reaction = "finished"
	Failed     Reaction = "failed"
)

// Ref is the message to reply to, or the chat if ID is empty.
type Ref struct {
	Key Key
	ID  string
}

// Errors of a platform. The first two are permanent: nobody can be reached.
var (
	ErrGone        = errors.New("the message was taken back")
	ErrUnreachable = errors.New("the bot cannot reach this chat")
	ErrSilenced    = errors.New("the bot may not write in this chat") // also matches ErrUnreachable
	ErrForbidden   = errors.New("the app may not do this")            // until an operator changes the app
	ErrRefused     = errors.New("the platform does not allow this content")
	ErrNotTaken    = errors.New("the platform does not take this file")
	ErrTooBig      = errors.New("the file is larger than the limit")
	ErrNoChat      = errors.New("there is no such chat") // to go on with, from another door
	ErrElsewhere   = errors.New("another bridge has the chat")
	ErrDenied      = errors.New("this person may not talk to the bot there")
)
