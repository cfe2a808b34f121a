// Package door says what a door is: a way in which people reach the bridge, such as a chat platform or a terminal. The
// bridge never asks which door something came through; what differs is a value in [Traits], or a small interface that a
// door has or has not. [Doors] takes what the bridge shows to the right one.
//
// It does not decide who may do what, nor what is said.
package door

import (
	"context"
	"io"
	"os"
	"time"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Door is one way into the bridge. Its chats have keys that begin with its channel, and its IDs of people, messages and
// cards begin with the channel and a colon, except Feishu's; see [chat.ChannelOf].
//
// The strings called idem are idempotency keys: a door shows the same only once, as long as it can tell. An error that
// matches [chat.ErrGone] or [chat.ErrUnreachable] is permanent. After [chat.ErrRefused] a retry with other text may succeed. After any other
// error the same call can be repeated, also by a later process.
type Door interface {
	Channel() string
	Traits() Traits
	// Run takes in what arrives until ctx is done. It confirms to its platform only what h has accepted.
	Run(ctx context.Context, h Handler) error
	Health() Health

	// Reply replies to a message with a short text.
	Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error)
	// Post replies to a message with a card and returns the card's durable ID.
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	// Edit replaces the content of the card.
	Edit(ctx context.Context, cardID string, card chat.Card) error
	// Close draws the final, complete state of the card.
	Close(ctx context.Context, cardID string, card chat.Card) error
}

// Traits are facts about a door that change what the bridge does.
type Traits struct {
	Name i18n.Phrase // as people call it
}

// Health is whether messages can come and go.
type Health struct {
	Channel     string // of the door, where there are several
	Connected   bool
	Since       time.Time // of the last change of Connected; zero before the first connection
	LastError   error     // why the last connection or attempt ended; nil = none did
	Hint        error     // what the operator must do before the door can connect; nil = nothing
	CircuitOpen bool      // calls fail at once, because the platform does not answer
}

// Handler takes in what arrives at a door. After an error the door must offer the same again, so nil means that it is
// stored. All methods must return within about a second.
type Handler interface {
	// HandleMessage receives a message. An error that matches [chat.ErrNoChat], [chat.ErrDenied] or, at a terminal,
	// [chat.ErrElsewhere] is final: nothing is stored, and it is up to the door whether the author is told.
	HandleMessage(ctx context.Context, m chat.Incoming) error
	// HandleEdit receives the new version of a message that its author has edited. The message may be unknown.
	HandleEdit(ctx context.Context, m chat.Incoming) error
	// HandleRecall reports that a message of a chat, or of one of its topics, was recalled. The message may be unknown,
	// and may still arrive.
	HandleRecall(ctx context.Context, room chat.Key, id string) error
	// HandlePress handles a button. toast is shown to the person who pressed it; an empty toast shows nothing, or a
	// general text if err is set. A press need not be delivered again, so it should take a second only if it would fail
	// otherwise.
	HandlePress(ctx context.Context, p chat.Press) (toast string, err error)
	// ActiveChats lists the recently active chats of a channel, the latest first. A door that can list messages fetches
	// the missed ones of its chats after each connect; a message that is known already may be passed to HandleMessage
	// again then.
	ActiveChats(ctx context.Context, channel string) ([]chat.Activity, error)
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

// What a door may be able to do besides.
type (
	// Pacer limits how often a card is edited.
	Pacer interface {
		// Ready waits until the door accepts another edit of the card.
		Ready(ctx context.Context, cardID string) error
	}
	// ButtonRemover can remove the buttons of a closed card.
	ButtonRemover interface {
		// RemoveButtons removes the buttons, see [chat.Shown]. It may be unable to, without an error.
		RemoveButtons(ctx context.Context, buttons string) error
	}
	// Pager shows a card in several messages if it is long.
	Pager interface {
		// CardOf is the first message of the card of which a message shows a part, see [chat.FirstMessage]. Of a card that
		// this process is not drawing only that one is known; any other message is its own.
		CardOf(messageID string) (first string)
	}
	// Finder lists what was sent.
	Finder interface {
		// Find lists the bot's replies to a message, oldest first.
		Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error)
	}
	// Mentioner notifies people.
	Mentioner interface {
		// Mention replies to a message with a short plain text that mentions these users: the door notifies them.
		Mention(ctx context.Context, to chat.Ref, users []string, text, idem string) (messageID string, err error)
	}
	// Reactor shows reactions.
	Reactor interface {
		// SetReaction shows the state of a message as a reaction, replacing an earlier one.
		SetReaction(ctx context.Context, to chat.Ref, r chat.Reaction) error
	}
	// Attacher shows files.
	Attacher interface {
		// Upload uploads a file for a chat without showing it, and returns its durable key.
		Upload(ctx context.Context, to chat.Ref, u chat.Upload) (name string, err error)
		// Attach replies to a message with an uploaded file, and a caption; empty = none.
		Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error)
	}
	// Fetcher fetches what belongs to messages and does not come with them. An error that matches [chat.ErrTooBig] means
	// that the file is too large.
	Fetcher interface {
		// Download writes a file of a message to w, at most that many bytes.
		Download(ctx context.Context, f chat.File, most int64, w io.Writer) error
		// FetchQuoted returns the message that another one of the chat replies to. No author means the bot.
		FetchQuoted(ctx context.Context, key chat.Key, id string) (chat.Incoming, error)
		// FetchForwarded returns the text of the messages inside a forwarded one.
		FetchForwarded(ctx context.Context, key chat.Key, id string) (string, error)
	}
	// Transcriber converts speech to text.
	Transcriber interface {
		// Transcribe converts a recording to text; empty = not possible.
		Transcribe(ctx context.Context, recording *os.File, length time.Duration) (string, error)
	}
	// Lister lists messages.
	Lister interface {
		// ListMessages lists the messages of users in a chat since a time, oldest first. If there are more than most, it
		// returns the newest.
		ListMessages(ctx context.Context, key chat.Key, kind chat.Kind, since time.Time, most int) ([]chat.Incoming, error)
	}
	// Directory knows people.
	Directory interface {
		// Departments lists the departments of a user, including parent departments.
		Departments(ctx context.Context, userID string) ([]string, error)
	}
	// Clock has a clock of its own.
	Clock interface {
		// Age is how long ago, at least, a time of the platform was, whatever this machine's clock says.
		Age(at time.Time) time.Duration
	}
)
