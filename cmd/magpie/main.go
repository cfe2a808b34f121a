// Command magpie lets people in Feishu chat with a Claude Code agent that runs on this machine.
//
// The commands read flags, put the parts together and print. Rules about chats, agents and the platform do not
// belong here: they are in the packages that the commands call.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"magpie/internal/config"
	"magpie/internal/setup"
)

// cli has all commands; kong reads the tags.
type cli struct {
	Setup      setupCmd         `cmd:"" help:"Set up a bridge: the app, the configuration, the service."`
	Serve      serveCmd         `cmd:"" help:"Run the bridge."`
	Doctor     doctorCmd        `cmd:"" help:"Look whether everything that the bridge needs is there, and say what to do."`
	Backup     backupCmd        `cmd:"" help:"Copy the database, also while the bridge runs."`
	Memory     memoryCmd        `cmd:"" help:"Export and import what is remembered."`
	Context    contextCmd       `cmd:"" help:"Show what the agent would be sent with a question, without sending it."`
	History    historyCmd       `cmd:"" help:"Import and export what was said."`
	Audit      auditCmd         `cmd:"" help:"List who has allowed the agents what, when, and by which rule."`
	Service    serviceCmd       `cmd:"" help:"Run the bridge as a service of systemd."`
	Playground playgroundCmd    `cmd:"" help:"Try everything on this machine, without a Feishu account."`
	Version    kong.VersionFlag `help:"Print the version."`
}

// configFlag is the flag of every command that reads the configuration of a bridge.
type configFlag struct {
	Config string `help:"The configuration file. Looked for as magpie serve does." type:"path" placeholder:"magpie.toml"`
}

func main() {
	// First of all: other programs of the same user can read the environment in /proc.
	for _, name := range config.PrivateVariables(os.Environ()) {
		wipe(name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	parser := kong.Must(&c, kong.Name("magpie"),
		kong.Description("鹊桥: chat in Feishu with the Claude Code agent on your own machine."),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Vars{"version": version()}, kong.UsageOnError())
	k, err := parser.Parse(flagsFor(os.Args[1:]))
	parser.FatalIfErrorf(err)
	if err := k.Run(); errors.Is(err, setup.ErrGivenUp) {
		os.Exit(130) // as a shell does after Ctrl-C
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "magpie: %v\n", err)
		var bad *config.Error
		if errors.As(err, &bad) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// flagsFor makes flags of the words that people try first: "magpie help", "magpie help serve", "magpie version".
func flagsFor(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "version":
		return []string{"--version"}
	}
	return args
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return info.Main.Version + " " + s.Value
		}
	}
	return info.Main.Version
}
