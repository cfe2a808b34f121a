package bridge

import (
	"context"
	"strings"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// notify is the command /notify. Everyone may use it: it only affects their own chat.
func (cs *commandSet) notify(_ context.Context, o invocation) (commandResult, error) {
	on, known := onOff[strings.ToLower(o.args)]
	switch {
	case o.args == "":
		now, own := i18n.NotifyOn, o.chat.Settings
		if own.Notify == db.NotifyOff {
			now = i18n.NotifyOff
		}
		return offer(now.In(o.lang), []chat.Button{
			turncard.CommandButton(i18n.OnButton.In(o.lang), "/notify on"),
			turncard.CommandButton(i18n.OffButton.In(o.lang), "/notify off"),
		})
	case !known:
		return o.say(i18n.NotifyUsage)
	case on:
		return o.set(func(s *db.Settings) { s.Notify = "" }, i18n.NotifyOn)
	}
	return o.set(func(s *db.Settings) { s.Notify = db.NotifyOff }, i18n.NotifyOff)
}

var onOff = map[string]bool{"on": true, "开": true, "开启": true, "off": false, "关": false, "关闭": false}

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
		return offer(i18n.MentionNow.Sprintf(o.lang, ruleWords(cs.cfg.mentionRule(o.chat)).In(o.lang)), []chat.Button{
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
