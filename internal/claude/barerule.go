package claude

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// withPath are the tools whose rules should say for what: without that, they allow all of the machine.
var withPath = []string{"Bash", "Edit", "Glob", "Grep", "Read", "Write"}

// BareRules are the rules that allow a tool whatever it is used for, of the configuration and of its settings.
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
