package bridge

import (
	"cmp"
	"context"
	"errors"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// spoken is the language to which a message turns its chat; empty = it does not.
func (b *Bridge) spoken(ctx context.Context, m chat.Incoming) string {
	return cmp.Or(b.cfg.Lang, string(i18n.DetectSwitch(chat.Unmarked(m.Text), i18n.Lang(b.chat(ctx, m.Key).Lang))))
}

// ordersIn is the language to which a command turns its chat; empty = it does not. Its name may be in another one than the
// chat's, so only what is Chinese counts.
func (cfg Config) ordersIn(text string) i18n.Lang {
	switch {
	case cfg.Lang != "":
		return i18n.Lang(cfg.Lang)
	case i18n.Detect(text) == i18n.Chinese:
		return i18n.Chinese
	}
	return ""
}

// lang is the language in which a chat is answered that has just spoken another one; empty = it has not.
func (b *Bridge) lang(ctx context.Context, key chat.Key, spoken string) i18n.Lang {
	c := b.chat(ctx, key)
	c.Lang = cmp.Or(spoken, c.Lang)
	return b.cfg.langOf(c)
}

// chat is what is known of a chat; nothing when it is new.
func (b *Bridge) chat(ctx context.Context, key chat.Key) db.Chat {
	c, err := b.db.Chats().Get(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		b.log.Error().Err(err).Stringer("chat", key).Msg("language of the chat is not known")
	}
	return c
}
