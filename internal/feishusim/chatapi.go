package feishusim

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// chatAPI serves the bot's own data, chats and people.
type chatAPI struct {
	world *world
	page  *console
}

func (a *chatAPI) routes() []route {
	const chats = "/open-apis/im/v1/chats"
	return []route{
		{pattern: "GET /open-apis/bot/v3/info", serve: a.bot},
		api("GET "+chats, a.list),
		api("GET "+chats+"/{chat_id}", a.get),
		api("GET "+chats+"/{chat_id}/members", a.members),
		api("GET "+chats+"/{chat_id}/members/is_in_chat", a.isIn),
		api("GET /open-apis/contact/v3/users/{user_id}", a.user),
		api("POST /open-apis/application/v6/applications/{app_id}/visibility/check_white_black_list", a.visible),
	}
}

// bot answers with a member bot where other APIs have data.
func (a *chatAPI) bot(http.ResponseWriter, *request) reply {
	return reply{status: http.StatusOK, msg: "ok", fields: map[string]any{"bot": map[string]any{
		"activate_status": 2, "app_name": a.world.bot.Name, "avatar_url": "", "ip_white_list": []string{},
		"open_id": a.world.botID}}}
}

func (a *chatAPI) list(*request) (any, *refusal) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	items := []any{}
	for _, c := range a.world.chats {
		if !c.private() && c.BotIn && !c.dissolved { // private chats are not listed
			items = append(items, map[string]any{
				"chat_id": c.ID, "name": c.Name, "tenant_key": a.world.tenant, "chat_status": "normal",
			})
		}
	}
	return map[string]any{"items": items, "has_more": false, "page_token": ""}, nil
}

// get describes a chat. Numbers are strings here, as in the real API (doc: im-v1/chat/get).
func (a *chatAPI) get(q *request) (any, *refusal) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	if id := q.PathValue("chat_id"); a.world.chat(id) == nil {
		return nil, refuse(RuleUnknownID, codeUnknownChat, "%s", fmt.Sprintf("not a valid {chat_id}: %q", id))
	}
	c, bad := a.world.memberOf(q.PathValue("chat_id"))
	if bad != nil {
		return nil, bad
	}
	kind := map[bool]string{true: "p2p", false: "private"}[c.private()]
	return map[string]any{"name": c.Name, "description": "", "chat_mode": c.Mode, "chat_type": kind,
		"group_message_type": c.messageType(),
		"user_count":         strconv.Itoa(len(c.Members)), "bot_count": "1", "tenant_key": a.world.tenant,
		"external": false, "chat_status": "normal"}, nil
}

// members does not list bots (doc: im-v1/chat-members/get).
func (a *chatAPI) members(q *request) (any, *refusal) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	c, bad := a.world.memberOf(q.PathValue("chat_id"))
	if bad != nil {
		return nil, bad
	}
	idType := q.URL.Query().Get("member_id_type")
	items := []any{}
	for _, u := range c.Members {
		id, ok := u.id(idType)
		if !ok {
			return nil, refuse(RuleField, codeField, "member_id_type %q", idType)
		}
		items = append(items, map[string]any{
			"member_id": id, "member_id_type": idType, "name": u.Name, "tenant_key": a.world.tenant,
		})
	}
	return map[string]any{"items": items, "has_more": false, "page_token": "", "member_total": len(items)}, nil
}

func (a *chatAPI) isIn(q *request) (any, *refusal) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	c := a.world.chat(q.PathValue("chat_id"))
	if c == nil {
		return nil, refuse(RuleUnknownID, codeField, "no chat %q", q.PathValue("chat_id"))
	}
	return map[string]any{"is_in_chat": c.BotIn && !c.dissolved}, nil
}

// visible lists who may use the app; here everyone may (doc:
// application-v6/application-visibility/check_white_black_list).
func (a *chatAPI) visible(q *request) (any, *refusal) {
	var in struct {
		UserIDs []string `json:"user_ids"`
	}
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	if t := q.URL.Query().Get("user_id_type"); t != "open_id" {
		return nil, refuse(RuleField, codeField, "user_id_type %q", t)
	}
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	list := []any{}
	for _, id := range in.UserIDs {
		if u := a.world.user(id); u == nil || u.OpenID != id {
			return nil, refuse(RuleUnknownID, codeUnknownOpenID, "%s", fmt.Sprintf("not a valid {open_id}: %q", id))
		}
		list = append(
			list, map[string]any{"user_id": id, "in_white_list": true, "in_black_list": false, "in_paid_list": false},
		)
	}
	return map[string]any{"user_visibility_list": list}, nil
}

func (a *chatAPI) user(q *request) (any, *refusal) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	id, idType := q.PathValue("user_id"), q.URL.Query().Get("user_id_type")
	u := a.world.user(id)
	if u == nil {
		return nil, refuse(RuleUnknownID, codeUnknownOpenID, "%s", fmt.Sprintf("not a valid {open_id}: %q", id))
	}
	if want, ok := u.id(idType); !ok || want != id {
		return nil, refuse(RuleField, codeUnknownOpenID, "%q is no %s", id, idType)
	}
	user := map[string]any{"open_id": u.OpenID, "union_id": u.UnionID}
	for scope, fields := range map[string]map[string]any{ // fields that need a separate permission
		"contact:user.department:readonly":  {"department_ids": append([]string{}, a.world.departmentsByUser[u.OpenID]...)},
		"contact:user.base:readonly":        {"name": u.Name},
		"contact:user.employee:readonly":    {"status": map[string]bool{"is_activated": true}},
		"contact:user.employee_id:readonly": {"user_id": u.UserID},
	} {
		if a.page.has(scope, contactAsApp) {
			maps.Copy(user, fields)
		}
	}
	return map[string]any{"user": user}, nil
}
