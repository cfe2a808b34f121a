// Package language decides which language the bot speaks, with whom and where.
//
// It does not recognize languages, and it has no texts.
package language

import (
	"cmp"
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Chooser decides which language to use.
type Chooser struct {
	Fixed string // of chats that have not chosen one; empty = the language that each chat writes in
	New   string // of a chat without messages; empty = Chinese
	Owner string // the owner's before his first message; empty = unknown
	Chats db.Chats
	Log   zerolog.Logger
}

// Detect returns the language that a message switches its chat to, empty if it switches to none, and the one to answer it
// in.
func (ls Chooser) Detect(ctx context.Context, m chat.Incoming) (to string, l i18n.Lang) {
	c := ls.loadChat(ctx, m.Key)
	to = cmp.Or(ls.Fixed, string(i18n.DetectSwitch(chat.WithoutMarks(m.Text), i18n.Lang(c.Lang))))
	c.Lang = cmp.Or(to, c.Lang)
	return to, ls.Of(c)
}

// OfCommand returns the language that a command switches its chat to; empty = no switch. Command names are often
// English in chats that are not, so only Chinese switches.
func (ls Chooser) OfCommand(text string) i18n.Lang {
	switch {
	case ls.Fixed != "":
		return i18n.Lang(ls.Fixed)
	case i18n.Detect(text) == i18n.Chinese:
		return i18n.Chinese
	}
	return ""
}

// OfChat is the language to use in a chat.
func (ls Chooser) OfChat(ctx context.Context, key chat.Key) i18n.Lang {
	return ls.LanguageFor(ctx, key, "")
}

// LanguageFor is the language to use in a chat after a message in another one; empty = no change.
func (ls Chooser) LanguageFor(ctx context.Context, key chat.Key, detected string) i18n.Lang {
	c := ls.loadChat(ctx, key)
	c.Lang = cmp.Or(detected, c.Lang)
	return ls.Of(c)
}

// OfUser is the language to use with a user in private.
func (ls Chooser) OfUser(ctx context.Context, user string) i18n.Lang {
	return ls.OfChat(ctx, ls.PrivateChat(ctx, user))
}

// OfOwner is the language to use with the owner in private; empty = not known yet.
func (ls Chooser) OfOwner(ctx context.Context, user string) i18n.Lang {
	c := ls.loadChat(ctx, ls.PrivateChat(ctx, user))
	return i18n.Lang(cmp.Or(c.Settings.Lang, ls.Fixed, c.Lang, ls.Owner))
}

// PrivateChat is where a user is reached in private.
func (ls Chooser) PrivateChat(ctx context.Context, user string) chat.Key {
	key, err := ls.Chats.PrivateChat(ctx, user)
	if errors.Is(err, db.ErrNotFound) {
		key = chat.PersonKey(user)
	} else if err != nil {
		ls.Log.Error().Err(err).Str("user", user).Msg("private chat of a user not found")
	}
	return key
}

// loadChat returns what is known of a chat; empty for a new chat.
func (ls Chooser) loadChat(ctx context.Context, key chat.Key) db.Chat {
	c, err := ls.Chats.Get(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, engine.ErrAway) { // of which the operator is told once
		ls.Log.Error().Err(err).Stringer("chat", key).Msg("language of the chat not available")
	}
	return c
}

// Of is the language to use in a chat.
func (ls Chooser) Of(c db.Chat) i18n.Lang { return Of(c, ls.Fixed, ls.New) }

// Of is the first of these that is set: the chat's own setting, the fixed language, the language that the chat writes in,
// that of new chats.
func Of(c db.Chat, fixed, forNew string) i18n.Lang {
	if i18n.Lang(cmp.Or(c.Settings.Lang, fixed, c.Lang, forNew)) == i18n.English {
		return i18n.English
	}
	return i18n.Chinese
}
