package bridge

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// maxBotTurns is how many questions of other bots are answered in a row without a person writing: two bots that answer
// each other would never stop.
const maxBotTurns = 10

// listening decides which group messages are for the bot.
type listening struct {
	db   *db.DB
	rule chat.MentionRule // for groups without a rule of their own; empty = MentionOnly
	log  zerolog.Logger
}

// toBot reports whether a message is for the bot. Another bot must always mention it, whatever the rule.
func (ls listening) toBot(ctx context.Context, m chat.Incoming) bool {
	if m.Kind == chat.Private {
		return m.ToBot
	}
	c := ls.loadChat(ctx, m.Key)
	switch {
	// Two bots that answer each other would never stop.
	case m.Actor.Bot && m.ToBot && c.BotTurns >= maxBotTurns:
		ls.log.Warn().Stringer("chat", m.Key).Str("bot", m.Actor.ID).
			Msg("bots have talked to each other for long; a person must speak first")
		return false
	case m.ToBot || m.ToOthers || m.Actor.Bot:
		return m.ToBot
	}
	switch ls.ruleOf(c) {
	case chat.MentionNone:
		return true
	case chat.MentionCommands:
		cmd, _, _ := parseCommand(m.Text)
		return cmd != nil
	}
	return false
}

// loadChat is what is known of a group. On an error that is nothing, and the configured rule applies.
func (ls listening) loadChat(ctx context.Context, key chat.Key) db.Chat {
	c, err := ls.db.Chats().Get(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		ls.log.Error().Err(err).Stringer("chat", key).Msg("mention rule of the group not available")
	}
	return c
}

// ruleOf is the rule that applies to a group.
func (ls listening) ruleOf(c db.Chat) chat.MentionRule {
	if own := chat.MentionRule(c.Settings.Mention); own.IsValid() {
		return own
	}
	if ls.rule.IsValid() {
		return ls.rule
	}
	return chat.MentionOnly
}

// mention shows or sets the rule of a group. Everyone who may talk there may set it: it only affects their own group.
func (cs *commandSet) mention(_ context.Context, o invocation) (commandResult, error) {
	if o.Kind == chat.Private {
		return o.say(i18n.MentionPrivate)
	}
	words := map[string]chat.MentionRule{
		"mention": chat.MentionOnly, "all": chat.MentionNone, "commands": chat.MentionCommands,
		"提及": chat.MentionOnly, "全部": chat.MentionNone, "命令": chat.MentionCommands,
	}
	word, _ := splitWord(o.args)
	rule, ok := words[word]
	switch {
	case word == "":
		return offer(i18n.MentionNow.Sprintf(o.lang, ruleWords(cs.listening.ruleOf(o.chat)).In(o.lang)), []chat.Button{
			turncard.CommandButton(i18n.RuleMentionButton.In(o.lang), "/mention mention"),
			turncard.CommandButton(i18n.RuleAllButton.In(o.lang), "/mention all"),
			turncard.CommandButton(i18n.RuleCommandsButton.In(o.lang), "/mention commands"),
		})
	case !ok:
		return o.say(i18n.MentionUsage)
	}
	return o.set(func(s *db.Settings) { s.Mention = string(rule) }, i18n.MentionSet, ruleWords(rule).In(o.lang))
}

func ruleWords(r chat.MentionRule) i18n.Phrase {
	switch r {
	case chat.MentionNone:
		return i18n.RuleAll
	case chat.MentionCommands:
		return i18n.RuleCommands
	}
	return i18n.RuleMention
}
