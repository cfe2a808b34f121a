package bridge

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"magpie/bridge/turncard"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// maxButtons is how many buttons a card takes. maxLines is how many commands /help explains: nobody reads a list of
// all.
const (
	maxButtons = 8
	maxLines   = 6
)

// commandGroups are the groups of commands in the order of /help.
var commandGroups = []i18n.Phrase{
	i18n.GroupConversation, i18n.GroupMemory, i18n.GroupSchedules, i18n.GroupAgent, i18n.GroupPermissions, i18n.GroupAbout, i18n.GroupAdmin,
}

// Commands are all commands, with the slash, and their purposes in the order of their groups, for programs that complete
// commands.
func Commands() iter.Seq2[string, i18n.Phrase] {
	return func(yield func(string, i18n.Phrase) bool) {
		for _, g := range commandGroups {
			for _, c := range commands() {
				if c.group == g && !yield("/"+c.name, c.help) {
					return
				}
			}
		}
	}
}

// allowedCommands lists the commands that the author of a message may use.
func (cs *commandSet) allowedCommands(o invocation) []command {
	var list []command
	for _, c := range commands() {
		if c.allowedFor(cs.access.At(o.Key), o.Actor) {
			list = append(list, c)
		}
	}
	return list
}

// help is the command /help.
func (cs *commandSet) help(_ context.Context, o invocation) (commandResult, error) {
	all := o.args == "all" || o.args == "全部"
	if o.args != "" && !all {
		return cs.explain(o)
	}
	l := o.lang
	var s strings.Builder
	s.WriteString(i18n.HelpHead.In(l) + "\n")
	card := &chat.Card{Summary: i18n.FirstLine(i18n.HelpSummary.In(l))}
	groups := map[i18n.Phrase][]string{}
	lines := 0
	for _, c := range cs.allowedCommands(o) {
		if c.frequent && len(card.Buttons) < maxButtons-1 {
			card.Buttons = append(card.Buttons, turncard.CommandButton(c.label(l), "/"+c.name))
		}
		if all || c.frequent && lines < maxLines {
			fmt.Fprintf(&s, "- %s %s\n", c.names(l), c.help.In(l))
			lines++
			continue
		}
		if c.name == "help" { // this is it
			continue
		}
		groups[c.group] = append(groups[c.group], "`/"+c.name+"`")
	}
	if !all {
		card.Buttons = append(card.Buttons, turncard.CommandButton(i18n.HelpAllButton.In(l), "/help all"))
		s.WriteString("\n" + i18n.HelpOthers.In(l) + "\n")
		for _, g := range commandGroups {
			if names := groups[g]; len(names) > 0 {
				fmt.Fprintf(&s, "- **%s** %s\n", g.In(l), strings.Join(names, " "))
			}
		}
	}
	own := cs.pool.Config().SlashCommands()
	fmt.Fprintf(&s, "\n"+i18n.HelpMore.In(l), "`//"+strings.Join(own, "` `//")+"`")
	card.Body = s.String()
	return commandResult{card: card}, nil
}

// names are the command's names in lists.
func (c command) names(l i18n.Lang) string {
	if l == i18n.Chinese && len(c.aliases) > 0 {
		return fmt.Sprintf("`/%s` `/%s`", c.name, c.aliases[0])
	}
	return "`/" + c.name + "`"
}

// label is the command's label on a button.
func (c command) label(l i18n.Lang) string {
	if l == i18n.Chinese && len(c.aliases) > 0 {
		return c.aliases[0]
	}
	return strings.ToUpper(c.name[:1]) + c.name[1:]
}

// explain describes one command.
func (cs *commandSet) explain(o invocation) (commandResult, error) {
	word, _ := splitWord(o.args)
	word = strings.ToLower(strings.TrimLeft(word, "/／"))
	for _, c := range cs.allowedCommands(o) {
		if !c.hasName(word) {
			continue
		}
		usage := strings.TrimSpace("/" + c.name + " " + c.args.In(o.lang))
		text := "`" + usage + "`\n" + c.help.In(o.lang)
		if len(c.aliases) > 0 {
			text += "\n" + fmt.Sprintf(i18n.HelpAliases.In(o.lang), "`/"+strings.Join(c.aliases, "` `/")+"`")
		}
		return commandResult{reply: text}, nil
	}
	return cs.suggest(o, "/"+word, func(c command) string { return "/help " + c.name })
}

// unknownCommand is the plan for an unknown command: it suggests a similar one.
func (cs *commandSet) unknownCommand(name string) plan {
	return func(_ context.Context, o invocation) (commandResult, error) {
		return cs.suggest(o, name, func(c command) string { return "/" + c.name + " " + o.args })
	}
}

// maxOrder is the maximum length of a button's command line in runes.
const maxOrder = 100

// suggest answers an unknown command. A name that the CLI knows is suggested with its double slash; otherwise the
// nearest command is offered as a button, which gives the line, unless that is too long for a button's value.
func (cs *commandSet) suggest(o invocation, name string, lineOf func(command) string) (commandResult, error) {
	word := strings.TrimPrefix(name, "/")
	if cs.pool.Config().SlashCommands().Allow(name) {
		return o.say(i18n.PassIt, name, "/"+name)
	}
	meant, ok := nearest(word, cs.allowedCommands(o))
	if !ok {
		return o.say(i18n.UnknownCommand, name)
	}
	text := fmt.Sprintf(i18n.PerhapsMeant.In(o.lang), name, "/"+meant.name)
	// The card is stored, and all see it.
	line := cs.cfg.redactForHistory(strings.TrimSpace(lineOf(meant)))
	if utf8.RuneCountInString(line) > maxOrder {
		return commandResult{reply: text}, nil
	}
	buttons := []chat.Button{turncard.CommandButton(line, line)}
	return commandResult{card: &chat.Card{Body: text, Summary: i18n.FirstLine(text), Buttons: buttons}}, nil
}

// nearest finds the command that is most similar to an unknown word.
func nearest(word string, among []command) (command, bool) {
	byName := map[string]command{}
	var names []string
	for _, c := range among {
		for _, name := range append([]string{c.name}, c.aliases...) {
			byName[name] = c
			names = append(names, name)
		}
	}
	name, ok := text.Nearest(word, names)
	return byName[name], ok
}
