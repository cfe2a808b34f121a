package feishu

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
)

// requiredScopes are the permissions that the app must have. One permission of each row is enough, as the pages of the
// calls and events say; we request the first of each row.
var requiredScopes = [][]string{
	{"im:message:send_as_bot", "im:message"},                           // to reply, and to redraw cards
	{"im:message.p2p_msg:readonly", "im:message.p2p_msg"},              // to receive private messages
	{"im:message.group_at_msg:readonly", "im:message.group_msg"},       // to receive mentions in groups
	{"im:message:readonly", "im:message"},                              // to read quotes, forwarded messages and files
	{"im:message:readonly", "im:message.reactions:read"},               // to find reactions of an earlier process
	{"im:message.reactions:write_only"},                                // to show that a question was seen
	{"im:resource", "im:resource:upload"},                              // to send files
	{"im:chat:read", "im:chat:readonly", "im:chat"},                    // to know the mode of a group
	{"im:chat.members:read", "im:chat:readonly", "im:chat"},            // to know users' names
	{"im:chat.members:bot_access", "im:chat:readonly", "im:chat"},      // to learn when it is added to a group
	{"cardkit:card:write"},                                             // to stream an answer
	{"application:application:self_manage", "admin:app.info:readonly"}, // to know its owner and its permissions
}

// Permissions that only some configurations need. All permissions of a list are needed.
var (
	// to list a user's departments: the call, the field in its reply, and the parent departments
	ForDepartments = []string{
		"contact:contact.base:readonly", "contact:user.department:readonly", "contact:department.base:readonly",
	}
	// to receive messages that do not mention the bot
	ForAllOfGroups = []string{"im:message.group_msg"}
	// to receive mentions by other bots
	ForBots = []string{"im:message.group_at_msg.include_bot:readonly"}
)

// greetingScope is the permission for the event of an opened private chat.
const greetingScope = "im:chat.access_event.bot_p2p_chat:read"

// Events and callbacks that the app must have subscribed to.
var (
	eventMessage   = "im.message.receive_v1" // without it no message arrives at all
	requiredEvents = []string{
		eventMessage, "im.message.recalled_v1", "im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1",
		"im.chat.disbanded_v1",
	}
	eventRead = "im.message.message_read_v1" // needs no permission beyond the required ones
	// Only for the greeting, to start a process before the question, and for the bot's menu. im.message.updated_v1 is not among them: it
	// also comes for every change of a bot's card, at an unknown rate.
	optionalEvents    = []string{"im.chat.access_event.bot_p2p_chat_entered_v1", eventRead, eventMenu}
	requiredCallbacks = []string{"card.action.trigger"}
)

// App is what the platform reports about an app. A field that the platform did not report is empty.
type App struct {
	Name      string
	Owner     string // open_id of the tenant member who owns the app
	scopes    []string
	events    []string
	callbacks []string
}

// MissingSettings is what an app needs from the console and lacks, as far as the platform reports it.
type MissingSettings struct {
	Scopes         []string
	OptionalScopes []string // permissions without which the bot works with limitations
	Events         []string
	OptionalEvents []string // events without which the bot works with limitations
	Callbacks      []string
}

// LacksMessageEvent reports whether the app is not subscribed to messages, so that none arrive.
func (m MissingSettings) LacksMessageEvent() bool { return slices.Contains(m.Events, eventMessage) }

// Missing compares the app with what every app needs, plus the permissions that the configuration needs. A list that
// the platform did not report is skipped, since everything would look missing.
func (a App) Missing(additional ...string) MissingSettings {
	var l MissingSettings
	if len(a.scopes) > 0 {
		l.Scopes = missingFrom(additional, a.scopes)
		for _, any := range requiredScopes {
			if !slices.ContainsFunc(any, func(s string) bool { return slices.Contains(a.scopes, s) }) &&
				!slices.Contains(l.Scopes, any[0]) {
				l.Scopes = append(l.Scopes, any[0])
			}
		}
		l.OptionalScopes = missingFrom([]string{greetingScope}, a.scopes)
	}
	l.Events, l.OptionalEvents, l.Callbacks = missingFrom(requiredEvents, a.events),
		missingFrom(optionalEvents, a.events), missingFrom(requiredCallbacks, a.callbacks)
	return l
}

// missingFrom returns the elements of list that has lacks. It returns nothing when has is unknown (nil).
func missingFrom(list, has []string) []string {
	if has == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(has, s) })
}

// Owner returns the user who owns the app, or "" if the platform does not name one.
func (c *Client) Owner(ctx context.Context) (string, error) {
	app, err := fetchApp(ctx, c.api, c.cfg.AppID)
	return app.Owner, err
}

// memberOwner is the type of an owner who is a member of the tenant; others are companies (page
// application-v6/application/get).
const memberOwner = 2

// fetchApp asks the platform about the app. The app needs a permission for that.
func fetchApp(ctx context.Context, a *openapi.Client, id string) (App, error) {
	answer, err := a.Call(ctx, openapi.Request{
		Op: "look at the app", Method: http.MethodGet,
		Path:  openapi.Path("/open-apis/application/v6/applications/", id),
		Query: larkcore.QueryParams{"lang": {"zh_cn"}, "user_id_type": {"open_id"}},
	})
	if err != nil {
		return App{}, err
	}
	data := answer.Get("data.app")
	app := App{Name: data.Get("app_name").String(), Owner: data.Get("creator_id").String()}
	// An owner of another type is a company or a vendor, not a person of this tenant; then the creator is used.
	if owner := data.Get("owner"); owner.Get("owner_id").String() != "" &&
		(cmp.Or(owner.Get("type").Int(), owner.Get("owner_type").Int()) == memberOwner || app.Owner == "") {
		app.Owner = owner.Get("owner_id").String()
	}
	data.Get("scopes").ForEach(func(_, s gjson.Result) bool {
		// Permissions of user tokens do not help: the client only has a tenant token.
		if types := s.Get("token_types"); !types.Exists() || slices.Contains(stringList(types), "tenant") {
			app.scopes = append(app.scopes, s.Get("scope").String())
		}
		return true
	})
	app.events, app.callbacks = stringList(data.Get("event.subscribed_events")),
		stringList(data.Get("callback.subscribed_callbacks"))
	if len(app.events) == 0 { // it may be empty although events are subscribed
		app.events = nil
	}
	if app.callbacks == nil {
		app.callbacks = stringList(data.Get("callback_info.subscribed_callbacks"))
	}
	return app, nil
}

// grantedScopes lists the permissions that the tenant has granted to the app. This call needs no permission (page
// application-v6/scope/list), so it works for a new app, too.
func grantedScopes(ctx context.Context, a *openapi.Client) ([]string, error) {
	answer, err := a.Call(ctx, openapi.Request{
		Op: "list the app's permissions", Method: http.MethodGet, Path: "/open-apis/application/v6/scopes",
	})
	if err != nil {
		return nil, err
	}
	var list []string
	answer.Get("data.scopes").ForEach(func(_, s gjson.Result) bool {
		if s.Get("grant_status").Int() == 1 && s.Get("scope_type").String() != "user" {
			list = append(list, s.Get("scope_name").String())
		}
		return true
	})
	return list, nil
}

// stringList converts a JSON array of strings. It returns nil when there is no array, as opposed to an empty one.
func stringList(list gjson.Result) []string {
	if !list.IsArray() {
		return nil
	}
	out := []string{}
	for _, s := range list.Array() {
		out = append(out, s.String())
	}
	return out
}
