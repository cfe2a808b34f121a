package workspace

import (
	"regexp"
	"slices"
	"strings"

	"magpie/internal/i18n"
)

// safeCommands are the CLI's slash commands that only show something, or tidy up their own session. Others may change
// settings for everyone, or come from project files and grant themselves tools, so the operator must name the trusted
// ones.
var safeCommands = []string{"compact", "context", "cost", "usage"}

// SlashCommands are the CLI's slash commands that chats may use, without the slash.
type SlashCommands []string

// SlashCommands returns the safe commands and [Config.Commands].
func (c Config) SlashCommands() SlashCommands {
	return append(slices.Clone(safeCommands), c.Commands...)
}

var (
	slashName    = regexp.MustCompile(`^[a-zA-Z][\w:-]*$`)
	slashCommand = regexp.MustCompile(`^/([a-zA-Z][\w:-]*)(\s|$)`)
)

// Allow reports whether line begins with one of the commands, such as "/compact".
func (s SlashCommands) Allow(line string) bool {
	word := slashCommand.FindStringSubmatch(line)
	return word != nil && slices.Contains(s, word[1])
}

// validate rejects commands with which chats could change the settings of the CLI.
func (s SlashCommands) validate() (errs []error) {
	for _, name := range s {
		switch {
		case !slashName.MatchString(name):
			errs = append(errs, i18n.Mistakef("[claude] slash_commands：%q 不是命令名；不要写斜杠",
				"[claude] slash_commands: %q is not the name of a command; write it without the slash", name))
		case slices.Contains([]string{"config", "permissions", "login", "logout"}, strings.ToLower(name)):
			errs = append(errs, i18n.Mistakef("[claude] slash_commands：%q 会让聊天修改 CLI 的设置",
				"[claude] slash_commands: %q would let chats change the settings of the CLI", name))
		}
	}
	return errs
}
