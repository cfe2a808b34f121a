package feishu

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// eventScopes are the permissions for events: no call shows that one of them is missing.
var eventScopes = []string{
	"im:message.p2p_msg:readonly", "im:message.group_at_msg:readonly", "im:chat.members:bot_access",
}

// useEverything makes each kind of call that the bridge makes, and returns the missing permissions.
func (p *platform) useEverything(ask chat.Ref) (missing []string) {
	p.t.Helper()
	ann, room := p.Users()[0], ask.Key.ID
	group := p.TopicGroup("team", ann)
	key := p.Server.Upload("a.txt", "text/plain", []byte("words"))
	file := p.Send(room, ann, "file", []byte(fmt.Sprintf(`{"file_key":%q,"file_name":"a.txt"}`, key)))
	ctx := p.ctx()
	if id, err := p.Client.Post(ctx, ask, chat.Card{Live: true, Body: "a"}, "seed"); err == nil {
		_ = p.Client.Close(ctx, id, buttonCard)
		_ = p.Client.RemoveButtons(ctx, id)
	}
	p.Inject(feishusim.Fault{Path: cardAPI, Code: 10002}) // the card becomes part of its message
	if id, err := p.Client.Post(ctx, ask, chat.Card{Live: true, Body: "a"}, "plain"); err == nil {
		_ = p.Client.Close(ctx, id, chat.Card{Body: "a b"})
	}
	_ = p.SetReaction(ctx, ask, chat.Working)
	p.reactions.typing.Purge() // as after a restart
	_ = p.SetReaction(ctx, ask, chat.Finished)
	_ = p.Download(ctx, chat.File{Kind: chat.Document, Key: key, Of: file}, 100, &bytes.Buffer{})
	_, _ = p.Client.Upload(ctx, chat.Ref{}, chat.Upload{Name: "b.txt", Data: []byte("b")})
	_, _ = p.FetchQuoted(ctx, ask.Key, file)
	_, _ = p.topics.groupMode(ctx, group)
	_ = p.names.fetchMembers(ctx, group)
	_, _ = fetchApp(ctx, p.api, p.AppID())
	for _, c := range p.Calls() {
		if c.Code == 99991672 {
			missing = append(missing, c.Route)
		}
	}
	return missing
}

// The listed permissions suffice for all calls, and each of them is needed.
func TestEachPermissionIsNeeded(t *testing.T) {
	wants := requestedAddons().Scopes.Tenant
	for _, without := range append([]string{""}, wants...) {
		if slices.Contains(eventScopes, without) {
			continue
		}
		t.Run("without "+without, func(t *testing.T) {
			inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
				p.TakeScopes(slices.Concat(requiredScopes...)...)
				p.GiveScopes(wants...)
				p.TakeScopes(without)
				if missing := p.useEverything(ask); (len(missing) > 0) != (without != "") {
					p.t.Errorf("refused: %q\n%s", missing, p.log)
				}
			})
		})
	}
}

// Departments need the permission for the call and the one for the field.
func TestPermissionsForDepartments(t *testing.T) {
	for _, without := range append([]string{""}, ForDepartments...) {
		t.Run("without "+without, func(t *testing.T) {
			p := newPlatform(t, feishusim.Config{})
			ann, office := p.AddUser("Ann"), p.AddDepartment("office", "")
			p.Assign(ann, office)
			p.GiveScopes(ForDepartments...)
			p.TakeScopes(without)
			got, err := p.Departments(p.ctx(), ann.OpenID)
			if (err == nil) != (without == "") || without == "" && !slices.Equal(got, []string{office}) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// The documentation names each permission that doctor and setup ask for, in both languages.
func TestPermissionsAreDocumented(t *testing.T) {
	all := slices.Concat(requestedAddons().Scopes.Tenant, requiredEvents, optionalEvents, requiredCallbacks,
		ForDepartments, ForAllOfGroups, ForBots, []string{greetingScope})
	for _, page := range []string{"../docs/feishu-app.md", "../docs/feishu-app.zh.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s does not name %s", page, name)
			}
		}
		for _, word := range consoleWords[page] {
			if !strings.Contains(string(text), word) {
				t.Errorf("%s does not name %q as the console does", page, word)
			}
		}
	}
}

// consoleWords are the terms of the developer console for what people have to find there.
var consoleWords = map[string][]string{
	"../docs/feishu-app.md": {
		"*Custom App*", "*Receive events through persistent connection*", "*Version Management & Release*", "*Availability*",
	},
	"../docs/feishu-app.zh.md": {"企业自建应用", "使用长连接接收事件", "版本管理与发布", "可用范围"},
}
