package upkeep

import (
	"context"
	"errors"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// MakeTitle gives the conversation of a turn its title: from the agent, or else from the first question. It reads the
// chat now, not at the end of the turn: the title of the previous turn may have been stored in between.
func (u *Keeper) MakeTitle(ctx context.Context, t Ended) {
	log := u.Log.With().Stringer("chat", t.Key).Logger()
	c, err := u.DB.Chats().Get(ctx, t.Key)
	if err == nil && (c.Topic != "" || c.Epoch != t.Epoch) {
		return
	}
	var said []chat.Message
	if err == nil {
		said, err = u.DB.Messages().ByID(ctx, t.Key, t.said())
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
	reply, err := u.Budget.AskTitle(ctx, c, u.Rules.TitleTask(string(u.Languages.Of(c)), said))
	if ctx.Err() != nil {
		return // tried again after the next answer
	}
	title := contextmgr.Title(u.Clean(reply))
	if err != nil || title == "" {
		log.Warn().Err(err).Msg("the agent returned no title; using the question")
		// the turn's own question may be a later one: a turn that fails gives no title
		first, err := u.DB.Messages().FirstQuestion(ctx, t.Key, t.Epoch)
		if err != nil {
			log.Error().Err(err).Msg("first question not read; the chat gets no title yet")
			return
		}
		title, said = contextmgr.FallbackTitle(u.Clean(first.Text)), []chat.Message{first}
	}
	err = u.DB.Chats().SetTopic(ctx, c.Key, c.Epoch, title, idsOf(said))
	if err != nil && !errors.Is(err, db.ErrNotFound) { // one of them was recalled meanwhile
		log.Error().Err(err).Msg("title not stored")
	}
}
