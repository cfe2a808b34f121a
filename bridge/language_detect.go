package bridge

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"magpie/db"
	"magpie/internal/chat"
)

// code is what a message holds between backticks: it is in nobody's language.
var code = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]*`")

// everyday are words that English sentences have, and commands, names and queries hardly; little ones are those that these have as well.
var (
	everyday = strings.Fields(`the my your you i i'm i'd we our us it its it's that these those this what how why who when which
		please can could should would will is are was were am be been do does did don't have has had me them they their there here thanks thank`)
	little = strings.Fields(`and but for from of so than then to with`)
)

// isSentence reports whether a text has two such words of English, an everyday one among them.
func isSentence(text string) bool {
	marked, n := false, 0
	for word := range strings.FieldsSeq(strings.ReplaceAll(strings.ToLower(text), "’", "'")) {
		word = strings.Trim(word, ".,;:!?()\"'…")
		if slices.Contains(everyday, word) {
			marked = true
			n++
		} else if slices.Contains(little, word) {
			n++
		}
	}
	return marked && n > 1
}

// spokenIn is the language to which a text turns a chat that has spoken another one; empty = it does not tell. Who speaks
// Chinese writes commands, names and "ok" in Latin letters too, so only a sentence turns a Chinese chat to English.
func spokenIn(text string, before lang) lang {
	text = code.ReplaceAllString(text, " ")
	l := langOf(text)
	if l == en && before == zh && !isSentence(text) {
		return ""
	}
	return l
}

// spoken is the language to which a message turns its chat; empty = it does not.
func (b *Bridge) spoken(ctx context.Context, m chat.Incoming) string {
	return cmp.Or(b.cfg.Lang, string(spokenIn(chat.Unmarked(m.Text), lang(b.chat(ctx, m.Key).Lang))))
}

// ordersIn is the language to which a command turns its chat; empty = it does not. Its name may be in another one than the
// chat's, so only what is Chinese counts.
func (cfg Config) ordersIn(text string) lang {
	switch {
	case cfg.Lang != "":
		return lang(cfg.Lang)
	case langOf(text) == zh:
		return zh
	}
	return ""
}

// lang is the language in which a chat is answered that has just spoken another one; empty = it has not.
func (b *Bridge) lang(ctx context.Context, key chat.Key, spoken string) lang {
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
