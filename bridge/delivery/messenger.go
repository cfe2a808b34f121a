// Package delivery shows people what the program produces, and retries until the platform has confirmed it. An [Outbox]
// delivers the texts, cards and files that are pending in the database; [Reactions] sets reactions on messages. The
// package declares what it needs of a platform ([Messenger]), and keeps the program's own secrets out of everything
// shown ([RedactingMessenger]).
//
// It shows what it is given: it does not know about turns, or whom to ask, or Feishu's JSON.
package delivery

import (
	"context"

	"magpie/internal/chat"
)

// Messenger is the interface to a chat platform. The strings called idem are idempotency keys, valid for an hour. An
// error that matches [chat.ErrGone] or [chat.ErrUnreachable] is permanent. After [chat.ErrRefused] a retry with other
// text may succeed, and after [chat.ErrNotTaken] one with another file. After any other error the same call can be
// retried, also by a later process.
type Messenger interface {
	// Reply replies to a message with a short text.
	Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error)
	// Mention replies to a message with a short plain text that mentions these users: the platform notifies them.
	Mention(ctx context.Context, to chat.Ref, users []string, text, idem string) (messageID string, err error)
	// Post replies to a message with a card and returns the card's durable ID.
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	// Ready waits until the platform accepts another edit of the card.
	Ready(ctx context.Context, cardID string) error
	// Edit replaces the content of the card.
	Edit(ctx context.Context, cardID string, card chat.Card) error
	// Close draws the final, complete state of the card.
	Close(ctx context.Context, cardID string, card chat.Card) error
	// RemoveButtons removes the buttons of a closed card, see [chat.Shown]. It may be unable to, without an error.
	RemoveButtons(ctx context.Context, buttons string) error
	// CardOf is the first message of the card of which a message shows a part, see [chat.FirstMessage]. Of a card that
	// this process is not drawing only that one is known; any other message is its own.
	CardOf(messageID string) (first string)
	// Upload uploads a file for a chat without showing it, and returns its durable key.
	Upload(ctx context.Context, to chat.Ref, u chat.Upload) (name string, err error)
	// Attach replies to a message with an uploaded file, and a caption; empty = none.
	Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error)
	// Find lists the bot's replies to a message, oldest first.
	Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error)
	// SetReaction shows the state of a message as a reaction, replacing an earlier one.
	SetReaction(ctx context.Context, to chat.Ref, s chat.Reaction) error
}
