package feishu

import (
	"context"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// eventMenu is sent when somebody chooses an item of the bot's menu, which private chats have (page "Custom menu
// event", application-v6/bot/events/menu). The item's key is a command, with or without its slash.
const eventMenu = "application.bot.menu_v6"

// menuChosen gives the command of a menu item, as a button does.
func (t eventHandler) menuChosen(run context.Context, payload gjson.Result) error {
	user, id := openapi.String(payload.Get("event.operator.operator_id.open_id")), openapi.String(payload.Get("header.event_id"))
	if t.client.reader.anyMalformed("a menu item", []string{user, id}) {
		return nil
	}
	room, err := t.privateChatWith(run, user)
	switch {
	case err != nil:
		return err
	case room == "":
		zerolog.Ctx(run).Info().Str("user", user).Msg("feishu: a menu item of somebody who has not written yet; ignored")
		return nil
	}
	chosen := chat.Press{
		ID: id, Key: chat.FeishuChat(room), Tenant: tenantOf(payload), Actor: chat.Actor{ID: user, Name: t.client.names.cached(user)},
		Action: chat.Action{Do: chat.DoCommand, ID: "/" + strings.TrimPrefix(payload.Get("event.event_key").String(), "/")},
	}
	at := time.UnixMilli(payload.Get("header.create_time").Int())
	return t.runInOrder(run, room, at, func(ctx context.Context) error {
		_, err := t.handler.HandlePress(ctx, chosen)
		return err
	})
}
