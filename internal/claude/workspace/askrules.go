package workspace

import "magpie/internal/i18n"

// The values of [Config.Ask].
const (
	askChanges    = "changes"
	askEverything = "everything"
)

// AsksEverything reports whether the agent asks before each use of a tool. By default the CLI runs read-only commands
// without asking.
func (c Config) AsksEverything() bool { return c.Ask == askEverything }

// checkAsk rejects a combination that would silently deny every tool: dontAsk never sends a permission request (CLI
// 2.1.197).
func checkAsk(c Config) error {
	switch {
	case c.Ask != "" && c.Ask != askChanges && c.Ask != askEverything:
		return i18n.Mistakef("[claude] ask %q：应为 %s 或 %s",
			"[claude] ask %q: must be %s or %s", c.Ask, askChanges, askEverything)
	case c.AsksEverything() && c.PermissionMode == "dontAsk":
		return i18n.Mistakef(
			`[claude] ask = "everything" 和不询问任何人的 permission_mode = "dontAsk" 一起用，就什么都做不了：换一个模式`,
			`[claude] ask = "everything" allows nothing with permission_mode = "dontAsk", which asks nobody: choose another mode`)
	}
	return nil
}
