package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// listProjects is the command /projects.
func (cs *commandSet) listProjects(_ context.Context, o invocation) (commandResult, error) {
	var s strings.Builder
	s.WriteString(i18n.ProjectsHead.In(o.lang) + "\n")
	now, err := cs.places.Of(o.chat)
	var others []chat.Button
	for _, p := range cs.places.At(o.Key.Channel).List() {
		mark := ""
		if err == nil && p == now {
			mark = i18n.ProjectHere.In(o.lang)
		} else if p.Away != "" {
			mark = i18n.ProjectAt.Sprintf(o.lang, p.Away)
		} else {
			others = append(others, turncard.CommandButton(p.Label(), "/cd "+cmp.Or(p.Name, i18n.DefaultWords[0])))
		}
		fmt.Fprintf(
			&s, i18n.ProjectLine.In(o.lang)+"\n", p.Label(),
			modeWords[cmp.Or(p.Mode, workplace.DefaultMode)].In(o.lang), mark,
		)
	}
	s.WriteString(i18n.ProjectsUsage.In(o.lang))
	return offer(s.String(), others)
}

// changeProject is the command /cd.
func (cs *commandSet) changeProject(ctx context.Context, o invocation) (commandResult, error) {
	if o.args == "" {
		return cs.listProjects(ctx, o)
	}
	if !cs.access.At(o.Key).InCharge(o.Incoming) {
		return o.say(i18n.ForAdminsInGroups)
	}
	p, ok := cs.places.At(o.Key.Channel).Find(o.args)
	c := o.chat
	c.Settings.Project = p.Name
	if ok {
		if p.Away != "" {
			return o.say(i18n.ProjectAway, p.Name, p.Away)
		}
		if _, err := cs.places.Resolve(c); err != nil {
			cs.log.Error().Err(err).Str("project", p.Label()).Msg("agents may not work in a project")
			ok = false
		}
	}
	if !ok {
		return o.say(i18n.NoSuchProject)
	}
	mode := modeWords[cmp.Or(cs.places.ModeOf(c), workplace.DefaultMode)].In(o.lang)
	return o.set(func(s *db.Settings) { s.Project = p.Name }, i18n.ProjectChanged, p.Label(), mode)
}

// changeMode is the command /mode.
func (cs *commandSet) changeMode(_ context.Context, o invocation) (commandResult, error) {
	p, err := cs.places.Of(o.chat)
	if err != nil {
		return o.say(i18n.ProjectGone)
	}
	free, modes := p.Modes(), workspace.PermissionModes
	if o.args == "" {
		var buttons []chat.Button
		for _, m := range free {
			buttons = append(buttons, turncard.CommandButton(modeWords[m].In(o.lang)+" ("+m+")", "/mode "+m))
		}
		return offer(i18n.ModeNow.Sprintf(o.lang, modeLabels(o.lang, cs.places.ModeOf(o.chat))), buttons)
	}
	if !cs.access.At(o.Key).InCharge(o.Incoming) {
		return o.say(i18n.ForAdminsInGroups)
	}
	i := slices.IndexFunc(modes, func(m string) bool {
		return strings.EqualFold(m, o.args) || modeNames[m] == o.args || modeWords[m].In(o.lang) == o.args
	})
	switch {
	case i < 0:
		return o.say(i18n.NoSuchMode, modeLabels(o.lang, free...))
	case i >= len(free):
		return o.say(i18n.ModeTooHigh, modeLabels(o.lang, modes[i]), modeLabels(o.lang, p.Mode))
	}
	return o.set(func(s *db.Settings) { s.Mode = modes[i] }, i18n.ModeChanged, modeLabels(o.lang, modes[i]))
}

// modeWords describe the modes.
var modeWords = map[string]i18n.Phrase{
	"plan": i18n.ModePlan, "dontAsk": i18n.ModeDontAsk, workplace.DefaultMode: i18n.ModeDefault, "acceptEdits": i18n.ModeEdits,
	"auto": i18n.ModeAuto, "bypassPermissions": i18n.ModeBypass,
}

// modeLabels lists modes with their meaning and name.
func modeLabels(l i18n.Lang, list ...string) string {
	var shown []string
	for _, m := range list {
		m = cmp.Or(m, workplace.DefaultMode)
		shown = append(shown, i18n.ModeNamed.Sprintf(l, modeWords[m].In(l), m))
	}
	return strings.Join(shown, i18n.Enumeration.In(l))
}

// modeNames are the Chinese names of the modes.
var modeNames = map[string]string{
	"plan": "计划", "dontAsk": "不询问", workplace.DefaultMode: "默认", "acceptEdits": "接受编辑", "auto": "自动", "bypassPermissions": "跳过权限",
}
