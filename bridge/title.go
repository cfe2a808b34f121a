package bridge

import (
	"context"
	"errors"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// makeTitle gives the conversation of a turn its title: from the agent, or else from the first question. It reads the
// chat now, not at the end of the turn: the title of the previous turn may have been stored in between.
func (u *upkeep) makeTitle(ctx context.Context, t endedTurn) {
	log := u.log.With().Stringer("chat", t.Key).Logger()
	c, err := u.db.Chats().Get(ctx, t.Key)
	if err == nil && (c.Topic != "" || c.Epoch != t.Epoch) {
		return
	}
	var said []chat.Message
	if err == nil {
		said, err = u.db.Messages().ByID(ctx, t.Key, t.said())
	}
	if ctx.Err() != nil {
		return // tried again after the next answer
	}
	if err != nil {
		log.Error().Err(err).Msg("chat not read; it gets no title yet")
		return
	}
	if len(said) == 0 { // recalled meanwhile
		return
	}
	reply, err := u.budget.askTitle(ctx, c, u.rules.TitleTask(string(u.cfg.langOf(c)), said))
	if ctx.Err() != nil {
		return // tried again after the next answer
	}
	title := contextmgr.Title(u.cfg.clean(reply))
	if err != nil || title == "" {
		log.Warn().Err(err).Msg("the agent returned no title; using the question")
		// the turn's own question may be a later one: a turn that fails gives no title
		first, err := u.db.Messages().FirstQuestion(ctx, t.Key, t.Epoch)
		if err != nil {
			log.Error().Err(err).Msg("first question not read; the chat gets no title yet")
			return
		}
		title, said = contextmgr.FallbackTitle(u.cfg.clean(first.Text)), []chat.Message{first}
	}
	err = u.db.Chats().SetTopic(ctx, c.Key, c.Epoch, title, idsOf(said))
	if err != nil && !errors.Is(err, db.ErrNotFound) { // one of them was recalled meanwhile
		log.Error().Err(err).Msg("title not stored")
	}
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
