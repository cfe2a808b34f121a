// Command magpie lets people in Feishu chat with a Claude Code agent that runs on this machine.
//
// The commands read flags, connect the parts and print. Rules about chats, agents and the platform are in the packages
// that the commands call.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"magpie/bridge/i18n"
	"magpie/internal/config"
	"magpie/internal/setup"
)

// cli has all commands; kong reads the tags.
type cli struct {
	Setup      setupCmd      `cmd:"" help:"Set up a bridge: the app, the configuration, the service."`
	Migrate    migrateCmd    `cmd:"" help:"Migrate from another bridge: its app, settings and conversations."`
	Serve      serveCmd      `cmd:"" help:"Run the bridge."`
	Doctor     doctorCmd     `cmd:"" help:"Check that everything Magpie needs is in place, and say how to fix the rest."`
	Backup     backupCmd     `cmd:"" help:"Back up the database, even while Magpie runs."`
	Memory     memoryCmd     `cmd:"" help:"Export and import memories."`
	Context    contextCmd    `cmd:"" help:"Show the context that a question would be sent with, without sending it."`
	History    historyCmd    `cmd:"" help:"Import and export the conversation history."`
	Audit      auditCmd      `cmd:"" help:"List who allowed or denied what, when, and by which rule."`
	Service    serviceCmd    `cmd:"" help:"Run Magpie as a service of systemd, launchd or the Windows task scheduler."`
	Playground playgroundCmd `cmd:"" help:"Try everything on this machine, without a Feishu account."`
	aboutCmds

	PlaygroundBridge playgroundBridgeCmd `cmd:"" hidden:"" help:"The bridge of a playground, which starts it."`
}

// aboutCmds are the commands about the program itself, which need no bridge.
type aboutCmds struct {
	Completion completionCmd `cmd:"" help:"Print a shell completion script."`
	Man        manCmd        `cmd:"" help:"Print the manual page in the format of man."`
	Version    versionCmd    `cmd:"" help:"Print the version."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// configFlag is the flag of every command that reads the configuration of a bridge.
type configFlag struct {
	Config string `help:"The configuration file. Default: the one that magpie serve would use." type:"path" placeholder:"magpie.toml"`
}

func main() {
	// First of all: other programs of the same user can read the environment in /proc.
	for _, name := range config.PrivateVariables(os.Environ()) {
		wipeVariable(name)
	}
	sealInherited()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	l, args := userLang(), normalizeArgs(os.Args[1:])
	k, err := newParser(ctx, &c, l).Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "magpie: "+usageText(err, args, l))
		os.Exit(2)
	}
	if err := k.Run(); errors.Is(err, setup.ErrGivenUp) {
		os.Exit(130) // as a shell does after Ctrl-C
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "magpie: %s\n", errorText(err))
		if errors.As(err, new(*config.Error)) || errors.As(err, new(*setup.UsageError)) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// newParser makes the parser of the command line, whose help is in the language l.
func newParser(ctx context.Context, c *cli, l i18n.Lang) *kong.Kong {
	options := []kong.Option{
		kong.Name("magpie"), kong.Description(textDescription.In(l)), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Vars{"version": version()}, kong.Help(helpPrinter(l)),
	}
	if l == i18n.Chinese {
		options = append(options, kong.ValueFormatter(chineseValue))
	}
	parser := kong.Must(c, options...)
	parser.Model.HelpFlag.Help = "Show help."
	if l == i18n.Chinese {
		translate(parser.Model.Node)
	}
	return parser
}

// userLang is the language of the user who runs the program.
func userLang() i18n.Lang { return i18n.OfLocale(os.Environ()) }

// errorText is an error in the language of the user who runs the program, if it is translated.
func errorText(err error) string {
	return i18n.ErrorText(userLang(), err)
}

// normalizeArgs converts what people try first to flags: "magpie", "magpie help", "magpie help serve".
func normalizeArgs(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}
