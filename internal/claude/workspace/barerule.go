package workspace

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

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
