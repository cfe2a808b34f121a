package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/programs"
	"magpie/feishu"
	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// secondApp is an app of another tenant at the program of a rig, as seen by its people.
func secondApp(t *testing.T, change ...func(*config.Config)) (first, second *rig) {
	t.Helper()
	sim, err := feishusim.Start(feishusim.Config{AckTimeout: ackWait})
	must(t, err)
	t.Cleanup(func() { _ = sim.Close() })
	user := sim.AddUser("小红")
	first = makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Access = access.Config{}
		c.Apps = []config.App{{Name: "sales", Config: feishu.Config{
			AppID: sim.AppID(), AppSecret: sim.AppSecret(), BaseURL: sim.URL(), AckTimeout: ackWait, NameWait: busy,
		}}}
		for _, f := range change {
			f(c)
		}
	})
	first.sim.SetOwner(first.user)
	sim.SetOwner(user)
	seen := *first
	second = &seen
	second.sim, second.user, second.chat = sim, user, sim.PrivateChat(user)
	return first, second
}

// startAll starts the program, and waits until both apps are connected, and know their owners.
func startAll(first, second *rig) {
	first.Helper()
	before := second.sim.Connected()
	first.start()
	second.prog = first.prog
	second.await("a connection", func(v *feishusim.View) bool { return v.Connected() > before })
	first.awaitWelcome(first.user)
	second.awaitWelcome(second.user)
}

// key is the private chat of a further app.
func (r *rig) appKey() chat.Key {
	return chat.Key{Channel: chat.AppChannel("sales"), Kind: "chat", ID: r.chat}
}

// Two apps of two tenants at one service: each has an owner of its own, and what is in one does not exist for the other.
func TestTwoAppsOfTwoTenants(t *testing.T) {
	t.Parallel()
	shop := t.TempDir()
	a, b := secondApp(t, func(c *config.Config) {
		c.Projects = map[string]workplace.Project{"shop": {Path: shop}, "secret": {Path: t.TempDir()}}
		c.Apps[0].Projects = []string{"shop"}
		withPages(c)
	})
	startAll(a, b)
	defer func() { a.stop(); a.clean() }()

	// Both answer, each its own people.
	a.model.Script(modelsim.Rule{Match: asksFor("石榴"), Steps: []modelsim.Step{modelsim.Text("石榴记住了")}},
		modelsim.Rule{Match: asksFor("榴莲"), Steps: []modelsim.Step{modelsim.Text("榴莲记住了")}})
	if got := a.ask("石榴是暗号"); !strings.Contains(got, "石榴") {
		t.Errorf("the first app answers %q", got)
	}
	if got := b.ask("榴莲是暗号"); !strings.Contains(got, "榴莲") {
		t.Errorf("the second app answers %q", got)
	}
	for _, tc := range []struct{ own, other *rig }{{a, b}, {b, a}} {
		if v := tc.own.sim.View(); strings.Contains(tc.own.transcript(), tc.other.user.Name) || len(v.Messages(tc.other.chat)) > 0 {
			t.Errorf("one app shows what is in the other:\n%s", tc.own.transcript())
		}
	}

	if x, y := a.chatNow().Tenant, b.chatOfApp().Tenant; x == "" || y == "" || x == y {
		t.Errorf("the chats belong to %q and %q", x, y)
	}

	// A stranger of one tenant asks the owner of that one.
	stranger := b.sim.AddUser("小刚")
	b.sim.Say(b.sim.PrivateChat(stranger), stranger, "让我进来")
	b.await("the request for access", func(v *feishusim.View) bool {
		return strings.Contains(newestCard(v, b.chat), stranger.OpenID)
	})

	// Owners see and change what is in their own app.
	whole := map[string]string{
		"/admin users": stranger.OpenID, "/admin chats": b.chat, "/admin cost": b.user.OpenID,
	}
	for command, what := range whole {
		if own := everything(b, command); !strings.Contains(own, what) {
			t.Errorf("%s in the second app lacks %s: %s", command, what, own)
		}
		if other := everything(a, command); strings.Contains(other, what) || strings.Contains(other, "sales") {
			t.Errorf("%s in the first app tells of the second: %s", command, other)
		}
		if other := everything(b, command); strings.Contains(other, a.chat) || strings.Contains(other, a.user.OpenID) {
			t.Errorf("%s in the second app tells of the first: %s", command, other)
		}
	}
	person := chat.ID(chat.AppChannel("sales"), stranger.OpenID)
	nobody := "feishu-other:" + stranger.OpenID
	for _, command := range []string{"/admin users allow ", "/admin users revoke "} {
		if real, none := a.ask(command+person), a.ask(command+nobody); real != none {
			t.Errorf("%s of another app's person is answered %q, of nobody %q", command, real, none)
		}
	}
	if g, err := a.store().Access().Grant(t.Context(), person); err != nil || !g.Decided.IsZero() {
		t.Errorf("the first app's owner has decided about a person of the second: %+v, %v", g, err)
	}
	// A press with a value of the other app is about nobody.
	here := a.sim.AddUser("小强")
	a.sim.Say(a.sim.PrivateChat(here), here, "让我进来")
	a.await("the request for access", func(v *feishusim.View) bool {
		return strings.Contains(newestCard(v, a.chat), here.OpenID)
	})
	card := newestCardID(a.sim.View(), a.chat)
	press := func(subject string) string {
		t.Helper()
		answer, err := a.sim.Act(t.Context(), card, a.user, feishusim.Action{
			Value: map[string]any{"do": access.DoLetIn, "id": subject}, Forged: true,
		})
		must(t, err)
		return string(answer)
	}
	if real, none := press(person), press("ou_nobody"); real != none || real == "" {
		t.Errorf("a press about another app's person is answered %s, about nobody %s", real, none)
	}
	// His own app's owner lets him in, by the ID that the platform shows.
	b.ask("/admin users allow " + stranger.OpenID)
	said := b.sim.Say(b.sim.PrivateChat(stranger), stranger, "/status")
	b.answer(b.sim.PrivateChat(stranger), said)

	// The agent's past and memories are those of the chat.
	b.ask("/remember 榴莲在冰箱里")
	if got := a.ask("/search 榴莲"); strings.Contains(got, "冰箱") || strings.Contains(got, "榴莲记住了") {
		t.Errorf("the first app finds what is in the second: %s", got)
	}
	if got := a.ask("/memory"); strings.Contains(got, "冰箱") {
		t.Errorf("the first app has the memories of the second: %s", got)
	}
	list, err := a.store().Chats().PastSessions(t.Context(), b.appKey(), 1)
	must(t, err)
	session := b.chatOfApp().Session.ID
	if len(list) == 1 {
		session = list[0].ID
	}
	if real, none := a.ask("/resume "+session), a.ask("/resume 00000000-0000-4000-8000-000000000000"); real != none || session == "" {
		t.Errorf("a session of the other app is answered %q, none %q", real, none)
	}
	if got := everything(b, "/projects"); strings.Contains(got, "secret") || !strings.Contains(got, "shop") {
		t.Errorf("the second app has the projects %s", got)
	}
	if real, none := b.ask("/cd secret"), b.ask("/cd nothing"); strings.ReplaceAll(real, "secret", "nothing") != none {
		t.Errorf("a project of the other app is answered %q, none %q", real, none)
	}
	if cwd := b.chatOfApp().Session.Cwd; cwd != shop {
		t.Errorf("the second app's agent has worked in %s", cwd)
	}
	// The machine is the first app's owner's.
	if got := b.ask("/doctor"); strings.Contains(got, "✓") {
		t.Errorf("the second app's owner sees the machine: %s", got)
	}

	// The person of a program that asks in a chat of one organization may be of another one.
	program := a.tokenOf(programs.Token{Name: "ci", Chat: b.appKey().Room(), Person: a.user.OpenID})
	a.calls(bash(appendLine("out.txt")), modelsim.Text("做完了"))
	answer := program.later("动手吧")
	a.press(a.personsCard(), doAllow)
	if got := <-answer; got != "做完了" {
		t.Errorf("the program is answered %q", got)
	}

	// A restart keeps both, and their owners.
	a.stop()
	startAll(a, b)
	if got := a.ask("/search 石榴"); !strings.Contains(got, "石榴") {
		t.Errorf("the first app has lost its past: %s", got)
	}
	if got := b.ask("/search 榴莲"); !strings.Contains(got, "榴莲") {
		t.Errorf("the second app has lost its past: %s", got)
	}

	b.clean()

	// What is broken in one app does not stop the other.
	b.sim.SetSecret("revoked")
	b.sim.ExpireTokens()
	b.sim.DropConnections(false)
	a.until("that one app is not connected", func() bool {
		w := httptest.NewRecorder()
		a.prog.healthPages().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return w.Code == http.StatusServiceUnavailable && gjson.GetBytes(w.Body.Bytes(), "platform.door").String() == "feishu-sales"
	})
	if got := a.ask("石榴呢"); !strings.Contains(got, "石榴") {
		t.Errorf("the first app answers %q", got)
	}
	w := httptest.NewRecorder()
	a.prog.metrics.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`magpie_platform_connected{door="feishu"} 1`, `magpie_platform_connected{door="feishu-sales"} 0`,
		`magpie_turns_total{door="feishu",state="done"} 1`, `magpie_turns_total{door="feishu-sales",state="done"} `,
		`magpie_cost_usd_total{door="feishu-sales"} `,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// chatOfApp is the private chat of a further app in the store.
func (r *rig) chatOfApp() db.Chat {
	r.Helper()
	c, err := r.store().Chats().Get(context.WithoutCancel(r.Context()), r.appKey())
	must(r, err)
	return c
}

// everything is the whole card or text with which a command is answered.
func everything(r *rig, command string) string {
	m := r.answer(r.chat, r.sim.Say(r.chat, r.user, command))
	return m.Text() + string(m.Last().Card)
}

func newestCardID(v *feishusim.View, chatID string) (id string) {
	for _, m := range v.Messages(chatID) {
		if m.FromBot && m.Type == "interactive" {
			id = m.ID
		}
	}
	return id
}

func newestCard(v *feishusim.View, chatID string) string {
	for _, m := range v.Messages(chatID) {
		if m.ID == newestCardID(v, chatID) {
			return string(m.Last().Card)
		}
	}
	return ""
}

// An app has limits of its own.
func TestAppsHaveTheirOwnBudgets(t *testing.T) {
	t.Parallel()
	a, b := secondApp(t, func(c *config.Config) {
		c.Apps[0].Budget = &budget.Limits{UserDayTokens: 1}
	})
	startAll(a, b)
	defer func() { a.stop(); a.clean(); b.clean() }()
	for range 2 {
		a.ask("你好")
	}
	b.ask("你好")
	if got := b.ask("你好"); !regexp.MustCompile(`1 .*tokens|上限|额度`).MatchString(got) {
		t.Errorf("the limit of the second app lets through: %s", got)
	}
}

// A code from the log makes somebody the owner of the app that it was issued for, and of no other.
func TestACodeIsForOneApp(t *testing.T) {
	t.Parallel()
	a, b := secondApp(t)
	b.sim.TakeScopes("application:application:self_manage")
	a.start()
	defer func() { a.stop(); a.clean() }()
	b.prog = a.prog
	a.awaitWelcome(a.user)
	if dbtest.OnPostgres() {
		a.awaitLog("name its owner in [feishu.access] owner")
		return
	}
	a.awaitLog("nobody owns the bot")
	line := regexp.MustCompile(`.*nobody owns the bot.*`).FindString(a.logs.String())
	code := regexp.MustCompile(`MAGPIE-[A-Z0-9]+`).FindString(line)
	if !strings.Contains(line, b.sim.AppID()) || code == "" {
		t.Fatalf("the log says %s", line)
	}
	a.sim.Say(a.chat, a.user, code)
	if got := a.ask("/whoami"); strings.Contains(a.transcript(), "sales") {
		t.Errorf("the first app's owner has claimed the second: %s", got)
	}
	b.sim.Say(b.chat, b.user, code)
	b.awaitWelcome(b.user)
	if got := b.ask("/whoami"); !strings.Contains(got, "feishu-sales:"+b.user.OpenID) || !strings.Contains(got, "所有者") {
		t.Errorf("whoever has sent the code is %s", got)
	}
	owner, err := a.store().Access().Owner(t.Context(), a.sim.AppID(), false)
	if err != nil || owner.User != a.user.OpenID {
		t.Errorf("the first app's owner is %+v, %v", owner, err)
	}
}

// For programs a chat of an app is none.
func TestProgramsFindNoChatOfAnApp(t *testing.T) {
	t.Parallel()
	a, b := secondApp(t, func(c *config.Config) { c.HTTP.Listen = "127.0.0.1:0" })
	startAll(a, b)
	defer func() { a.stop(); a.clean(); b.clean() }()
	b.ask("榴莲是暗号")
	token, secret := api.NewToken(programs.Token{Name: "ci"})
	must(t, a.store().Programs().Add(t.Context(), token))
	pages := a.prog.api.Handler()
	ask := func(method, path string) string {
		r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(`{"text": "hello"}`))
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, w.Header(), w.Body)
	}
	for _, what := range []string{"GET messages", "POST messages", "GET events", "POST presses", "POST stop", "GET files/x"} {
		method, what, _ := strings.Cut(what, " ")
		real, none := ask(method, "/api/chats/"+b.appKey().String()+"/"+what), ask(method, "/api/chats/http:room:none/"+what)
		if real != none || !strings.HasPrefix(real, "404") {
			t.Errorf("%s %s of an app's chat is answered %s, of none %s", method, what, real, none)
		}
	}
}

// An approval is decided in its own app only.
func TestApprovalsStayInTheirApp(t *testing.T) {
	t.Parallel()
	a, b := secondApp(t)
	startAll(a, b)
	defer func() { a.stop(); a.clean(); b.clean() }()
	b.calls(bash(appendLine("ran")))
	id := b.sim.Say(b.chat, b.user, "跑一下")
	asked := b.approval(b.chat, id, 1)
	var value json.RawMessage
	for _, m := range regexp.MustCompile(`\{[^{}]*"do":"allow"[^{}]*\}`).FindAllString(string(asked.Last().Card), 1) {
		value = json.RawMessage(m)
	}
	here := a.answer(a.chat, a.sim.Say(a.chat, a.user, "你好"))
	press := func(change func(map[string]any)) string {
		t.Helper()
		var v map[string]any
		must(t, json.Unmarshal(value, &v))
		change(v)
		answer, err := a.sim.Act(t.Context(), here.ID, a.user, feishusim.Action{Value: v, Forged: true})
		must(t, err)
		return string(answer)
	}
	real := press(func(map[string]any) {})
	none := press(func(v map[string]any) { v["id"], v["turn"] = "00000000-0000-4000-8000-000000000000", 987654 })
	if real != none || b.project("ran") != "" {
		t.Errorf("an approval of the other app is answered %s, one that does not exist %s", real, none)
	}
	b.press(asked, doAllow)
	b.until("the command", func() bool { return b.project("ran") != "" })
}

// An app that has got another name is not served: its chats would not be found, or those of another app.
func TestAnAppKeepsItsName(t *testing.T) {
	t.Parallel()
	t.Run("found owners", func(t *testing.T) { keepsItsName(t, false) })
	t.Run("configured owners", func(t *testing.T) { keepsItsName(t, true) })
}

func keepsItsName(t *testing.T, configured bool) {
	t.Parallel()
	a, b := secondApp(t)
	if configured {
		a.cfg.Access.Owner, a.cfg.Apps[0].Access.Owner = a.user.OpenID, b.user.OpenID
	}
	startAll(a, b)
	a.stop()
	start := func(change func(c *config.Config)) error {
		c := a.cfg
		c.Apps = slices.Clone(c.Apps)
		change(&c)
		p, err := newProgram(t.Context(), c, newLog(a.logs, c.Log), nil)
		if err == nil {
			must(t, p.closeUnused())
		}
		return err
	}
	if err := start(func(*config.Config) {}); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(c *config.Config){
		`was named sales before`: func(c *config.Config) { c.Apps[0].Name = "shop" },
		`write name = "sales"`:   func(c *config.Config) { c.Feishu, c.Apps = c.Apps[0].Config, nil },
		"had no name before": func(c *config.Config) {
			c.Apps, c.Feishu = []config.App{{Name: "first", Config: c.Feishu}}, feishu.Config{}
		},
	} {
		if err := start(change); !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), want) {
			t.Errorf("told %v, want %s", err, want)
		}
	}
}

// Bridges find each other also if their files list the apps in different orders.
func TestTheRelaysSecretIsOfNoOrder(t *testing.T) {
	t.Parallel()
	app := func(name, id string) config.App {
		return config.App{Name: name, Config: feishu.Config{AppID: id, AppSecret: "of " + id}}
	}
	x, y := app("x", "cli_2"), app("y", "cli_1")
	for _, list := range [][]config.App{{x, y}, {y, x}} {
		c := config.Config{Apps: list}
		if got := relaySecret(c); got != "of cli_1" {
			t.Errorf("the secret is that %s", got)
		}
		c.Feishu = app("", "cli_3").Config
		if got := relaySecret(c); got != "of cli_3" {
			t.Errorf("beside an app without a name the secret is that %s", got)
		}
	}
	if got := relaySecret(config.Config{}); got != "" {
		t.Errorf("without an app there is the secret %q", got)
	}
}

// Each app is held by one program of a machine.
func TestEachAppIsHeld(t *testing.T) {
	t.Parallel()
	a, b := secondApp(t)
	startAll(a, b)
	defer a.stop()
	if !a.prog.cfg.DB.DSN().IsFile() {
		t.Skip("bridges of one database share their apps")
	}
	if h, err := holdApp(b.sim.AppID()); err == nil {
		_ = h.Close()
		t.Error("another program could serve the second app")
	}
}
