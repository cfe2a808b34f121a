package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// choice describes a setting of a chat.
type choice struct {
	order   string      // the command that sets it
	offered []string    // the values of the buttons
	words   []string    // the labels of the buttons, in the same order; nil = the values
	unset   i18n.Phrase // the label when no value is set
	asks    i18n.Phrase // the reply to the command without a value; its %s is the current value
	chosen  i18n.Phrase // the confirmation; its %s is the chosen value
	named   string      // the name of that value; empty = as given
	reset   i18n.Phrase // the confirmation when the choice is reset
	may     func(value string) bool
	bad     i18n.Phrase                        // the reply to an invalid value; its %s: the value, the valid ones
	set     func(s *db.Settings, value string) // an empty value resets it
	private bool                               // in a group only admins may change it
}

// chooseModel is the command /model.
func (cs *commandSet) chooseModel(_ context.Context, o invocation) (commandResult, error) {
	cfg := cs.pool.Config()
	offered := cfg.Models
	if len(offered) == 0 {
		offered = workspace.Aliases
	}
	return cs.setChoice(o, modelOf(cfg, o.chat.Settings, o.lang), choice{
		order: "/model", offered: offered, unset: i18n.ByDefault, asks: i18n.ModelNow, chosen: i18n.ModelSet,
		reset: i18n.ModelReset, may: cfg.MayUse, bad: i18n.ModelBad,
		set: func(s *db.Settings, v string) { s.Model = v }, private: true,
	})
}

// chooseEffort is the command /effort.
func (cs *commandSet) chooseEffort(_ context.Context, o invocation) (commandResult, error) {
	var words []string
	for _, v := range workspace.Efforts {
		words = append(words, effortWords[v].In(o.lang))
		if o.args == effortWords[v].ZH {
			o.args = v
		}
	}
	return cs.setChoice(o, effortOf(cs.pool.Config(), o.chat.Settings, o.lang), choice{
		order: "/effort", offered: workspace.Efforts, unset: i18n.ByDefault, asks: i18n.EffortNow, chosen: i18n.EffortSet,
		reset: i18n.EffortReset, bad: i18n.EffortBad,
		may:   func(v string) bool { return slices.Contains(workspace.Efforts, v) },
		words: words, named: effortWords[o.args].In(o.lang),
		set: func(s *db.Settings, v string) { s.Effort = v }, private: true,
	})
}

// effortWords describe the levels of effort.
var effortWords = map[string]i18n.Phrase{
	"low": i18n.EffortLow, "medium": i18n.EffortMid, "high": i18n.EffortHigh, "xhigh": i18n.EffortXHigh,
	"max": i18n.EffortMax,
}

// languageNames maps all names that users may type to languages.
var languageNames = map[string]i18n.Lang{
	"zh": i18n.Chinese, "cn": i18n.Chinese, "中文": i18n.Chinese, "汉语": i18n.Chinese,
	"en": i18n.English, "english": i18n.English, "英文": i18n.English, "英语": i18n.English,
}

// chooseLang is the command /lang. The reply is in the chosen language.
func (cs *commandSet) chooseLang(_ context.Context, o invocation) (commandResult, error) {
	o.args = strings.ToLower(o.args)
	now, own := i18n.ByItself.In(o.lang), &o.chat.Settings
	if own.Lang != "" {
		now = i18n.LangName.In(i18n.Lang(own.Lang))
	}
	// Changed before the reply is written, so that it is in the new language.
	if l, ok := languageNames[o.args]; ok {
		o.args, o.lang = string(l), l
	} else if slices.Contains(i18n.DefaultWords, o.args) {
		unset := o.chat
		unset.Settings.Lang = ""
		o.lang = cs.languages.Of(unset)
	}
	return cs.setChoice(o, now, choice{
		order: "/lang", offered: []string{"zh", "en"}, unset: i18n.ByItself, asks: i18n.LangNow, chosen: i18n.LangSet,
		words: []string{i18n.LangName.In(i18n.Chinese), i18n.LangName.In(i18n.English)},
		named: i18n.LangName.In(o.lang), reset: i18n.LangReset,
		may: func(v string) bool { return v == string(i18n.Chinese) || v == string(i18n.English) }, bad: i18n.LangBad,
		set: func(s *db.Settings, v string) { s.Lang = v },
	})
}

// setChoice shows the available values, or sets one.
func (cs *commandSet) setChoice(o invocation, now string, c choice) (commandResult, error) {
	value, rest := splitWord(o.args)
	reset := slices.Contains(i18n.DefaultWords, strings.ToLower(value))
	switch {
	case value == "":
		var buttons []chat.Button
		for i, word := range c.labels() {
			buttons = append(buttons, turncard.CommandButton(word, c.order+" "+c.offered[i]))
		}
		// The last place is for the button that resets the choice.
		buttons = buttons[:min(len(buttons), maxButtons-1)]
		buttons = append(buttons, turncard.CommandButton(c.unset.In(o.lang), c.order+" default"))
		return offer(fmt.Sprintf(c.asks.In(o.lang), now), buttons)
	case c.private && !cs.access.At(o.Key).InCharge(o.Incoming):
		return o.say(i18n.ForAdminsInGroups)
	case rest != "" || !reset && !c.may(value):
		values := c.offered
		if o.lang == i18n.Chinese { // in which the words can be typed, too
			values = c.labels()
		}
		return o.say(c.bad, excerptOf(o.args), strings.Join(values, i18n.Enumeration.In(o.lang)))
	case reset:
		return o.set(func(s *db.Settings) { c.set(s, "") }, c.reset)
	}
	return o.set(func(s *db.Settings) { c.set(s, value) }, c.chosen, cmp.Or(c.named, value))
}

// labels are the values in words.
func (c choice) labels() []string {
	if c.words != nil {
		return c.words
	}
	return c.offered
}

// offer replies with as many of the buttons as a card takes.
func offer(text string, buttons []chat.Button) (commandResult, error) {
	buttons = buttons[:min(len(buttons), maxButtons)]
	return commandResult{card: &chat.Card{Body: text, Summary: i18n.FirstLine(text), Buttons: buttons}}, nil
}

// excerptOf is the beginning of a user's text as one line without markup.
func excerptOf(text string) string { return i18n.Excerpt(i18n.Visible(text), 30) }
