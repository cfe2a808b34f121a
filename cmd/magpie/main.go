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

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/setup"
)

// cli has all commands; kong reads the tags.
type cli struct {
	Playground playgroundCmd `cmd:"" group:"begin" help:"Try everything on this machine, without a Feishu account."`
	Setup      setupCmd      `cmd:"" group:"begin" help:"Set up a bridge: the app, the configuration, the service."`
	Migrate    migrateCmd    `cmd:"" group:"begin" help:"Migrate from another bridge: its app, settings and conversations."`

	Serve   serveCmd   `cmd:"" group:"run" help:"Run the bridge."`
	Chat    chatCmd    `cmd:"" group:"run" help:"Chat with the agent in this terminal, through the bridge that runs on this machine."`
	Attach  attachCmd  `cmd:"" group:"run" help:"Go on with a chat in this terminal, with Claude Code itself."`
	Service serviceCmd `cmd:"" group:"run" help:"Run Magpie as a service of systemd, launchd or the Windows task scheduler."`
	Doctor  doctorCmd  `cmd:"" group:"run" help:"Check that everything Magpie needs is in place, and say how to fix the rest."`
	Nodes   nodesCmd   `cmd:"" group:"run" help:"List the bridges that share a database of PostgreSQL."`
	Token   tokenCmd   `cmd:"" group:"run" help:"Let programs ask over HTTP: make, list and revoke their tokens."`
	Backup  backupCmd  `cmd:"" group:"run" help:"Back up the database, even while Magpie runs."`

	History historyCmd `cmd:"" group:"data" help:"Import and export the conversation history."`
	Memory  memoryCmd  `cmd:"" group:"data" help:"Export and import memories."`
	Context contextCmd `cmd:"" group:"data" help:"Show the context that a question would be sent with, without sending it."`
	DB      dbCmd      `cmd:"" name:"db" group:"data" help:"Move the database to PostgreSQL, and back."`
	Audit   auditCmd   `cmd:"" group:"data" help:"List who allowed or denied what, when, and by which rule."`
	aboutCmds

	PlaygroundBridge playgroundBridgeCmd `cmd:"" hidden:"" help:"The bridge of a playground, which starts it."`
}

// aboutCmds are the commands about the program itself, which need no bridge.
type aboutCmds struct {
	Completion completionCmd `cmd:"" group:"about" help:"Print a shell completion script."`
	Man        manCmd        `cmd:"" group:"about" help:"Print the manual page in the format of man."`
	Version    versionCmd    `cmd:"" group:"about" help:"Print the version."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// groups are the headings above the commands in the help.
func groups(l i18n.Lang) []kong.Group {
	return []kong.Group{
		{Key: "begin", Title: i18n.CmdGroupBegin.In(l)}, {Key: "run", Title: i18n.CmdGroupRun.In(l)},
		{Key: "data", Title: i18n.CmdGroupData.In(l)}, {Key: "about", Title: i18n.CmdGroupAbout.In(l)},
	}
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
		kong.Name("magpie"), kong.Description(i18n.CmdDescription.In(l)), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Vars{"version": version()}, kong.Help(helpPrinter(l)),
		kong.ExplicitGroups(groups(l)),
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
