package bridge

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"magpie/bridge/i18n"
	"magpie/internal/chat"
)

// status is the command /status.
func status(ctx context.Context, o ordered) (order, error) {
	b, c, l := o.b, o.chat, o.lang
	state, session := i18n.StatusIdle, i18n.StatusNoSession
	if b.lanes.RunningTurn(c.Key) != 0 {
		state = i18n.StatusRunning
	}
	switch {
	case c.Session.ID != "" && b.pool.Living(c.Key.String(), c.Session.ID):
		session = i18n.StatusLive
	case c.Session.ID != "" && b.cfg.away(c) != "":
		session = i18n.StatusAway
	case c.Session.ID != "":
		session = i18n.StatusSession
	}
	waiting, err := b.db.Queue().Waiting(ctx, c.Key)
	if err != nil {
		return order{}, err
	}
	lines := []string{fmt.Sprintf(i18n.Status.In(l), state.In(l), b.cfg.projectShown(c), session.In(l), b.cfg.Context.Mode)}
	add := func(p i18n.Phrase, args ...any) { lines = append(lines, fmt.Sprintf(p.In(l), args...)) }
	if c.Topic != "" {
		add(i18n.StatusTitle, c.Topic)
	}
	add(i18n.StatusModel, o.model(), o.effort())
	if waiting > 0 {
		add(i18n.StatusQueue, waiting)
	}
	text := strings.Join(lines, "\n") + lastReport(ctx, b, c)
	if v := b.cfg.Version; v != "" && o.m.Kind == chat.Private && b.access.Load().IsAdmin(o.m.Actor) {
		text += "\n" + o.load() + "\n" + fmt.Sprintf(i18n.StatusVersion.In(l), v)
	}
	return order{reply: text}, nil
}

// model is the name of the model that answers in the chat.
func (o ordered) model() string {
	return cmp.Or(o.chat.Settings.Model, o.b.pool.Config().Model, i18n.ByDefault.In(o.lang))
}

// effort is how hard that model thinks.
func (o ordered) effort() string {
	return cmp.Or(o.chat.Settings.Effort, o.b.pool.Config().Effort, i18n.ByDefault.In(o.lang))
}
