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

// imposedSettings are those of every agent. Transcripts are kept: by default the CLI deletes those of chats that were
// silent for 30 days. And in plan mode people are asked, too: by default a model decides there about what the agent
// does, and the agent may go into that mode whenever it likes. What is remembered is the bridge's business: a memory
// that the CLI keeps by itself is in none of its commands. Messages of other sessions are refused: what one chat's
// agent would say to another's, the model takes for a colleague's request.
var imposedSettings = map[string]json.RawMessage{
	"cleanupPeriodDays": json.RawMessage("36500"), "useAutoModeDuringPlan": json.RawMessage("false"),
	"autoMemoryEnabled": json.RawMessage("false"), "crossSessionInbound": json.RawMessage(`"refuse"`),
}

// disallowedTools are those by which the agent would reach other sessions on this machine, of other chats or of the
// terminal of whoever runs the bridge: nobody is asked before it uses them. And those by which it would wake up between
// two turns to say something that nobody hears; no variable of the environment turns these off. Versions that lack one
// pass over it.
var disallowedTools = []string{"ListAgents", "SendMessage", "Monitor", "ScheduleWakeup", "Workflow"}

// loginSettings are what the agent needs to know of [Config.Settings] when it is asked apart from the chats.
var loginSettings = []string{"apiKeyHelper", "env", "awsAuthRefresh", "awsCredentialExport"}

// readSettings reads [Config.Settings], the JSON itself or the path of its file: nil when there are none. The CLI
// passes over a file with a mistake without a word, and with it over the rules of what is denied. So mistakes are found
// here.
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
		return nil, fmt.Errorf("%s: no JSON object: %s", where, whereBroken(err))
	}
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

// whereBroken says where a text is no JSON, without a word of it: it may be a secret.
func whereBroken(err error) string {
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

// checkSetting reports what is wrong with one setting, as far as its meaning matters to what agents may do. The CLI
// knows more of them, and newer ones know others.
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
		return fmt.Errorf("%s: this is set by magpie", key)
	case "disableAllHooks", "includeCoAuthoredBy", "enableAllProjectMcpServers":
		if !v.IsBool() {
			return fmt.Errorf("%s: want true or false", key)
		}
	}
	return nil
}

func isString(v gjson.Result) bool { return v.Type == gjson.String }

// each reports whether v is of a kind, and all that is in it of another.
func each(v gjson.Result, kind, inner func(gjson.Result) bool) bool {
	ok := kind(v)
	v.ForEach(func(_, e gjson.Result) bool {
		ok = ok && inner(e)
		return ok
	})
	return ok
}

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
			errs = append(errs, errors.New("permissions.defaultMode: this is [claude] permission_mode, or the mode of a project"))
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

// isRule reports whether v names a tool, or a tool with what it is used for in brackets.
func isRule(v gjson.Result) bool {
	tool, rest, bracket := strings.Cut(v.String(), "(")
	return isString(v) && tool != "" && !strings.ContainsAny(tool, " )") && (!bracket || len(rest) > 1 && strings.HasSuffix(rest, ")"))
}

// texts are those in a list.
func texts(v gjson.Result) (list []string) {
	for _, e := range v.Array() {
		list = append(list, e.String())
	}
	return list
}

func checkHooks(v gjson.Result) error {
	matchers := func(v gjson.Result) bool {
		return v.IsObject() && each(v.Get("hooks"), gjson.Result.IsArray, func(h gjson.Result) bool { return isString(h.Get("type")) })
	}
	if !each(v, gjson.Result.IsObject, func(event gjson.Result) bool { return each(event, gjson.Result.IsArray, matchers) }) {
		return errors.New(`hooks: want an object of lists as in {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}`)
	}
	return nil
}

// settingsArgument gives the CLI its settings. The operator's may hold secrets, and everybody on the machine may read
// arguments: they are handed over in a file, see [Config.Prepare].
func (c Config) settingsArgument() string {
	switch {
	case c.folder.path != "":
		return "--settings=" + c.ownSettings()
	case strings.TrimSpace(c.Settings) == "":
		return "--settings=" + string(encode(c.imposed(nil)))
	}
	return "--settings=" + c.settingsFile("settings")
}

// ownSettings is the file with the settings of the chat's agents.
func (c Config) ownSettings() string {
	return filepath.Join(c.StateDir(), "settings", filepath.Base(c.folder.path)+".json")
}

// writeOwnSettings writes the settings of the chat's agents, which may read the folder files: those of all agents, and
// what is off limits.
func (c Config) writeOwnSettings(files string) error {
	s := c.imposed(nil)
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
	if !slices.Contains(c.AllowedTools, "Bash") { // else nothing is asked for that Bash does
		s["permissions"] = withRules(s["permissions"], "ask", c.asksForCommands()...)
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

// writeSettings writes the files that the CLI reads.
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
	for _, key := range loginSettings {
		if v, ok := s[key]; ok {
			login[key] = v
		}
	}
	for name, content := range map[string]map[string]json.RawMessage{"settings": c.imposed(s), "login": login} {
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
