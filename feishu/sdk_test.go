package feishu

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	larkapplication "github.com/larksuite/oapi-sdk-go/v3/service/application/v6"
	larkcardkit "github.com/larksuite/oapi-sdk-go/v3/service/cardkit/v1"
	larkcontact "github.com/larksuite/oapi-sdk-go/v3/service/contact/v3"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkspeech "github.com/larksuite/oapi-sdk-go/v3/service/speech_to_text/v1"
	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// sdkRequest is a request in terms of the SDK.
type sdkRequest struct {
	builder any // has a method for each parameter of the path and of the query
	body    any // has a field for each member of the body or the form; nil = it has none
}

// sdkParts are the objects inside request bodies, by their names there.
var sdkParts = map[string]any{
	"card": larkcardkit.Card{}, "reaction_type": larkim.Emoji{}, "config": larkspeech.FileConfig{}, "speech": larkspeech.Speech{},
}

// sdkRequests are the requests that the client makes, by the route of feishusim.
var sdkRequests = map[string]sdkRequest{
	"POST messages":              {&larkim.CreateMessageReqBuilder{}, larkim.CreateMessageReqBody{}},
	"POST messages/reply":        {&larkim.ReplyMessageReqBuilder{}, larkim.ReplyMessageReqBody{}},
	"PATCH messages/":            {&larkim.PatchMessageReqBuilder{}, larkim.PatchMessageReqBody{}},
	"GET messages":               {&larkim.ListMessageReqBuilder{}, nil},
	"GET messages/":              {&larkim.GetMessageReqBuilder{}, nil},
	"GET messages/resources/":    {&larkim.GetMessageResourceReqBuilder{}, nil},
	"POST messages/reactions":    {&larkim.CreateMessageReactionReqBuilder{}, larkim.CreateMessageReactionReqBody{}},
	"GET messages/reactions":     {&larkim.ListMessageReactionReqBuilder{}, nil},
	"DELETE messages/reactions/": {&larkim.DeleteMessageReactionReqBuilder{}, nil},
	"POST images":                {&larkim.CreateImageReqBuilder{}, larkim.CreateImageReqBody{}},
	"POST files":                 {&larkim.CreateFileReqBuilder{}, larkim.CreateFileReqBody{}},
	"GET chats":                  {&larkim.ListChatReqBuilder{}, nil},
	"GET chats/":                 {&larkim.GetChatReqBuilder{}, nil},
	"GET chats/members":          {&larkim.GetChatMembersReqBuilder{}, nil},
	"POST cards":                 {&larkcardkit.CreateCardReqBuilder{}, larkcardkit.CreateCardReqBody{}},
	"PUT cards/":                 {&larkcardkit.UpdateCardReqBuilder{}, larkcardkit.UpdateCardReqBody{}},
	"POST cards/id_convert":      {&larkcardkit.IdConvertCardReqBuilder{}, larkcardkit.IdConvertCardReqBody{}},
	"POST cards/batch_update":    {&larkcardkit.BatchUpdateCardReqBuilder{}, larkcardkit.BatchUpdateCardReqBody{}},
	"PATCH cards/settings":       {&larkcardkit.SettingsCardReqBuilder{}, larkcardkit.SettingsCardReqBody{}},
	"PUT cards/elements/content": {&larkcardkit.ContentCardElementReqBuilder{}, larkcardkit.ContentCardElementReqBody{}},
	"PATCH cards/elements/":      {&larkcardkit.PatchCardElementReqBuilder{}, larkcardkit.PatchCardElementReqBody{}},
	"DELETE cards/elements/":     {&larkcardkit.DeleteCardElementReqBuilder{}, larkcardkit.DeleteCardElementReqBody{}},
	"GET users/":                 {&larkcontact.GetUserReqBuilder{}, nil},
	"GET departments/parent":     {&larkcontact.ParentDepartmentReqBuilder{}, nil},
	"GET applications/":          {&larkapplication.GetApplicationReqBuilder{}, nil},
	"POST applications/visibility/check_white_black_list": {
		&larkapplication.CheckWhiteBlackListApplicationVisibilityReqBuilder{},
		larkapplication.CheckWhiteBlackListApplicationVisibilityReqBody{},
	},
	"POST speech/file_recognize":        {&larkspeech.FileRecognizeSpeechReqBuilder{}, larkspeech.FileRecognizeSpeechReqBody{}},
	"GET scopes":                        {nil, nil}, // the SDK has no builder for calls without parameters
	"GET info":                          {nil, nil}, // of the bot: the SDK has no typed call
	"POST tenant_access_token/internal": {nil, nil}, // part of the SDK's core
}

var (
	routeBase = regexp.MustCompile(`/open-apis/\w+/v\d+/|/oauth/.*|/callback/.*`)
	routeID   = regexp.MustCompile(`\{\w+\}(/|$)`)
	pathID    = regexp.MustCompile(`\{\w+\}|:\w+`)
	sdkCall   = regexp.MustCompile(`ApiPath = "([^"]+)"\s+apiReq.HttpMethod = http.Method(\w+)`)
	capital   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// routeName is a route without the service and without IDs; a route that ends with an ID ends with a slash.
func routeName(route string) string {
	return routeID.ReplaceAllString(routeBase.ReplaceAllString(route, ""), "")
}

// sdkFolder is the folder of the SDK's source.
var sdkFolder = sync.OnceValue(func() string {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/larksuite/oapi-sdk-go/v3").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(dir))
})

// sdkRoutes are the methods and paths of the SDK's calls, with :id for each ID. They are only in its source.
var sdkRoutes = sync.OnceValue(func() map[string]bool {
	routes := map[string]bool{}
	for _, service := range []string{"application/v6", "cardkit/v1", "contact/v3", "im/v1", "speech_to_text/v1"} {
		source, err := os.ReadFile(filepath.Join(sdkFolder(), "service", service, "resource.go"))
		if err != nil {
			panic(err)
		}
		for _, m := range sdkCall.FindAllStringSubmatch(string(source), -1) {
			routes[strings.ToUpper(m[2])+" "+pathID.ReplaceAllString(m[1], ":id")] = true
		}
	}
	return routes
})

// checkCalls fails for calls that the SDK would not make: to other paths, with other parameters, or with other fields
// in their bodies.
func checkCalls(t *testing.T, calls []feishusim.Call) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range calls {
		if c.Faulty || !strings.Contains(c.Route, "/open-apis/") || seen[c.Route+c.Query+c.Body] {
			continue
		}
		seen[c.Route+c.Query+c.Body] = true
		name := routeName(c.Route)
		r, ok := sdkRequests[name]
		if !ok {
			t.Errorf("%q is not compared with the SDK: %s", name, c.Route)
			continue
		}
		if r.builder == nil {
			continue
		}
		if !sdkRoutes()[pathID.ReplaceAllString(c.Route, ":id")] {
			t.Errorf("the SDK makes no call to %s", c.Route)
		}
		known := parameters(r.builder)
		query, err := url.ParseQuery(c.Query)
		if err != nil {
			t.Errorf("%s: query %q", c.Route, c.Query)
		}
		for key := range query {
			if !slices.Contains(known, key) {
				t.Errorf("%s has no parameter %s", c.Route, key)
			}
		}
		for _, key := range c.Members {
			if r.body == nil || !slices.Contains(members(r.body), key) {
				t.Errorf("the body of %s has no member %s", c.Route, key)
			}
		}
		for name, part := range sdkParts {
			gjson.Get(c.Body, name).ForEach(func(key, _ gjson.Result) bool {
				if !slices.Contains(members(part), key.String()) {
					t.Errorf("%s in the body of %s has no member %s", name, c.Route, key)
				}
				return true
			})
		}
	}
}

var update = flag.Bool("update", false, "write testdata/sdk_requests.txt anew")

// The parameters and fields of our requests are those of the SDK in use. Fails when an update of the SDK changes them.
func TestRequestsOfTheSDK(t *testing.T) {
	var b strings.Builder
	line := func(name string, names []string) {
		slices.Sort(names)
		fmt.Fprintln(&b, strings.TrimRight(name+": "+strings.Join(names, " "), " "))
	}
	for _, name := range slices.Sorted(maps.Keys(sdkRequests)) {
		r := sdkRequests[name]
		if r.builder == nil {
			continue
		}
		line(name, slices.DeleteFunc(parameters(r.builder), func(s string) bool { return s == "build" || s == "body" }))
		if r.body != nil {
			line("  body", members(r.body))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sdkParts)) {
		line(name+" in a body", members(sdkParts[name]))
	}
	file := filepath.Join("testdata", "sdk_requests.txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), b.String()); diff != "" {
		t.Errorf("the SDK has other requests (-update writes them):\n%s", diff)
	}
}

// Each request in sdkRequests is made, so the list has no obsolete entries.
func TestEachRequestIsMade(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.run(newRecorder())
	p.GiveScopes(ForDepartments...)
	p.SetRecognizer(func([]byte) string { return "hm" })
	ann, ctx := p.Users()[0], p.ctx()
	p.Assign(ann, p.AddDepartment("office", p.AddDepartment("company", "")))
	_, err := p.Departments(ctx, ann.OpenID)
	p.must(err)
	p.transcriber.decoder = decoder(t, "32000")
	_, err = p.Transcribe(ctx, recording(t), time.Second)
	p.must(err)
	_, err = p.Client.Upload(ctx, chat.Ref{}, chat.Upload{Name: "a.png", Data: pixels(t), Picture: true})
	p.must(err)
	_, err = p.Reply(ctx, chat.Ref{Key: ask.Key}, "unasked", "unasked")
	p.must(err)
	_, err = p.ListMessages(ctx, ask.Key, chat.Private, time.Now().Add(-time.Hour), 10)
	p.must(err)
	card := chat.Card{Live: true, Body: "a", Panels: []chat.Panel{{Title: "0", Body: "-"}}}
	id, err := p.Client.Post(ctx, ask, card, "parts")
	p.must(err)
	for _, panel := range []chat.Panel{{Title: "1", Body: "-"}, {Title: "2", Body: "- b"}} { // one part, two parts
		card.Panels = []chat.Panel{panel}
		p.must(p.Edit(ctx, id, card))
	}
	card.Body = "a b"
	p.must(p.Edit(ctx, id, card))
	k, err := p.cards.find(id)
	p.must(err)
	p.must(k.pages[0].entity.setStreaming(ctx, true, 1))
	p.must(p.Client.Close(ctx, id, card))
	_, err = p.Find(ctx, ask) // looks the entities of its cards up
	p.must(err)
	found := Check(ctx, Config{AppID: p.AppID(), AppSecret: p.AppSecret(), BaseURL: p.URL()})
	if found.Credentials != nil {
		t.Error(found.Credentials)
	}
	p.must(checkID(ctx, p.api, p.AppID(), ann.OpenID))
	p.TakeScopes("application:application:self_manage") // then only the permissions can be read
	_ = Check(ctx, Config{AppID: p.AppID(), AppSecret: p.AppSecret(), BaseURL: p.URL()})
	p.useEverything(ask)
	made := map[string]bool{}
	for _, c := range p.Calls() {
		made[routeName(c.Route)] = true
	}
	for name := range sdkRequests {
		if !made[name] {
			t.Errorf("nobody makes %s", name)
		}
	}
}

// The SDK itself registers apps and opens the websocket. feishusim serves these routes.
func TestRoutesOutsideOfTheAPI(t *testing.T) {
	for source, route := range map[string]string{
		"scene/registration/registration.go": "/oauth/v1/app/registration", "ws/const.go": "/callback/ws/endpoint",
	} {
		text, err := os.ReadFile(filepath.Join(sdkFolder(), filepath.FromSlash(source)))
		if err != nil || !strings.Contains(string(text), `"`+route+`"`) {
			t.Errorf("the SDK calls no %s (%v)", route, err)
		}
	}
	p := newPlatform(t, feishusim.Config{})
	p.run(newRecorder())
	ctx, cancel := context.WithCancel(p.ctx())
	_, err := Register(ctx, Config{BaseURL: p.URL()}, "Magpie", func(string, time.Duration) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, route := range []string{"POST /oauth/v1/app/registration", "POST /callback/ws/endpoint"} {
		if !slices.ContainsFunc(p.Calls(), func(c feishusim.Call) bool { return c.Route == route && c.Code == 0 }) {
			t.Errorf("%s is not called", route)
		}
	}
	p.clean()
}

// parameters are those of a builder's methods, named as in the API.
func parameters(builder any) (names []string) {
	for m := range reflect.TypeOf(builder).Methods() {
		names = append(names, strings.ToLower(capital.ReplaceAllString(m.Name, "${1}_${2}")))
	}
	return names
}

// members are the fields of a body, named as in the API.
func members(body any) (names []string) {
	for f := range reflect.TypeOf(body).Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestTheSDKIsRead(t *testing.T) {
	if got := parameters(&larkim.CreateMessageReqBuilder{}); !slices.Contains(got, "receive_id_type") {
		t.Errorf("parameters %v", got)
	}
	p, ask := newQuestion(t, feishusim.Config{})
	_, err := p.Client.Upload(p.ctx(), chat.Ref{}, chat.Upload{Name: "a.txt", Data: []byte("a")})
	p.must(err)
	_, err = p.Reply(p.ctx(), ask, strings.Repeat("long ", 2000), "seed")
	p.must(err)
	for _, c := range p.Calls() {
		want := map[string]string{
			"/open-apis/im/v1/files":                         "file file_name file_type",
			"/open-apis/im/v1/messages/" + ask.ID + "/reply": "content msg_type uuid",
		}[c.Path]
		if want != "" && strings.Join(c.Members, " ") != want {
			t.Errorf("%s has the members %q, want %q", c.Path, c.Members, want)
		}
	}
	if got := members(larkim.ReplyMessageReqBody{}); !slices.Contains(got, "reply_in_thread") {
		t.Errorf("members %v", got)
	}
	if r := sdkRoutes(); !r["POST /open-apis/im/v1/messages/:id/reply"] ||
		r["PUT /open-apis/im/v1/messages/:id/reply"] {
		t.Errorf("%d routes: %v", len(r), r)
	}
	for route, want := range map[string]string{
		"PUT /open-apis/cardkit/v1/cards/{card_id}/elements/{element_id}/content": "PUT cards/elements/content",
		"GET /open-apis/im/v1/messages/{message_id}":                              "GET messages/",
	} {
		if got := routeName(route); got != want {
			t.Errorf("%s is %q, want %q", route, got, want)
		}
	}
}
