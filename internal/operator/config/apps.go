package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/pelletier/go-toml/v2/unstable"

	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/feishu"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// App is a further app of Feishu: a [[feishu]] that has a name. Its people and chats are its own, and so are the rules
// about them. [access] and the other keys of [feishu] are those of the app that has no name.
type App struct {
	// Name tells what belongs to the app, for good: its chats are found by it.
	Name string `toml:"name"`
	feishu.Config
	// the names of the projects in which its agents work, the first one by default; empty = in all
	Projects []string `toml:"projects"`
	// who may talk to this bot; the IDs are those that this app sees
	Access access.Config `toml:"access"`
	// limits on what its agents cost; nil = those of [budget]
	Budget *budget.Limits `toml:"budget"`

	place int // among all [[feishu]] of the file, from 1
}

// Channel begins the IDs of what belongs to the app.
func (a App) Channel() string { return chat.AppChannel(a.Name) }

// OwnAccess are the rules about the app's people and chats, with the IDs that the app itself sees.
func (a App) OwnAccess() access.Config {
	return a.accessWith(func(id string) string { return id[strings.LastIndex(id, ":")+1:] })
}

// rules are those about the app's people and chats, with the IDs by which they are known beside those of other apps.
func (a App) rules() access.Config {
	return a.accessWith(func(id string) string { return chat.RuleID(a.Channel(), id) })
}

func (a App) accessWith(called func(id string) string) access.Config {
	r := a.Access
	all := func(list []string) (out []string) {
		for _, id := range list {
			out = append(out, called(id))
		}
		return out
	}
	r.Owner, r.Admins, r.Allow, r.Deny = called(r.Owner), all(r.Admins), all(r.Allow), all(r.Deny)
	return r
}

// appsFile is what the text of magpie.toml may hold where [[feishu]] stands in it.
type appsFile struct {
	Config
	Feishu []App `toml:"feishu"`
}

// listsApps reports whether [[feishu]] stands in a text.
func listsApps(data []byte) bool {
	var p unstable.Parser
	for p.Reset(data); p.NextExpression(); {
		if e := p.Expression(); e.Kind == unstable.ArrayTable && strings.EqualFold(strings.Join(keyOf(nil, e), "."), oldPlace) {
			return true
		}
	}
	return false
}

// decodeApps is [decode] for a text in which [[feishu]] stands.
func decodeApps(data []byte, c *Config) decoding {
	f := appsFile{Config: *c}
	found := decodeFile(data, &f)
	*c = f.Config
	unnamed := 0
	for i, a := range f.Feishu {
		a.place = i + 1
		if a.Name == "" {
			if unnamed++; unnamed == 1 && reflect.DeepEqual(a, App{Config: a.Config, place: a.place}) {
				c.Feishu, c.unnamed = a.Config, a.place
				continue
			}
		}
		c.Apps = append(c.Apps, a)
	}
	return found
}

// FeishuApps are all apps of Feishu, first the one without a name, as their clients need them.
func (c Config) FeishuApps() (list []App) {
	if c.Feishu.AppID != "" {
		list = append(list, App{Config: c.FeishuConfig()})
	}
	for _, a := range c.Apps {
		a.Topics, a.AnswerBots, a.Lang = c.Chat.Topics, c.Chat.AnswerBots, c.Chat.FixedLang()
		list = append(list, a)
	}
	return list
}

// firstApp is the connection of the app without a name, else of the first one; without any it is empty.
func (c Config) firstApp() feishu.Config {
	if c.Feishu.AppID == "" && len(c.Apps) > 0 {
		return c.Apps[0].Config
	}
	return c.Feishu
}

// AccessRules are the rules about people of all doors.
func (c Config) AccessRules() access.Config {
	r := c.Access
	for _, a := range c.Apps {
		if r.Apps == nil {
			r.Apps = map[string]access.Config{}
		}
		r.Apps[a.Channel()] = a.rules()
	}
	return r
}

// BudgetLimits are the limits on what agents cost for people of all doors.
func (c Config) BudgetLimits() budget.Limits {
	b := c.Budget
	for _, a := range c.Apps {
		if a.Budget != nil {
			if b.Apps == nil {
				b.Apps = map[string]budget.Limits{}
			}
			b.Apps[a.Channel()] = *a.Budget
		}
	}
	return b
}

// appProjects are the projects of apps that may not use all, by channel.
func (c Config) appProjects() map[string][]string {
	only := map[string][]string{}
	for _, a := range c.Apps {
		if len(a.Projects) > 0 {
			only[a.Channel()] = a.Projects
		}
	}
	return only
}

// appMistake is a mistake in one of several [[feishu]].
type appMistake struct {
	place int
	name  string
	error
}

// In is the error message in a language.
func (m *appMistake) In(l i18n.Lang) string {
	if m.name == "" {
		return i18n.ErrorText(l, m.error)
	}
	return m.name + ": " + i18n.ErrorText(l, m.error)
}

func (m *appMistake) Error() string { return m.In(i18n.English) }

// Unwrap implements the interface of [errors.Is] and [errors.As].
func (m *appMistake) Unwrap() error { return m.error }

// checkApps reports all mistakes of the apps that have names, or lack them.
func (c Config) checkApps() error {
	var errs []error
	names, ids := map[string]bool{}, map[string]bool{c.Feishu.AppID: true}
	for _, a := range c.Apps {
		add := func(list ...error) {
			for _, err := range list {
				errs = append(errs, &appMistake{a.place, a.Name, err})
			}
		}
		switch {
		case a.Name == "" && c.unnamed == 0:
			add(i18n.Mistakef("[feishu] name 是空的：没有 name 的应用用 [access]、[budget] 和所有项目，有 name 的才用 [feishu.access]、[feishu.budget] 和 projects",
				"[feishu] name is empty: the app without a name has [access], [budget] and all projects; those with names have [feishu.access], "+
					"[feishu.budget] and projects"))
		case a.Name == "":
			add(i18n.Mistakef("[feishu] name 是空的：只有一个应用可以没有 name",
				"[feishu] name is empty: only one app can be without a name"))
		case !chat.IsAppName(a.Name):
			add(i18n.Mistakef("[feishu] name %q：应为小写字母开头的小写字母和数字，最多 32 个",
				"[feishu] name %q: must be up to 32 lowercase letters and digits, a letter first", a.Name))
		case names[a.Name]:
			add(i18n.Mistakef("[feishu] name %q：另一个应用已经用了", "[feishu] name %q: another app has it", a.Name))
		}
		if a.AppID != "" && ids[a.AppID] {
			add(i18n.Mistakef("[feishu] app_id %q：另一个 [[feishu]] 已经用了", "[feishu] app_id %q: another [[feishu]] has it", a.AppID))
		}
		names[a.Name], ids[a.AppID] = true, true
		for i, name := range a.Projects {
			if p, ok := c.Projects[name]; !ok {
				add(i18n.Mistakef("[feishu] projects %q：[projects] 里没有", "[feishu] projects %q: [projects] has none of this name", name))
			} else if i == 0 && len(p.Nodes) > 0 {
				add(i18n.Mistakef("[feishu] projects %q：第一个是默认项目，要在每台机器上，不能有 nodes",
					"[feishu] projects %q: the first one is the default and must be on every machine, without nodes", name))
			}
		}
		add(leaves(a.Config.Validate())...)
		add(leaves(a.Access.Validate())...)
		for _, id := range slices.Concat([]string{a.Access.Owner}, a.Access.Admins, a.Access.Allow, a.Access.Deny) {
			if strings.Contains(id, ":") && chat.ChannelOf(id) != a.Channel() {
				add(i18n.Mistakef("[access] %q：这里只写这个应用里的 ID（ou_…、oc_…、od_…）",
					"[access] %q: only IDs that this app sees (ou_…, oc_…, od_…) can be here", id))
			}
		}
		if a.Budget != nil {
			add(leaves(a.Budget.Validate())...)
		}
	}
	return errors.Join(errs...)
}

// envPrefix is that of the variables that override the app's connection.
func (a App) envPrefix() string { return EnvPrefix + "FEISHU_" + strings.ToUpper(a.Name) + "_" }

// appVariables lists the variables of all further apps; the secrets may be in files.
func (c Config) appVariables() (names, secrets []string) {
	for _, a := range c.Apps {
		if !chat.IsAppName(a.Name) {
			continue
		}
		for i, t := 0, reflect.TypeFor[feishu.Config](); i < t.NumField(); i++ {
			if name := t.Field(i).Tag.Get("env"); name != "-" {
				names = append(names, a.envPrefix()+name)
			}
		}
		secrets = append(secrets, a.envPrefix()+"APP_SECRET")
		names = append(names, a.envPrefix()+"APP_SECRET_FILE")
	}
	return names, secrets
}

// applyAppVariables applies the variables of the further apps.
func (c *Config) applyAppVariables(vars map[string]string) error {
	var errs []error
	for i := range c.Apps {
		a := &c.Apps[i]
		err := env.ParseWithOptions(&a.Config, env.Options{Prefix: a.envPrefix(), Environment: vars})
		if err != nil { // only a switch can be wrong
			errs = append(errs, &VariableError{a.envPrefix() + "WHOLE_CARDS",
				i18n.Mistakef("应为%v", "must be %v", inWords["bool"])})
		}
	}
	return errors.Join(errs...)
}

// readSecretFiles sets the variables of secrets that are in files.
func readSecretFiles(vars map[string]string, secrets []string) (errs []error) {
	// As with Docker secrets and systemd credentials, MAGPIE_..._FILE names a file that contains the value.
	for _, secret := range secrets {
		if file := vars[secret+"_FILE"]; file != "" {
			data, err := os.ReadFile(ExpandHome(file))
			if err != nil {
				errs = append(errs, &VariableError{secret + "_FILE", err})
				continue
			}
			vars[secret] = strings.TrimSpace(string(data))
		}
	}
	return errs
}

// appSection is what the keys of one of several [[feishu]] are called in [keyLines].
func appSection(place int) string { return fmt.Sprintf("%s#%d", oldPlace, place) }

// reloadApps takes over what can change of the apps without a restart: their rules and limits.
func (c *Config) reloadApps(next Config) (applied, later []string) {
	connection := func(list []App) (out []App) {
		for _, a := range list {
			out = append(out, App{Name: a.Name, Config: a.Config, Projects: a.Projects})
		}
		return out
	}
	if !reflect.DeepEqual(connection(c.Apps), connection(next.Apps)) {
		later = append(later, "[[feishu]]")
	}
	c.Apps = slices.Clone(c.Apps)
	for i, a := range c.Apps {
		n := slices.IndexFunc(next.Apps, func(b App) bool { return b.Name == a.Name })
		if n < 0 {
			continue
		}
		b := next.Apps[n]
		if !reflect.DeepEqual(a.Access, b.Access) {
			applied = append(applied, "[feishu.access] ("+a.Name+")")
		}
		if !reflect.DeepEqual(a.Budget, b.Budget) {
			applied = append(applied, "[feishu.budget] ("+a.Name+")")
		}
		c.Apps[i].Access, c.Apps[i].Budget = b.Access, b.Budget
	}
	return applied, later
}
