// Package delivery brings to people what the program has to show them, and keeps at it until the platform has
// confirmed it: texts, cards and files by an [Outbox], which reads from the database what is still to be shown, and
// signals on messages by [Reactions]. It says what a platform must be able to do ([Messenger]), and keeps the program's
// own secrets out of all that is shown ([RedactingMessenger]).
//
// Who is asked and what a turn does does not belong here, nor does Feishu's JSON: a delivery shows what it is given.
package delivery

import (
	"context"

	"magpie/internal/chat"
)

// Messenger is all that is asked of a chat platform. The strings called idem are idempotency keys, valid for an hour.
// An error that matches [chat.ErrGone] or [chat.ErrUnreachable] is permanent. After [chat.ErrRefused] a retry with
// other text may succeed, and after [chat.ErrNotTaken] one with another file. After any other error the same call can
// be retried, also by a later process.
type Messenger interface {
	// Reply answers a message with a short text.
	Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error)
	// Mention answers a message with a short text without markup that calls these users: the platform notifies them.
	Mention(ctx context.Context, to chat.Ref, users []string, text, idem string) (messageID string, err error)
	// Post answers a message with a card and returns the card's durable name.
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	// Ready waits until the platform takes another edit of the card.
	Ready(ctx context.Context, cardID string) error
	// Edit replaces what the card shows.
	Edit(ctx context.Context, cardID string, card chat.Card) error
	// Close draws the card for the last time, completely.
	Close(ctx context.Context, cardID string, card chat.Card) error
	// Upload gives a file to the platform, unseen, and returns its durable name.
	Upload(ctx context.Context, u chat.Upload) (name string, err error)
	// Attach answers a message with a file that was uploaded, and a caption; empty = none.
	Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error)
	// Find lists what the bot has sent in answer to a message, oldest first.
	Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error)
	// Signal shows on a message, without words, what becomes of it, in place of what was shown before.
	SetReaction(ctx context.Context, to chat.Ref, s chat.Reaction) error
}
