package claude

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// harmless are those of the CLI's own commands that only look, or tidy up the session in which they are given. Others
// may change settings for everybody, or be files of a project that allow themselves tools: the operator names those he
// trusts.
var harmless = []string{"compact", "context", "cost", "usage"}

// SlashCommands names the CLI's own commands that chats may give, without the slash.
func (c Config) SlashCommands() []string { return append(slices.Clone(harmless), c.Commands...) }

var (
	slashName    = regexp.MustCompile(`^[a-zA-Z][\w:-]*$`)
	slashCommand = regexp.MustCompile(`^/([a-zA-Z][\w:-]*)(\s|$)`)
)

// TakesCommand reports whether line begins with one of [Config.SlashCommands], such as "/compact".
func (c Config) TakesCommand(line string) bool {
	word := slashCommand.FindStringSubmatch(line)
	return word != nil && slices.Contains(c.SlashCommands(), word[1])
}

// checkCommands refuses what would let chats change the settings of the CLI.
func (c Config) checkCommands() (errs []error) {
	for _, name := range c.Commands {
		switch {
		case !slashName.MatchString(name):
			errs = append(errs, fmt.Errorf("[claude] slash_commands: %q is no name of a command; write it without the slash", name))
		case slices.Contains([]string{"config", "permissions", "login", "logout"}, strings.ToLower(name)):
			errs = append(errs, fmt.Errorf("[claude] slash_commands: %q would let chats change the settings of the CLI", name))
		}
	}
	return errs
}

// Command has the CLI carry out one of [Config.SlashCommands], such as "/compact", as [Process.Run] has it answer a
// prompt. A line that is none of them is a prompt.
func (p *Process) Command(ctx context.Context, id, line string) iter.Seq2[Event, error] {
	if p.spec.Task != "" || !p.limits.TakesCommand(line) {
		return p.Run(ctx, id, line)
	}
	return p.turnOf(ctx, func() { p.in.prompt(id, line) })
}
