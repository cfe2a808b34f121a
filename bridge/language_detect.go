package bridge

import (
	"cmp"
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// languages decides which language to use.
type languages struct {
	cfg   *Config
	chats db.Chats
	log   zerolog.Logger
}

// detect returns the language that a message switches its chat to; empty = no switch.
func (ls languages) detect(ctx context.Context, m chat.Incoming) string {
	before := i18n.Lang(ls.loadChat(ctx, m.Key).Lang)
	return cmp.Or(ls.cfg.Lang, string(i18n.DetectSwitch(chat.WithoutMarks(m.Text), before)))
}

// commandLanguage returns the language that a command switches its chat to; empty = no switch. Command names are often
// English in chats that are not, so only Chinese switches.
func (ls languages) commandLanguage(text string) i18n.Lang {
	switch {
	case ls.cfg.Lang != "":
		return i18n.Lang(ls.cfg.Lang)
	case i18n.Detect(text) == i18n.Chinese:
		return i18n.Chinese
	}
	return ""
}

// OfChat is the language to use in a chat.
func (ls languages) OfChat(ctx context.Context, key chat.Key) i18n.Lang {
	return ls.LanguageFor(ctx, key, "")
}

// LanguageFor is the language to use in a chat after a message in another one; empty = no change.
func (ls languages) LanguageFor(ctx context.Context, key chat.Key, detected string) i18n.Lang {
	c := ls.loadChat(ctx, key)
	c.Lang = cmp.Or(detected, c.Lang)
	return ls.cfg.langOf(c)
}

// OfUser is the language to use with a user in private.
func (ls languages) OfUser(ctx context.Context, user string) i18n.Lang {
	return ls.OfChat(ctx, ls.privateChat(ctx, user))
}

// ofOwner is the language to use with the owner in private; empty = not known yet.
func (ls languages) ofOwner(ctx context.Context, user string) i18n.Lang {
	c := ls.loadChat(ctx, ls.privateChat(ctx, user))
	return i18n.Lang(cmp.Or(c.Settings.Lang, ls.cfg.Lang, c.Lang, ls.cfg.OwnerLang))
}

func (ls languages) privateChat(ctx context.Context, user string) chat.Key {
	key, err := ls.chats.PrivateChat(ctx, user)
	if errors.Is(err, db.ErrNotFound) {
		key = chat.PersonKey(user)
	} else if err != nil {
		ls.log.Error().Err(err).Str("user", user).Msg("private chat of a user not found")
	}
	return key
}

// loadChat returns what is known of a chat; empty for a new chat.
func (ls languages) loadChat(ctx context.Context, key chat.Key) db.Chat {
	c, err := ls.chats.Get(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) && !errors.Is(err, context.Canceled) {
		ls.log.Error().Err(err).Stringer("chat", key).Msg("language of the chat not available")
	}
	return c
}

// langOf is the first of these that is set: the chat's own setting, the configured language, the language that the chat
// writes in, the default for new chats.
func (cfg Config) langOf(c db.Chat) i18n.Lang {
	if i18n.Lang(cmp.Or(c.Settings.Lang, cfg.Lang, c.Lang, cfg.NewLang)) == i18n.English {
		return i18n.English
	}
	return i18n.Chinese
}
