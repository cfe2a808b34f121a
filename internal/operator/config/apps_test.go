package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"magpie/bridge/budget"
	"magpie/internal/chat"
	"magpie/internal/claude/claudetest"
)

// severalApps is a configuration with three apps.
func severalApps(t *testing.T) string {
	return `
[access]
owner = "ou_a"
[[feishu]]
name = "sales"
app_id = "cli_b"
app_secret = "secret b"
projects = ["shop", "web"]
[feishu.access]
owner = "ou_b"
admins = ["ou_c"]
allow = ["oc_b", "od_b"]
deny = ["feishu-sales:ou_d"]
approval_timeout = "5m"
[feishu.budget]
user_day_usd = 2
[[feishu]]
app_id = "cli_a"
app_secret = "secret a"
[budget]
user_day_usd = 1
[[feishu]]
name = "support"
base_url = "lark"
[feishu.access]
allow = ["*"]
[projects]
shop = "` + t.TempDir() + `"
web = "` + t.TempDir() + `"
[claude]
command = "` + claudetest.Command(t) + `"
project = "` + t.TempDir() + `"
`
}

func TestSeveralApps(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(writeConfig(t, severalApps(t)), []string{
		"MAGPIE_FEISHU_SUPPORT_APP_ID=cli_c", "MAGPIE_FEISHU_SUPPORT_APP_SECRET_FILE=" + secret,
		"MAGPIE_FEISHU_APP_SECRET=other a", "MAGPIE_FEISHU_SALES_WHOLE_CARDS=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.FeishuApps() {
		got = append(got, strings.Join([]string{a.Channel(), a.AppID, a.AppSecret, a.BaseURL}, " "))
		if !slices.Contains(c.Secrets(), a.AppSecret) {
			t.Errorf("the secret of %s may be shown", a.AppID)
		}
	}
	want := []string{"feishu cli_a other a ", "feishu-sales cli_b secret b ", "feishu-support cli_c secret c lark"}
	if !slices.Equal(got, want) || !c.Apps[0].WholeCards || !slices.Contains(c.PrivateFiles(), secret) {
		t.Errorf("the apps are %q", got)
	}
	if only := c.BridgeConfig().Projects.Only; !reflect.DeepEqual(only, map[string][]string{"feishu-sales": {"shop", "web"}}) {
		t.Errorf("the projects are %v", only)
	}
	r := c.AccessRules()
	sales := r.Apps["feishu-sales"]
	if r.Owner != "ou_a" || sales.Owner != "feishu-sales:ou_b" || sales.Admins[0] != "feishu-sales:ou_c" ||
		!slices.Equal(sales.Allow, []string{"feishu-sales:chat:oc_b", "feishu-sales:od_b"}) ||
		sales.Deny[0] != "feishu-sales:ou_d" || sales.EffectiveApprovalTimeout().Minutes() != 5 ||
		!slices.Equal(r.Apps["feishu-support"].Allow, []string{"*"}) {
		t.Errorf("the rules are %+v", r)
	}
	for _, id := range slices.Concat(sales.Admins, sales.Allow, sales.Deny) {
		if chat.KindOf(id) == "" {
			t.Errorf("%q names nothing", id)
		}
	}
	if b := c.BudgetLimits(); b.UserDayUSD != 1 || !reflect.DeepEqual(b.Apps, map[string]budget.Limits{"feishu-sales": {UserDayUSD: 2}}) {
		t.Errorf("the limits are %+v", b)
	}
}

// Where all apps have names, the first one says of which platform they are.
func TestTheFirstAppSaysThePlatform(t *testing.T) {
	app := func(keys string) string { return "[[feishu]]\napp_secret = \"s\"\n" + keys + "\n" }
	rest := "[claude]\ncommand = \"" + claudetest.Command(t) + "\"\nproject = \"" + t.TempDir() + "\"\n"
	lark := app("app_id = \"cli_l\"\nname = \"l\"\nbase_url = \"lark\"")
	for text, want := range map[string]string{
		lark: "en Lark", lark + app("app_id = \"cli_b\"\nname = \"b\""): "en Lark",
		lark + app("app_id = \"cli_a\""): "zh Feishu", app("app_id = \"cli_b\"\nname = \"b\"") + lark: "zh Feishu",
	} {
		c, err := Load(writeConfig(t, text+rest), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.BridgeConfig().NewLang + " " + c.Log.Platform.Error(); got != want {
			t.Errorf("it is %s, want %s, with\n%s", got, want, text)
		}
	}
}

// A single app is one of today, however it is written.
func TestOneAppInAList(t *testing.T) {
	rest := "[claude]\ncommand = \"" + claudetest.Command(t) + "\"\nproject = \"" + t.TempDir() + "\"\n"
	app := "app_id = \"cli_a\"\napp_secret = \"s\"\n"
	table, err := Load(writeConfig(t, "[feishu]\n"+app+rest), nil)
	list, listErr := Load(writeConfig(t, "[[feishu]]\n"+app+rest), nil)
	if err != nil || listErr != nil || table.Feishu != list.Feishu || len(list.Apps) > 0 ||
		!reflect.DeepEqual(table.AccessRules(), list.AccessRules()) {
		t.Errorf("%+v, %v; in a list %+v, %v", table.Feishu, err, list.Feishu, listErr)
	}
}

func TestMistakesInSeveralApps(t *testing.T) {
	rest := "\n[claude]\ncommand = \"" + claudetest.Command(t) + "\"\nproject = \"" + t.TempDir() + "\"\n"
	first := "[[feishu]]\napp_id = \"cli_a\"\napp_secret = \"s\"\n[[feishu]]\n"
	for text, want := range map[string]string{
		first + "app_id = \"cli_b\"\napp_secret = \"s\"":                                                        "name is empty: only one",
		first + "name = \"Sales-1\"\napp_id = \"cli_b\"\napp_secret = \"s\"":                                    "line 5: Sales-1: [feishu] name \"Sales-1\": must be",
		first + "name = \"b\"\napp_id = \"cli_a\"\napp_secret = \"s\"":                                          "line 6: b: [feishu] app_id \"cli_a\": another",
		first + "name = \"b\"\napp_id = \"b\"\napp_secret = \"s\"":                                              "line 6: b: [feishu] app_id \"b\" is not an App ID",
		first + "name = \"b\"\napp_id = \"cli_b\"":                                                              "b: [feishu] app_secret is empty",
		first + "name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\"\n[feishu.access]\nallow=[\"x\"]":          "line 9: b: [access] allow \"x\"",
		first + "name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\"\n[feishu.access]\nallow=[\"cli:1\"]":      "only IDs that this app sees",
		first + "name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\"\n[feishu.budget]\nturn_usd=-1.0":          "line 9: b: [budget] turn_usd",
		first + "name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\"\n[feishu.access]\nalow=[\"x\"]":           "unknown key feishu.access.alow; did you mean feishu.access.allow?",
		first + "name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\"\nlang=\"zh\"":                             "unknown key feishu.lang; did you mean chat.lang?",
		first + "name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\"\n[feishu.access]\napproval_timeout=\"x\"": "[feishu.access] approval_timeout",
		"[[feishu]]\napp_id = \"cli_a\"\napp_secret = \"s\"\n[feishu.access]\nowner=\"ou_1\"":                   "the app without a name has [access]",
		first + "name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\"\nprojects=[\"none\"]":                     "line 8: b: [feishu] projects \"none\"",
		"[feishu]\napp_id = \"cli_a\"\napp_secret = \"s\"\nname=\"b\"\n":                                        "unknown key feishu.name; for several apps write [[feishu]]",
		"[feishu]\napp_id = \"cli_a\"\napp_secret = \"s\"\n[feishu.access]\nowner=\"ou_1\"\n":                   "unknown key feishu.access; for several apps write [[feishu]]",
		"[[feishu]]\napp_id = \"cli_a\"\n":                                                                      "app_secret is empty",
	} {
		_, err := Load(writeConfig(t, text+rest), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis told %v, want %s", text, err, want)
		}
		if bad := (*Error)(nil); errors.As(err, &bad) && !strings.ContainsFunc(bad.In("zh"), isHan) {
			t.Errorf("not in Chinese: %s", bad.In("zh"))
		}
	}
	_, err := Load(writeConfig(t, first+"name = \"b\"\napp_id = \"cli_b\"\napp_secret = \"s\""+rest),
		[]string{"MAGPIE_FEISHU_B_APP_ID=b", "MAGPIE_FEISHU_C_APP_ID=cli_c", "MAGPIE_FEISHU_B_WHOLE_CARDS=perhaps"})
	for _, want := range []string{"MAGPIE_FEISHU_B_APP_ID: b: [feishu] app_id \"b\"", "MAGPIE_FEISHU_C_APP_ID: there is no such key",
		"MAGPIE_FEISHU_B_WHOLE_CARDS: must be true or false"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("told %v, want %s", err, want)
		}
	}
}

// What concerns people is taken over at once; a connection is not.
func TestReloadOfSeveralApps(t *testing.T) {
	old, err := Read(writeConfig(t, severalApps(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`owner = "ou_b"`, `owner = "ou_e"`, "user_day_usd = 2", "user_day_usd = 3").Replace(severalApps(t))
	next, err := Read(writeConfig(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	next.Claude, next.File, next.Projects = old.Claude, old.File, old.Projects
	got, applied, later := old.Reload(next)
	if want := []string{"[feishu.access] (sales)", "[feishu.budget] (sales)"}; !slices.Equal(applied, want) || len(later) > 0 {
		t.Errorf("applied %q, for a restart %q", applied, later)
	}
	if r := got.AccessRules().Apps["feishu-sales"]; r.Owner != "feishu-sales:ou_e" || got.BudgetLimits().Apps["feishu-sales"].UserDayUSD != 3 {
		t.Errorf("now %+v", r)
	}
	next.Apps = slices.Clone(next.Apps)
	next.Apps[0].AppSecret = "new"
	if got, _, later = old.Reload(next); !slices.Equal(later, []string{"[[feishu]]"}) || got.Apps[0].AppSecret != "secret b" {
		t.Errorf("for a restart %q, the secret is %q", later, got.Apps[0].AppSecret)
	}
	next.Apps = next.Apps[1:]
	if got, _, later = old.Reload(next); len(got.Apps) != 2 || len(later) != 1 {
		t.Errorf("an app that is gone from the file is served until a restart, but not: %+v, %q", got.Apps, later)
	}
}
