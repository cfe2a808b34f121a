package feishu

import (
	"context"
	"net/http"
	"slices"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
)

// scopes are the permissions that the app must have. Of those in one row one is enough; the first is the narrowest.
var scopes = [][]string{
	{"im:message:send_as_bot", "im:message"},                           // to answer
	{"im:message.p2p_msg:readonly", "im:message.p2p_msg"},              // to be written to
	{"im:message.group_at_msg:readonly", "im:message.group_msg"},       // to be mentioned in groups
	{"im:message:readonly", "im:message"},                              // to look at what a message answers
	{"im:message:update", "im:message"},                                // to draw cards anew
	{"im:message.reactions:write_only"},                                // to show that a question was seen
	{"im:resource"},                                                    // to read and send files
	{"im:chat:readonly", "im:chat:read", "im:chat"},                    // to know the chats it is in
	{"cardkit:card:write"},                                             // to let an answer grow
	{"contact:user.base:readonly"},                                     // to know people's names
	{"application:application:self_manage", "admin:app.info:readonly"}, // to know its owner, and what is missing here
}

// Permissions that only some configurations need, all of a list.
var (
	ForDepartments = []string{"contact:user.department:readonly", "contact:department.base:readonly"} // to know who is in one
	// to hear what does not mention the bot
	ForAllOfGroups = []string{"im:message.group_msg"}
)

// Events and callbacks that the app must have subscribed to.
var (
	eventMessage = "im.message.receive_v1" // without it nothing arrives at all
	events       = []string{eventMessage, "im.message.recalled_v1", "im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1", "im.chat.disbanded_v1"}
	// not needed: edits, and a greeting
	useful    = []string{"im.message.updated_v1", "im.chat.access_event.bot_p2p_chat_entered_v1"}
	callbacks = []string{"card.action.trigger"}
)

// App is what the platform tells an app of itself. What it does not tell is empty.
type App struct {
	Name      string
	Owner     string // open_id of the member of the tenant to whom the app belongs
	scopes    []string
	events    []string
	callbacks []string
}

// Lacks is what an app should have been given in the console, and was not, as far as the platform tells.
type Lacks struct {
	Scopes    []string
	Events    []string
	Useful    []string // events without which the bot works, but knows less
	Callbacks []string
}

// None reports that nothing is missing that is needed.
func (l Lacks) None() bool { return len(l.Scopes)+len(l.Events)+len(l.Callbacks) == 0 }

// Deaf reports that no message arrives at the app.
func (l Lacks) Deaf() bool { return slices.Contains(l.Events, eventMessage) }

// Lacks compares what the app has with what it needs: what every app does, and the permissions that its configuration
// needs beside.
func (a App) Lacks(beside ...string) Lacks {
	var l Lacks
	if len(a.scopes) > 0 {
		l.Scopes = without(beside, a.scopes)
		for _, any := range scopes {
			if !slices.ContainsFunc(any, func(s string) bool { return slices.Contains(a.scopes, s) }) {
				l.Scopes = append(l.Scopes, any[0])
			}
		}
	}
	l.Events, l.Useful, l.Callbacks = without(events, a.events), without(useful, a.events), without(callbacks, a.callbacks)
	return l
}

// without gives what of a list another does not have, nothing when the other is not known.
func without(list, has []string) []string {
	if has == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(has, s) })
}

// Owner is the user to whom the app belongs; empty = the platform does not name one.
func (c *Client) Owner(ctx context.Context) (string, error) {
	app, err := application(ctx, c.api, c.cfg.AppID)
	return app.Owner, err
}

// memberOwner is the type of an owner who is a member of the tenant; others are companies (page
// application-v6/application/get).
const memberOwner = 2

// application asks about the app, which must have the permission for it.
func application(ctx context.Context, a *openapi.Client, id string) (App, error) {
	answer, err := a.Call(ctx, openapi.Request{
		Op: "look at the app", Method: http.MethodGet, Path: openapi.Path("/open-apis/application/v6/applications/", id),
		Query: larkcore.QueryParams{"lang": {"zh_cn"}, "user_id_type": {"open_id"}},
	})
	if err != nil {
		return App{}, err
	}
	told := answer.Get("data.app")
	app := App{Name: told.Get("app_name").String(), Owner: told.Get("creator_id").String()}
	if owner := told.Get("owner"); owner.Get("owner_id").String() != "" && (owner.Get("type").Int() == memberOwner || app.Owner == "") {
		app.Owner = owner.Get("owner_id").String()
	}
	told.Get("scopes").ForEach(func(_, s gjson.Result) bool {
		if types := s.Get("token_types"); !types.Exists() || slices.Contains(words(types), "tenant") {
			app.scopes = append(app.scopes, s.Get("scope").String())
		}
		return true
	})
	app.events, app.callbacks = words(told.Get("event.subscribed_events")), words(told.Get("callback.subscribed_callbacks"))
	if app.callbacks == nil {
		app.callbacks = words(told.Get("callback_info.subscribed_callbacks"))
	}
	return app, nil
}

// granted lists the permissions that the tenant has given the app; that needs none (page application-v6/scope/list).
func granted(ctx context.Context, a *openapi.Client) ([]string, error) {
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

// words gives a list of strings; nil when there is none, as opposed to an empty one.
func words(list gjson.Result) []string {
	if !list.IsArray() {
		return nil
	}
	out := []string{}
	for _, s := range list.Array() {
		out = append(out, s.String())
	}
	return out
}
