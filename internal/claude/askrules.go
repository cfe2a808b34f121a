package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// The values of [Config.Ask].
const (
	askChanges    = "changes"
	askEverything = "everything"
)

// AsksEverything reports whether the agent asks before each use of a tool. By default the CLI runs commands that only
// read without asking.
func (c Config) AsksEverything() bool { return c.Ask == askEverything }

// checkAsk refuses a combination that would silently deny every tool: dontAsk never sends a permission
// request (CLI 2.1.197).
func (c Config) checkAsk() error {
	switch {
	case c.Ask != "" && c.Ask != askChanges && c.Ask != askEverything:
		return fmt.Errorf("[claude] ask %q: want %s or %s", c.Ask, askChanges, askEverything)
	case c.AsksEverything() && c.PermissionMode == "dontAsk":
		return errors.New(`[claude] ask = "everything" allows nothing with permission_mode = "dontAsk", which asks nobody: ` +
			`choose another mode`)
	}
	return nil
}

// withImposed adds to the operator's settings those that cannot be changed. An ask rule takes precedence over all allow
// rules, in each mode.
func (c Config) withImposed(settings map[string]json.RawMessage) map[string]json.RawMessage {
	all := maps.Clone(imposedSettings)
	for key, v := range settings {
		if _, ok := all[key]; !ok {
			all[key] = v
		}
	}
	all["env"] = c.withVariables(all["env"])
	if c.AsksEverything() {
		all["permissions"] = withRules(all["permissions"], "ask", "*")
	}
	return all
}

// withVariables is env, the variables that settings give the CLI, with those that keep it from reading on its own: the
// settings of a project count before the environment of the process, and could take them back.
func (c Config) withVariables(env json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if env != nil {
		if err := json.Unmarshal(env, &all); err != nil {
			panic(err) // checkSetting has read it
		}
	}
	if all == nil { // also when the settings say null
		all = map[string]json.RawMessage{}
	}
	mentions := noAttachments
	if knows, _ := knownPrograms.knows(c.Command, noMentions); knows {
		mentions = noMentions
	}
	for _, name := range []string{noMemory, mentions} {
		all[name] = json.RawMessage(`"1"`)
	}
	return encode(all)
}

// withRules adds rules of a kind (allow, ask or deny) to permissions.
func withRules(permissions json.RawMessage, kind string, rules ...string) json.RawMessage {
	all := map[string]json.RawMessage{}
	var list []string
	if permissions != nil {
		if err := json.Unmarshal(permissions, &all); err != nil {
			panic(err) // checkPermissions has read it
		}
	}
	if all[kind] != nil {
		if err := json.Unmarshal(all[kind], &list); err != nil {
			panic(err) // likewise
		}
	}
	data, err := json.Marshal(append(list, rules...))
	if err != nil {
		panic(err) // made of strings only
	}
	all[kind] = data
	return encode(all)
}
