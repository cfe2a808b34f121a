package workspace

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/i18n"
)

// settings are settings of the CLI, by their keys.
type settings map[string]json.RawMessage

// imposedSettings apply to every agent. Transcripts are kept: by default the CLI deletes those of chats that were
// silent for 30 days. People are asked in plan mode, too: by default a model decides there what the agent may do, and
// the agent may enter that mode at any time. The CLI's own memory is off, since the bridge's commands do not cover it.
// Messages of other sessions are refused: the model would take a message of another chat's agent for a colleague's
// request.
var imposedSettings = settings{
	"cleanupPeriodDays": json.RawMessage("36500"), "useAutoModeDuringPlan": json.RawMessage("false"),
	"autoMemoryEnabled": json.RawMessage("false"), "crossSessionInbound": json.RawMessage(`"refuse"`),
}

// disallowedTools are those that do harm unasked. Some let the agent reach other sessions on this machine, of other chats or of the
// operator's terminal, and the CLI uses them without asking. Others let it wake up between turns, when nobody reads
// its output; no variable disables these. EnterWorktree makes a folder and a branch unasked, and leaves the folder that
// people have chosen. A CLI that does not know a tool ignores its name.
var disallowedTools = []string{
	"ListAgents", "SendMessage", "Monitor", "ScheduleWakeup", "Workflow", "EnterWorktree", "ExitWorktree",
}

// loginSettings are the keys of [Config.Settings] that background tasks need.
var loginSettings = []string{"apiKeyHelper", "env", "awsAuthRefresh", "awsCredentialExport"}

// readSettings reads [Config.Settings], the JSON itself or the path of its file; nil if empty. The CLI silently ignores
// a file with a mistake, including its deny rules. So mistakes are detected here.
func readSettings(text string) (settings, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	where := "[claude] settings"
	if !strings.HasPrefix(text, "{") {
		data, err := os.ReadFile(text)
		if err != nil {
			return nil, i18n.Mistakef("%s：%v", "%s: %v", where, err)
		}
		where, text = where+": "+text, string(data)
	}
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, i18n.Mistakef("%s：不是 JSON 对象：%v", "%s: not a JSON object: %v", where, jsonMistake(err))
	}
	// "null" is valid JSON and leaves a nil map.
	if s == nil {
		return nil, i18n.Mistakef("%s：不是 JSON 对象：null", "%s: not a JSON object: null", where)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if err := checkSetting(key, gjson.ParseBytes(s[key])); err != nil {
			errs = append(errs, i18n.Mistakef("%s：%v", "%s: %v", where, err))
		}
	}
	return s, errors.Join(errs...)
}

// jsonMistake says where a text is invalid JSON, without quoting it: it may be a secret.
func jsonMistake(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return i18n.Mistakef("第 %d 个字节处有误", "mistake at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return i18n.Mistakef("它的类型是 %s", "it is of the type %s", kind.Value)
	}
	return i18n.Mistakef("读不出来", "it cannot be read")
}

// checkSetting reports problems with one setting that affect what agents may do. The CLI has more keys, and other
// versions have others.
func checkSetting(key string, v gjson.Result) error {
	switch key {
	case "permissions":
		return checkPermissions(v)
	case "hooks":
		return checkHooks(v)
	case "env":
		if !allMatch(v, gjson.Result.IsObject, isString) {
			return i18n.Mistakef("env：应为对象，值都是字符串", "env: must be an object whose values are strings")
		}
	case "model", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "outputStyle":
		if !isString(v) {
			return i18n.Mistakef("%s：应为字符串", "%s: must be a string", key)
		}
	case "cleanupPeriodDays", "crossSessionInbound", "useAutoModeDuringPlan", "autoMemoryEnabled":
		// Two sources for one setting would hide which one applies.
		return i18n.Mistakef("%s：由鹊桥设置", "%s: this is set by Magpie", key)
	case "disableAllHooks", "includeCoAuthoredBy", "enableAllProjectMcpServers":
		if !v.IsBool() {
			return i18n.Mistakef("%s：应为 true 或 false", "%s: must be true or false", key)
		}
	}
	return nil
}

func isString(v gjson.Result) bool { return v.Type == gjson.String }

// allMatch reports whether v is of one kind and all its elements are of another.
func allMatch(v gjson.Result, kind, inner func(gjson.Result) bool) bool {
	ok := kind(v)
	v.ForEach(func(_, e gjson.Result) bool {
		ok = ok && inner(e)
		return ok
	})
	return ok
}

// checkPermissions rejects keys that the CLI would ignore or that would bypass the bridge's own rules: a setting
// without effect gives a false sense of protection.
func checkPermissions(v gjson.Result) error {
	if !v.IsObject() {
		return i18n.Mistakef("permissions：应为对象", "permissions: must be an object")
	}
	var errs []error
	v.ForEach(func(key, v gjson.Result) bool {
		switch name := key.String(); name {
		case "allow", "deny", "ask":
			if !allMatch(v, gjson.Result.IsArray, isRule) {
				errs = append(errs, i18n.Mistakef(`permissions.%s：应为规则的列表，例如 "Read"、"Bash(go vet ./...)"`,
					`permissions.%s: must be a list of rules such as "Read" or "Bash(go vet ./...)"`, name))
			} else if name == "allow" {
				errs = append(errs, checkAllowed("permissions.allow", stringList(v)))
			}
		case "additionalDirectories":
			if !allMatch(v, gjson.Result.IsArray, isString) {
				errs = append(errs, i18n.Mistakef("permissions.additionalDirectories：应为文件夹的列表",
					"permissions.additionalDirectories: must be a list of folders"))
			}
		case "defaultMode":
			errs = append(errs, i18n.Mistakef("permissions.defaultMode：请用 [claude] permission_mode，或项目的 mode",
				"permissions.defaultMode: this is [claude] permission_mode, or the mode of a project"))
		case "disableBypassPermissionsMode":
			if v.String() != "disable" {
				errs = append(errs, i18n.Mistakef(`permissions.disableBypassPermissionsMode：应为 "disable"`,
					`permissions.disableBypassPermissionsMode: must be "disable"`))
			}
		default:
			errs = append(errs, i18n.Mistakef("permissions.%s：没有这个键", "permissions.%s: no such key", name))
		}
		return true
	})
	return errors.Join(errs...)
}

// isRule reports whether v names a tool, or a tool with a condition in parentheses.
func isRule(v gjson.Result) bool {
	tool, rest, bracket := strings.Cut(v.String(), "(")
	return isString(v) && tool != "" && !strings.ContainsAny(tool, " )") &&
		(!bracket || len(rest) > 1 && strings.HasSuffix(rest, ")"))
}

// stringList are the strings of a list.
func stringList(v gjson.Result) (list []string) {
	for _, e := range v.Array() {
		list = append(list, e.String())
	}
	return list
}

// checkHooks only checks the outer form; the effect of a hook is up to its author.
func checkHooks(v gjson.Result) error {
	matchers := func(v gjson.Result) bool {
		return v.IsObject() && allMatch(v.Get("hooks"), gjson.Result.IsArray, func(h gjson.Result) bool {
			return isString(h.Get("type"))
		})
	}
	if !allMatch(v, gjson.Result.IsObject, func(event gjson.Result) bool {
		return allMatch(event, gjson.Result.IsArray, matchers)
	}) {
		return i18n.Mistakef(`hooks：应为对象，值都是列表，例如 {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}`,
			`hooks: must be an object whose values are lists, as in {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}`)
	}
	return nil
}

// withImposed returns s, the operator's settings, with those that cannot be changed, for the CLI command. With askAll
// the agent asks before each use of a tool: an ask rule takes precedence over all allow rules, in each mode.
func (s settings) withImposed(command string, askAll bool) settings {
	all := maps.Clone(imposedSettings)
	for key, v := range s {
		if _, ok := all[key]; !ok {
			all[key] = v
		}
	}
	mentions := noAttachments
	if knows, _ := knownPrograms.knows(command, noMentions); knows {
		mentions = noMentions
	}
	all.setVariables(noMemory, mentions)
	if askAll {
		all.addRules("ask", "*")
	}
	return all
}

// withKeys returns the settings with these keys.
func (s settings) withKeys(keys []string) settings {
	some := settings{}
	for _, key := range keys {
		if v, ok := s[key]; ok {
			some[key] = v
		}
	}
	return some
}

// setVariables sets variables to 1 in the environment that settings give the CLI: the settings of a project take
// precedence over the environment of the process, and could reset them.
func (s settings) setVariables(names ...string) {
	var all map[string]json.RawMessage
	if env := s["env"]; env != nil {
		if err := json.Unmarshal(env, &all); err != nil {
			panic(err) // checkSetting has parsed it
		}
	}
	if all == nil { // also if the settings are null
		all = map[string]json.RawMessage{}
	}
	for _, name := range names {
		all[name] = json.RawMessage(`"1"`)
	}
	s["env"] = encode(all)
}

// addRules adds permission rules of a kind (allow, ask or deny).
func (s settings) addRules(kind string, rules ...string) {
	all := map[string]json.RawMessage{}
	var list []string
	if permissions := s["permissions"]; permissions != nil {
		if err := json.Unmarshal(permissions, &all); err != nil {
			panic(err) // checkPermissions has parsed it
		}
	}
	if all[kind] != nil {
		if err := json.Unmarshal(all[kind], &list); err != nil {
			panic(err) // likewise
		}
	}
	data, err := json.Marshal(append(list, rules...))
	if err != nil {
		panic(err) // it has only strings
	}
	all[kind] = data
	s["permissions"] = encode(all)
}

// encode returns the JSON object.
func (s settings) encode() []byte { return encode(s) }

func encode(s map[string]json.RawMessage) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // each value was already JSON
	}
	return data
}

// withPath are tools whose rules should be limited to a path or command: otherwise a rule applies to the whole machine.
var withPath = []string{"Bash", "Edit", "Glob", "Grep", "Read", "Write"}

// BareRules lists the allow rules, of the configuration and its settings, that allow any use of such a tool.
func (c Config) BareRules() (bare []string) {
	rules := slices.Clone(c.AllowedTools)
	if s, err := readSettings(c.Settings); err == nil {
		for _, r := range gjson.GetBytes(s["permissions"], "allow").Array() {
			rules = append(rules, r.String())
		}
	}
	for _, rule := range rules {
		tool, rest, _ := strings.Cut(strings.TrimSpace(rule), "(")
		if slices.Contains(withPath, tool) && strings.Trim(rest, "/*):") == "" {
			bare = append(bare, rule)
		}
	}
	return bare
}
