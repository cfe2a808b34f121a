package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// status is the command /status.
func (cs *commandSet) status(ctx context.Context, o invocation) (commandResult, error) {
	cfg, c, l, agent := cs.cfg, o.chat, o.lang, cs.pool.Config()
	state, session := i18n.StatusIdle, i18n.StatusNoSession
	turn := cs.busy.running(c.Key)
	if turn != 0 {
		life, err := cs.db.Turns().Of(ctx, c.Key)
		if err != nil {
			return commandResult{}, err
		}
		state = i18n.StatusRunning
		if life.Asks(turn) {
			state = i18n.StatusAsking
		}
	} else if doing := cs.pool.Unasked(c.Key.String()); doing != nil && doing.IsBusy() {
		state = i18n.StatusWorking
	}
	switch {
	case turn != 0, c.Session.ID != "" && cs.pool.HasIdle(c.Key.String(), c.Session.ID):
		session = i18n.StatusLive
	case c.Session.ID != "" && cfg.checkResumable(c) != "":
		session = i18n.StatusElsewhere
	case c.Session.ID != "":
		session = i18n.StatusSession
	}
	waiting, err := cs.db.Turns().Waiting(ctx, c.Key)
	if err != nil {
		return commandResult{}, err
	}
	lines := []string{fmt.Sprintf(i18n.Status.In(l), state.In(l), cs.places.LabelOf(c), session.In(l))}
	add := func(p i18n.Phrase, args ...any) { lines = append(lines, fmt.Sprintf(p.In(l), args...)) }
	if c.Topic != "" {
		add(i18n.StatusTitle, c.Topic)
	}
	add(i18n.StatusModel, modelOf(agent, c.Settings, l), effortOf(agent, c.Settings, l))
	broken, pending := cs.servers.describe(realPath(cs.places.DirOf(c)))
	if broken != "" {
		add(i18n.StatusServers, broken)
	}
	if pending != "" {
		add(i18n.StatusServersLate, pending)
	}
	if waiting > 0 {
		add(i18n.StatusQueue, waiting)
	}
	if c.Settings.Notify == db.NotifyOff {
		add(i18n.StatusNotifyOff)
	}
	windows, err := cs.limits.windows(ctx, l)
	if err != nil {
		return commandResult{}, err
	}
	lines = append(lines, windows...)
	text := strings.Join(lines, "\n") + cs.lastReport(ctx, c)
	// These are for the operator, and are not shown in groups.
	if cfg.Version == "" || o.Kind != chat.Private || !cs.access.At(o.Key).IsAdmin(o.Actor) {
		return commandResult{reply: text}, nil
	}
	more, err := cs.adminLines(ctx, o.Key, l)
	return commandResult{reply: strings.Join(append([]string{text}, more...), "\n")}, err
}

// adminLines are what /status in a chat tells admins alone: chats and messages of theirs that cannot be reached or sent, and
// the state of the program.
func (cs *commandSet) adminLines(ctx context.Context, key chat.Key, l i18n.Lang) (lines []string, err error) {
	silenced, err := cs.db.Chats().Silenced(ctx)
	if err != nil {
		return nil, err
	}
	silenced = slices.DeleteFunc(silenced, func(s db.Silenced) bool { return !access.Shares(key, s.Key.Room()) })
	if len(silenced) > 0 {
		lines = append(lines, i18n.StatusSilenced.Sprintf(l, silencedIn(silenced, l)))
	}
	if !cs.access.At(key).Further { // the messages are those of all apps
		waiting, err := cs.undelivered(ctx, l)
		if err != nil {
			return nil, err
		}
		if waiting != "" {
			lines = append(lines, waiting)
		}
	}
	if place := cs.db.Place(); place != nil {
		lines = append(lines, i18n.StatusBridges.Sprintf(l, place.Living()))
	}
	cfg := cs.cfg
	return append(lines, i18n.StatusMode.Sprintf(l, contextModeIn(cfg.Context.Mode, l)), loadOf(cs.pool, l),
		fmt.Sprintf(i18n.StatusVersion.In(l), cfg.Version)), nil
}

// contextModeIn says what the agent is given in a mode.
func contextModeIn(m contextmgr.Mode, l i18n.Lang) string {
	switch m {
	case contextmgr.Resume:
		return i18n.StatusResume.In(l)
	case contextmgr.Database:
		return i18n.StatusDatabase.In(l)
	case contextmgr.Economy:
		return i18n.StatusEconomy.In(l)
	}
	return i18n.StatusHybrid.In(l)
}

// silencedIn names the chats in which the platform does not let the bot write, and who can change that. The platform's
// reason is left to the log and to doctor.
func silencedIn(list []db.Silenced, l i18n.Lang) string {
	const most = 5
	var names []string
	for _, s := range list[:min(len(list), most)] {
		why := i18n.StatusMuted
		if s.Kind == chat.Private {
			why = i18n.StatusDeclined
		}
		names = append(names, why.Sprintf(l, cmp.Or(text.SafeLine(s.Title), s.Key.Room())))
	}
	if n := len(list) - most; n > 0 {
		names = append(names, fmt.Sprintf("+%d", n))
	}
	return strings.Join(names, i18n.Enumeration.In(l))
}

// modelOf is the name of the chat's model.
func modelOf(agent claude.Config, of db.Settings, l i18n.Lang) string {
	return cmp.Or(of.Model, agent.Model, i18n.ByDefault.In(l))
}

// effortOf is that model's effort level.
func effortOf(agent claude.Config, of db.Settings, l i18n.Lang) string {
	effort := cmp.Or(of.Effort, agent.Effort)
	return cmp.Or(effortWords[effort].In(l), effort, i18n.ByDefault.In(l))
}

// showCost is the command /cost.
func (cs *commandSet) showCost(ctx context.Context, o invocation) (commandResult, error) {
	days := budget.Days(o.args)
	if days == 0 {
		return o.say(i18n.CostUsage)
	}
	card, err := cs.budget.ChatCard(ctx, o.Key, o.Actor.ID, days, o.lang)
	return commandResult{card: card}, err
}
