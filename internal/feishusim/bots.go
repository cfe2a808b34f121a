package feishusim

import (
	"encoding/json"
	"fmt"
)

// AddApp makes another bot of the tenant. It writes like a person, and is not a member that the API lists.
func (w *world) AddApp(name string) User {
	u := User{OpenID: newID("ou_"), UnionID: newID("on_"), AppID: "cli_" + randomHex(8), Name: name}
	w.notify.bump()
	return u
}

// sender is the author of a message.
func (u User) sender() Sender {
	if u.AppID != "" {
		return Sender{ID: u.AppID, Type: "app", Name: u.Name, OpenBotID: u.OpenID}
	}
	return Sender{ID: u.OpenID, Type: "user", Name: u.Name}
}

// shownBotCard is the content that events, and reads of the original, have of another bot's card of version 2.0: the
// card as a string, beside the form that old clients show. Mentions in it have a key, and an ID that is not the
// open_id.
func shownBotCard(content json.RawMessage, mentions []mention, all bool) string {
	var card map[string]any
	if err := json.Unmarshal(content, &card); err != nil || card["schema"] != schemaV2 {
		return string(content)
	}
	called := ""
	for _, m := range mentions {
		called += fmt.Sprintf("<at id=%s mention_key=%s></at> ", m.user.UnionID, m.key)
	}
	if all {
		called += `<at id="all"></at> `
	}
	body, _ := card["body"].(map[string]any)
	if list, _ := body["elements"].([]any); called != "" && len(list) > 0 {
		if first, ok := list[0].(map[string]any); ok && first["tag"] == "markdown" {
			first["content"] = called + text(first["content"])
		}
	}
	return string(mustJSON(map[string]any{
		"title": nil, "elements": cardOfOldClients, "user_dsl": string(mustJSON(card)),
	}))
}

// cardOfOldClients is all that clients who do not know version 2.0 show of a card.
var cardOfOldClients = json.RawMessage(`[[{"tag":"img","image_key":"img_v3_old"}],[{"tag":"text","text":"请升级至最新版本客户端，以查看内容"}]]`)
