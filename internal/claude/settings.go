package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// imposedSettings apply to every agent. Transcripts are kept: by default the CLI deletes those of chats that were
// silent for 30 days. People are asked in plan mode, too: by default a model decides there what the agent may do, and
// the agent may enter that mode at any time. The CLI's own memory is off, since the bridge's commands do not cover it.
// Messages of other sessions are refused: the model would take a message of another chat's agent for a colleague's
// request.
var imposedSettings = map[string]json.RawMessage{
	"cleanupPeriodDays": json.RawMessage("36500"), "useAutoModeDuringPlan": json.RawMessage("false"),
	"autoMemoryEnabled": json.RawMessage("false"), "crossSessionInbound": json.RawMessage(`"refuse"`),
}

// disallowedTools are, first, those by which the agent would reach other sessions on this machine, of other chats or of
// the operator's terminal: the CLI does not ask before it uses them. And second those by which it would wake up between
// turns, when nobody reads its output; no variable disables these. A CLI that does not know a tool ignores its name.
var disallowedTools = []string{"ListAgents", "SendMessage", "Monitor", "ScheduleWakeup", "Workflow"}

// loginSettings are the keys of [Config.Settings] that background tasks need.
var loginSettings = []string{"apiKeyHelper", "env", "awsAuthRefresh", "awsCredentialExport"}

// readSettings reads [Config.Settings], the JSON itself or the path of its file: nil if there are none. The CLI
// silently ignores a file with a mistake, including its deny rules. So mistakes are found here.
func readSettings(text string) (map[string]json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	where := "[claude] settings"
	if !strings.HasPrefix(text, "{") {
		data, err := os.ReadFile(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		where, text = where+": "+text, string(data)
	}
	var s map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("%s: no JSON object: %s", where, jsonMistake(err))
	}
	// "null" is valid JSON and leaves a nil map.
	if s == nil {
		return nil, fmt.Errorf("%s: no JSON object: null", where)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if err := checkSetting(key, gjson.ParseBytes(s[key])); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
	}
	return s, errors.Join(errs...)
}

// jsonMistake says where a text is invalid JSON, without quoting it: it may be a secret.
func jsonMistake(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("mistake at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return "it is a JSON " + kind.Value
	}
	return "it cannot be read"
}

// checkSetting reports what is wrong with one setting, as far as it matters for what agents may do. The CLI knows more
// keys, and other versions know others.
func checkSetting(key string, v gjson.Result) error {
	switch key {
	case "permissions":
		return checkPermissions(v)
	case "hooks":
		return checkHooks(v)
	case "env":
		if !each(v, gjson.Result.IsObject, isString) {
			return errors.New("env: want an object of texts")
		}
	case "model", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "outputStyle":
		if !isString(v) {
			return fmt.Errorf("%s: want a text", key)
		}
	case "cleanupPeriodDays", "crossSessionInbound", "useAutoModeDuringPlan", "autoMemoryEnabled":
		// Two sources for one setting would hide which one counts.
		return fmt.Errorf("%s: this is set by magpie", key)
	case "disableAllHooks", "includeCoAuthoredBy", "enableAllProjectMcpServers":
		if !v.IsBool() {
			return fmt.Errorf("%s: want true or false", key)
		}
	}
	return nil
}

func isString(v gjson.Result) bool { return v.Type == gjson.String }

// each reports whether v is of one kind and all its elements are of another.
func each(v gjson.Result, kind, inner func(gjson.Result) bool) bool {
	ok := kind(v)
	v.ForEach(func(_, e gjson.Result) bool {
		ok = ok && inner(e)
		return ok
	})
	return ok
}

// checkPermissions refuses keys that the CLI would ignore or that would bypass the bridge's own rules:
// a setting without effect looks like protection and is none.
func checkPermissions(v gjson.Result) error {
	if !v.IsObject() {
		return errors.New("permissions: want an object")
	}
	var errs []error
	v.ForEach(func(key, v gjson.Result) bool {
		switch name := key.String(); name {
		case "allow", "deny", "ask":
			if !each(v, gjson.Result.IsArray, isRule) {
				errs = append(errs, fmt.Errorf(`permissions.%s: want a list of rules such as "Read" or "Bash(go vet ./...)"`, name))
			} else if name == "allow" {
				errs = append(errs, checkAllowed("permissions.allow", texts(v)))
			}
		case "additionalDirectories":
			if !each(v, gjson.Result.IsArray, isString) {
				errs = append(errs, errors.New("permissions.additionalDirectories: want a list of folders"))
			}
		case "defaultMode":
			errs = append(errs, errors.New("permissions.defaultMode: this is [claude] permission_mode, or the mode "+
				"of a project"))
		case "disableBypassPermissionsMode":
			if v.String() != "disable" {
				errs = append(errs, errors.New(`permissions.disableBypassPermissionsMode: want "disable"`))
			}
		default:
			errs = append(errs, fmt.Errorf("permissions.%s: no such key", name))
		}
		return true
	})
	return errors.Join(errs...)
}

// isRule reports whether v names a tool, or a tool with a condition in brackets.
func isRule(v gjson.Result) bool {
	tool, rest, bracket := strings.Cut(v.String(), "(")
	return isString(v) && tool != "" && !strings.ContainsAny(tool, " )") &&
		(!bracket || len(rest) > 1 && strings.HasSuffix(rest, ")"))
}

// texts are the strings of a list.
func texts(v gjson.Result) (list []string) {
	for _, e := range v.Array() {
		list = append(list, e.String())
	}
	return list
}

// checkHooks checks the outer form only; what a hook does is its author's affair.
func checkHooks(v gjson.Result) error {
	matchers := func(v gjson.Result) bool {
		return v.IsObject() && each(v.Get("hooks"), gjson.Result.IsArray, func(h gjson.Result) bool {
			return isString(h.Get("type"))
		})
	}
	if !each(v, gjson.Result.IsObject, func(event gjson.Result) bool {
		return each(event, gjson.Result.IsArray, matchers)
	}) {
		return errors.New(`hooks: want an object of lists as in {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}`)
	}
	return nil
}

// settingsArgument passes the settings to the CLI. The operator's settings may contain secrets, and everybody on the
// machine may read arguments, so they are passed in a file; see [Config.Prepare].
func (c Config) settingsArgument() string {
	switch {
	case c.folder.path != "":
		return "--settings=" + c.ownSettings()
	case strings.TrimSpace(c.Settings) == "":
		return "--settings=" + string(encode(c.withImposed(nil)))
	}
	return "--settings=" + c.settingsFile("settings")
}

// ownSettings is the settings file of a chat's agents.
func (c Config) ownSettings() string {
	return filepath.Join(c.StateDir(), "settings", filepath.Base(c.folder.path)+".json")
}

// writeOwnSettings writes the settings of a chat's agents, which may read the folder files: those of all agents, and
// the deny rules.
func (c Config) writeOwnSettings(files string) error {
	s := c.withImposed(nil)
	if strings.TrimSpace(c.Settings) != "" {
		data, err := os.ReadFile(c.settingsFile("settings"))
		if err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		if err := json.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		if v := gjson.ParseBytes(s["permissions"]); v.Exists() && checkPermissions(v) != nil {
			return fmt.Errorf("settings of the agents: %w", checkPermissions(v))
		}
	}
	s["permissions"] = withRules(s["permissions"], "deny", c.offLimits(files)...)
	if !slices.Contains(c.AllowedTools, "Bash") { // else the operator has allowed all of Bash
		s["permissions"] = withRules(s["permissions"], "ask", c.bashAskRules()...)
	}
	path := c.ownSettings()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("settings of the agents: %w", err)
	}
	if err := replaceFile(path, encode(s)); err != nil {
		return fmt.Errorf("settings of the agents: %w", err)
	}
	return nil
}

func (c Config) settingsFile(name string) string { return filepath.Join(c.StateDir(), name+".json") }

// writeSettings writes the settings files that the CLI reads.
func (c Config) writeSettings() error {
	s, err := readSettings(c.Settings)
	if err != nil || s == nil {
		return err
	}
	as, err := c.account()
	if err != nil {
		return err
	}
	login := map[string]json.RawMessage{}
	// Background tasks use no tools, so hooks and permissions would be of no use to them.
	for _, key := range loginSettings {
		if v, ok := s[key]; ok {
			login[key] = v
		}
	}
	for name, content := range map[string]map[string]json.RawMessage{"settings": c.withImposed(s), "login": login} {
		if err := as.writePrivate(c.settingsFile(name), encode(content)); err != nil {
			return err
		}
	}
	return nil
}

func encode(s map[string]json.RawMessage) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // each value was JSON already
	}
	return data
}
