package main

import (
	"cmp"
	"strings"

	"magpie/feishu"
	"magpie/internal/i18n"
)

// Lines that say more if the log is for people: what to do next, and the bot's name.
const (
	lineStarted   = "magpie is running"
	lineConnected = "feishu: connected; write to the bot there"
)

// forMachines are the fields of [lineStarted] that say nothing to people. The doctor explains the limits.
var forMachines = []string{"cores", "free_mb", "keep_alive", "max_processes", "max_turns"}

// translateLog is a [zerolog.ConsoleWriter.FormatPrepare] for readers of a language. Lines about the platform begin
// with its name, which is that of our package in the log of a machine.
func translateLog(l i18n.Lang, platform error) func(line map[string]any) error {
	platform = cmp.Or(platform, feishu.Config{}.PlatformName())
	name := strings.TrimSpace(i18n.ErrorText(l, platform))
	return func(line map[string]any) error {
		text, _ := line["message"].(string)
		bot, _ := line["bot"].(string)
		switch chinese := i18n.LogLinesInChinese[text]; {
		case text == lineStarted: // and not connected yet
			text = i18n.CmdStarting.Sprintf(l, platform)
			for _, key := range forMachines {
				delete(line, key)
			}
			if version, ok := line["version"].(string); ok {
				line["version"], _, _ = strings.Cut(version, " ") // without the commit
			}
		case text == lineConnected && bot != "":
			text = i18n.CmdConnectedAs.Sprintf(l, platform, i18n.Visible(bot))
			delete(line, "bot")
		case l == i18n.Chinese && chinese != "":
			text = chinese
		}
		if rest, ok := strings.CutPrefix(text, "飞书："); ok {
			text = name + "：" + rest
		} else if rest, ok := strings.CutPrefix(text, "feishu: "); ok && l == i18n.English {
			text = name + ": " + rest
		} else if rest, ok := strings.CutPrefix(text, "magpie "); ok && l == i18n.English {
			text = "Magpie " + rest
		}
		line["message"] = text
		return nil
	}
}
