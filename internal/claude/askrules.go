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

// AsksEverything reports whether the agent asks for each use of a tool. By default the CLI runs commands that only
// read without asking anybody.
func (c Config) AsksEverything() bool { return c.Ask == askEverything }

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

// imposed are the settings of an agent: those that the operator has made, and those that nothing can change. A
// rule of what is asked for counts before all that is allowed, in each mode.
func (c Config) imposed(settings map[string]json.RawMessage) map[string]json.RawMessage {
	all := maps.Clone(imposedSettings)
	for key, v := range settings {
		if _, ok := all[key]; !ok {
			all[key] = v
		}
	}
	if c.AsksEverything() {
		all["permissions"] = withRules(all["permissions"], "ask", "*")
	}
	return all
}

// withRules are permissions with more rules of a kind: allow, ask or deny.
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
