package feishusim

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// console is the app's page in the developer console: what it was granted there, and its owner.
type console struct {
	appID, name string

	mu        sync.Mutex
	owner     string   // open_id; empty = the platform does not name one
	scopes    []string // granted to the app itself
	pending   []string // requested, not granted yet
	events    []string // subscribed
	callbacks []string
}

// Scopes of a new app: everything that this double serves, except department lookups.
var allScopes = []string{
	"application:application:self_manage", "cardkit:card:write", "im:chat:read", "im:chat.members:read",
	"im:chat.members:bot_access", "im:chat.access_event.bot_p2p_chat:read",
	"im:message", "im:message:readonly", "im:message.group_at_msg:readonly",
	"im:message.group_at_msg.include_bot:readonly", "im:message.group_msg", "im:message.p2p_msg:readonly",
	"im:message.reactions:write_only", "im:message:send_as_bot", "im:message:update", "im:resource",
}

// Scopes for the calls, one of which is enough, by route prefix (docs: the table "scopes required" of each call's
// page). The longest prefix counts.
var scopesOf = map[string][]string{
	"POST /open-apis/im/v1/messages":                          {"im:message", "im:message:send_as_bot", "im:message:send"},
	"PUT /open-apis/im/v1/messages":                           {"im:message", "im:message:send_as_bot", "im:message:update"},
	"PATCH /open-apis/im/v1/messages":                         {"im:message", "im:message:send_as_bot", "im:message:update"},
	"GET /open-apis/im/v1/messages":                           {"im:message", "im:message:readonly", "im:message.history:readonly"},
	"POST /open-apis/im/v1/messages/{message_id}/reactions":   {"im:message", "im:message.reactions:write_only"},
	"DELETE /open-apis/im/v1/messages/{message_id}/reactions": {"im:message", "im:message.reactions:write_only"},
	"GET /open-apis/im/v1/messages/{message_id}/reactions":    {"im:message:readonly", "im:message.reactions:read"},
	"POST /open-apis/im/v1/images":                            {"im:resource", "im:resource:upload"},
	"POST /open-apis/im/v1/files":                             {"im:resource", "im:resource:upload"},
	"GET /open-apis/im/v1/chats":                              {"im:chat", "im:chat:read", "im:chat:readonly"},
	"GET /open-apis/im/v1/chats/{chat_id}/members":            {"im:chat", "im:chat.members:read", "im:chat:readonly"},
	"POST /open-apis/cardkit/v1/cards":                        {"cardkit:card:write"},
	"PUT /open-apis/cardkit/v1/cards":                         {"cardkit:card:write"},
	"PATCH /open-apis/cardkit/v1/cards":                       {"cardkit:card:write"},
	"DELETE /open-apis/cardkit/v1/cards":                      {"cardkit:card:write"},
	"GET /open-apis/contact/v3/users":                         {"contact:contact.base:readonly", contactAsApp},
	"GET /open-apis/contact/v3/departments":                   {"contact:department.base:readonly", contactAsApp},
	"GET /open-apis/application/v6/applications":              {"application:application:self_manage", "admin:app.info:readonly"},
	"POST /open-apis/application/v6/applications":             {"application:application:self_manage", "admin:app.info:readonly"},
}

// contactAsApp is the old permission for the whole directory.
const contactAsApp = "contact:contact:readonly_as_app"

// scopesFor returns the permissions of which a call to this route needs one.
func scopesFor(pattern string) (scopes []string) {
	longest := 0
	for beginning, list := range scopesOf {
		if strings.HasPrefix(pattern, beginning) && len(beginning) > longest {
			scopes, longest = list, len(beginning)
		}
	}
	return scopes
}

// Events of a new app.
var allEvents = []string{
	"im.message.receive_v1", "im.message.updated_v1", "im.message.recalled_v1", "im.message.reaction.created_v1",
	"im.message.reaction.deleted_v1",
	"im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1", "im.chat.disbanded_v1", "im.chat.updated_v1",
	"im.chat.access_event.bot_p2p_chat_entered_v1", "im.message.message_read_v1", "application.bot.menu_v6",
}

const callbackPress = "card.action.trigger"

func newConsole(cfg Config) *console {
	return &console{appID: cfg.AppID, name: cfg.BotName, scopes: slices.Clone(allScopes),
		events:    slices.Clone(allEvents),
		callbacks: []string{callbackPress}}
}

// SetOwner sets the app's owner. With the zero User the platform names no owner.
func (c *console) SetOwner(u User) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = u.OpenID
}

func (c *console) ownerID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner
}

// TakeScopes removes permissions from the app; a removed one counts as requested, and waits for the administrator.
func (c *console) TakeScopes(scopes ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = slices.DeleteFunc(c.scopes, func(s string) bool { return slices.Contains(scopes, s) })
	c.pending = append(c.pending, scopes...)
}

// GiveScopes adds permissions to the app, as the administrator does.
func (c *console) GiveScopes(scopes ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = union(c.scopes, scopes)
	c.pending = slices.DeleteFunc(c.pending, func(s string) bool { return slices.Contains(scopes, s) })
}

// has reports whether the app has one of some permissions.
func (c *console) has(scopes ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(c.scopes, s) })
}

// Unsubscribe removes events and callbacks from the app's subscriptions, as the platform reports them. They are still
// pushed.
func (c *console) Unsubscribe(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := func(s string) bool { return slices.Contains(names, s) }
	c.events, c.callbacks = slices.DeleteFunc(c.events, gone), slices.DeleteFunc(c.callbacks, gone)
}

// grant gives the app the permissions requested by a registration, and its owner.
func (c *console) grant(owner string, a addons) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = owner
	c.scopes = union(c.scopes, a.Scopes.Tenant)
	c.events = union(c.events, a.Events.Items.Tenant)
	c.callbacks = union(c.callbacks, a.Callbacks.Items)
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// need refuses a call if the app has none of some permissions (doc: api-call-guide/generic-error-code, 99991672).
func (c *console) need(scopes []string) *refusal {
	if len(scopes) == 0 || c.has(scopes...) {
		return nil
	}
	list := strings.Join(scopes, ", ")
	return refuse("", codeScope,
		"Access denied. One of the following scopes is required: [%s].应用尚未开通所需的应用身份权限：[%[1]s]，"+
			"点击链接申请并开通任一权限即可：https://open.feishu.cn/app/%s/auth?q=%s&op_from=openapi&token_type=tenant", list, c.appID,
		strings.Join(scopes, ","))
}

func (c *console) routes() []route {
	return []route{
		api("GET /open-apis/application/v6/applications/{app_id}", c.application),
		api("GET /open-apis/application/v6/scopes", c.granted),
	}
}

// Codes of application-v6/application/get.
const (
	codeAppInvalid = 210503
	codeAppForeign = 210508 // another app's
)

// application describes the app (doc: application-v6/application/get). An owner of type 2 is a member of the tenant.
func (c *console) application(q *request) (any, *refusal) {
	if !slices.Contains([]string{"zh_cn", "en_us", "ja_jp"}, q.URL.Query().Get("lang")) {
		return nil, refuse(RuleField, codeField, "lang is required")
	}
	if t := q.URL.Query().Get("user_id_type"); t != "" && t != "open_id" {
		return nil, refuse(RuleField, codeField, "user_id_type %q", t)
	}
	switch id := q.PathValue("app_id"); {
	case id != c.appID && id != "me" && !strings.HasPrefix(id, "cli_"):
		return nil, refuse(RuleUnknownID, codeAppInvalid, "invalid app_id")
	case id != c.appID && id != "me":
		return nil, refuse(RuleUnknownID, codeAppForeign, "insufficient permission level")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	scopes := []any{}
	for _, s := range c.scopes {
		scopes = append(scopes, map[string]any{
			"scope": s, "description": s, "level": 1, "token_types": []string{"tenant"},
		})
	}
	return map[string]any{"app": map[string]any{
		"app_id": c.appID, "creator_id": c.owner, "status": 1, "scene_type": 0, "payment_type": 0, "app_name": c.name,
		"online_version_id": "oav_" + c.appID, "scopes": scopes, "owner": map[string]any{
			"type": 2, "owner_id": c.owner,
		},
		"event":    map[string]any{"subscription_type": "websocket", "subscribed_events": c.events},
		"callback": map[string]any{"callback_type": "websocket", "subscribed_callbacks": c.callbacks},
	}}, nil
}

// granted lists the permissions that the tenant has granted to the app; it needs none itself (doc:
// application-v6/scope/list).
func (c *console) granted(*request) (any, *refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []any{}
	for status, scopes := range map[int][]string{1: c.scopes, 2: c.pending} {
		for _, s := range scopes {
			list = append(list, map[string]any{"scope_name": s, "grant_status": status, "scope_type": "tenant"})
		}
	}
	return map[string]any{"scopes": list}, nil
}

// statusOfOAuth is the HTTP status of an answer of the accounts server (RFC 6749, 5.2).
func statusOfOAuth(failure string) int {
	if failure != "" {
		return http.StatusBadRequest
	}
	return http.StatusOK
}
