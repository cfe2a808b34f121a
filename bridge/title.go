package bridge

import (
	"context"

	"magpie/bridge/i18n"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// makeTitle gives the conversation of a turn its title: from the agent, or else from the first question. It reads the
// chat now, not at the end of the turn: the title of the previous turn may have been stored in between.
func (mt maintenance) makeTitle(ctx context.Context, t endedTurn) {
	log := mt.log.With().Stringer("chat", t.Key).Logger()
	c, err := mt.db.Chats().Get(ctx, t.Key)
	if err != nil {
		log.Error().Err(err).Msg("chat not read; it gets no title yet")
		return
	}
	if c.Topic != "" || c.Epoch != t.Epoch {
		return
	}
	answered := chat.Message{Key: c.Key, Role: chat.Assistant, Class: chat.Talk, Text: t.answer}
	said := append(t.asked[:len(t.asked):len(t.asked)], answered)
	reply, err := mt.budget.askTitle(ctx, c, mt.cfg.Context.TitleTask(string(mt.cfg.langOf(c)), said))
	if ctx.Err() != nil {
		return // tried again after the next answer
	}
	title := contextmgr.Title(mt.cfg.clean(reply))
	if err != nil || title == "" {
		log.Warn().Err(err).Msg("the agent returned no title; using the question")
		title = contextmgr.FallbackTitle(mt.cfg.clean(mt.firstQuestion(ctx, t)))
	}
	if err := mt.db.Chats().SetTopic(ctx, c.Key, c.Epoch, title); err != nil {
		log.Error().Err(err).Msg("title not stored")
	}
}

// firstQuestion is the question with which the conversation of a turn began. The turn's own may be a later one: a turn
// that fails gives no title.
func (mt maintenance) firstQuestion(ctx context.Context, t endedTurn) string {
	first, err := mt.db.History().FirstQuestion(ctx, t.Key, t.Epoch)
	if err != nil && len(t.asked) > 0 { // the questions of a follow-up may have been deleted meanwhile
		mt.log.Error().Err(err).Stringer("chat", t.Key).Msg("first question not read; using the last one")
		return t.asked[0].Text
	}
	return first.Text
}

// setTitle is the command /title.
func (cs *commandSet) setTitle(_ context.Context, o invocation) (commandResult, error) {
	if o.args == "" {
		if o.chat.Topic == "" {
			return o.say(i18n.TitleNone)
		}
		return o.say(i18n.TitleIs, o.chat.Topic)
	}
	title := contextmgr.Title(cs.cfg.clean(o.args))
	if title == "" {
		return o.say(i18n.TitleEmpty)
	}
	return o.do(db.SetTitle{Title: title}, i18n.TitleSet, title)
}
