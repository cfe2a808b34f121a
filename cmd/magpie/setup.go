package main

import (
	"context"

	"magpie/internal/operator/setup"
)

// setupCmd has a flag for every question, so that a script can set up a bridge without a terminal.
type setupCmd struct {
	Config     string `help:"Where to write the configuration. Default: the existing one, or the user's configuration folder." type:"path" placeholder:"magpie.toml"`
	Data       string `help:"Folder for the database. Default: the user's data folder." type:"path" placeholder:"FOLDER"`
	Scan       bool   `help:"Create an app by scanning a code, without asking how."`
	AppID      string `name:"app-id" help:"App ID of an existing app." placeholder:"cli_..."`
	SecretFile string `name:"app-secret-file" help:"File with the app's secret; - reads it from the standard input." placeholder:"FILE"`
	Platform   string `help:"feishu, lark, or an address. Default: detected." env:"MAGPIE_FEISHU_BASE_URL" placeholder:"PLATFORM"`
	Project    string `help:"Folder in which the agent works." placeholder:"FOLDER"`
	Claude     string `help:"The Claude Code CLI." default:"claude" env:"MAGPIE_CLAUDE_COMMAND"`
	Owner      string `help:"Owner of the bot. Default: whoever scans the code, or the app's owner." placeholder:"ou_..."`
	Start      string `help:"How to start Magpie: service, here (in this terminal), or no." enum:"ask,service,here,no" default:"ask"`
	Replace    bool   `help:"Replace an existing configuration; the old file is kept under another name."`
	Yes        bool   `help:"Ask no questions; use flags and defaults."`
	Lang       string `help:"Language of the dialog: zh, en, or auto (from the locale)." enum:"auto,zh,en" default:"auto"`
	Root       string `help:"Folder that stands for / when the service is written." hidden:"" type:"path"`
}

// Run sets up a bridge.
func (s setupCmd) Run(ctx context.Context) error {
	return setup.Run(ctx, setup.Options(s), func(ctx context.Context, config string) error {
		return serveCmd{Config: config, plain: true}.Run(ctx)
	})
}
