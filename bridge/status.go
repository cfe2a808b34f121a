package bridge

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"magpie/internal/chat"
)

// status is the command /status.
func status(ctx context.Context, o ordered) (order, error) {
	b, c, l := o.b, o.chat, o.lang
	state, session := texts.StatusIdle, texts.StatusNoSession
	if b.lanes.running(c.Key) != 0 {
		state = texts.StatusRunning
	}
	switch {
	case c.Session.ID != "" && b.pool.Living(c.Key.String(), c.Session.ID):
		session = texts.StatusLive
	case c.Session.ID != "" && b.cfg.away(c) != "":
		session = texts.StatusAway
	case c.Session.ID != "":
		session = texts.StatusSession
	}
	waiting, err := b.db.Queue().Waiting(ctx, c.Key)
	if err != nil {
		return order{}, err
	}
	lines := []string{fmt.Sprintf(texts.Status.in(l), state.in(l), b.cfg.projectShown(c), session.in(l), b.cfg.Context.Mode)}
	add := func(p phrase, args ...any) { lines = append(lines, fmt.Sprintf(p.in(l), args...)) }
	if c.Topic != "" {
		add(commandTexts.StatusTitle, c.Topic)
	}
	add(commandTexts.StatusModel, o.model(), o.effort())
	if waiting > 0 {
		add(commandTexts.StatusQueue, waiting)
	}
	text := strings.Join(lines, "\n") + lastReport(ctx, b, c)
	if v := b.cfg.Version; v != "" && o.m.Kind == chat.Private && b.access.Load().admin(o.m.Actor) {
		text += "\n" + o.load() + "\n" + fmt.Sprintf(commandTexts.StatusVersion.in(l), v)
	}
	return order{reply: text}, nil
}

// model is the name of the model that answers in the chat.
func (o ordered) model() string {
	return cmp.Or(o.chat.Settings.Model, o.b.pool.Config().Model, commandTexts.ByDefault.in(o.lang))
}

// effort is how hard that model thinks.
func (o ordered) effort() string {
	return cmp.Or(o.chat.Settings.Effort, o.b.pool.Config().Effort, commandTexts.ByDefault.in(o.lang))
}
