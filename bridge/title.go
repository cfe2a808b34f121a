package bridge

import (
	"context"
	"fmt"

	"magpie/bridge/i18n"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// makeTitle gives the conversation of a chat its title: from the agent, else from the first question. It is given once.
func (b *Bridge) makeTitle(ctx context.Context, c db.Chat, asked []chat.Message, answer string) {
	log := b.log.With().Stringer("chat", c.Key).Logger()
	said := append(asked[:len(asked):len(asked)], chat.Message{Key: c.Key, Role: chat.Assistant, Class: chat.Talk, Text: answer})
	reply, err := b.budget.askTitle(ctx, c, b.cfg.Context.TitleTask(string(b.cfg.langOf(c)), c.Kind, said))
	if ctx.Err() != nil {
		return // after the next answer it is tried again
	}
	title := contextmgr.Title(b.cfg.clean(reply))
	if err != nil || title == "" {
		log.Warn().Err(err).Msg("the agent has found no title; it is made of the question")
		title = contextmgr.FallbackTitle(b.cfg.clean(asked[0].Text))
	}
	if err := b.db.Chats().SetTopic(ctx, c.Key, c.Epoch, title); err != nil {
		log.Error().Err(err).Msg("title not stored")
	}
}

// setTitle is the command /title.
func setTitle(_ context.Context, o ordered) (order, error) {
	if o.args == "" {
		if o.chat.Topic == "" {
			return o.say(i18n.TitleNone)
		}
		return o.say(i18n.TitleIs, o.chat.Topic)
	}
	title := contextmgr.Title(o.b.cfg.clean(o.args))
	if title == "" {
		return o.say(i18n.TitleEmpty)
	}
	return order{reply: fmt.Sprintf(i18n.TitleSet.In(o.lang), title), topic: title}, nil
}
