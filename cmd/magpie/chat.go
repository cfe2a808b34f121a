package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"magpie/internal/chat"
	"magpie/internal/door/terminal"
	"magpie/internal/door/terminal/talk"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// chatCmd talks to the bridge as its owner.
type chatCmd struct {
	Chat    string   `help:"The chat to go on with, as in feishu:chat:oc_xxx or oc_xxx. Default: the terminal's own." placeholder:"KEY"`
	Message []string `arg:"" optional:"" help:"What to say. Default: asked for, or read from the standard input."`
	configFlag
}

// errNoQuestion means that there is nothing to say.
var errNoQuestion = i18n.Mistakef("没有要问的内容", "there is nothing to ask")

// longestQuestion is what is read from the standard input, in bytes.
const longestQuestion = 1 << 20

// Run asks one question if the standard output is no terminal, or else talks until the user leaves. Ctrl-C stops a turn
// first, so it does not end ctx here.
func (c chatCmd) Run(ctx context.Context) error {
	said := strings.TrimSpace(strings.Join(c.Message, " "))
	isTyped := term.IsTerminal(int(os.Stdin.Fd()))
	if said == "" && !isTyped {
		data, err := io.ReadAll(io.LimitReader(os.Stdin, longestQuestion+1))
		if err != nil {
			return err
		} else if len(data) > longestQuestion {
			return i18n.Mistakef("要问的内容超过了 %d MiB：把它存成文件，再让助手去读", "the question has more than %d MiB: put it into a file, and have the agent read that", longestQuestion>>20)
		}
		said = strings.TrimSpace(string(data))
	}
	if ctx.Err() != nil { // Ctrl-C has ended what was to be read
		return ctx.Err()
	}
	ctx = context.WithoutCancel(ctx)
	typing := isTyped && term.IsTerminal(int(os.Stdout.Fd()))
	if said == "" && !typing {
		return errNoQuestion
	}
	cfg, err := config.ReadForDatabase(c.Config, os.Environ())
	if err != nil {
		return err
	}
	key, err := c.key(cfg)
	if err != nil {
		return err
	}
	client, err := dialService(ctx, cfg, key)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	t := &talk.Talk{Client: client, Lang: userLang(), Out: os.Stdout, Notes: os.Stderr, Folder: "."}
	if typing {
		err = t.Type(ctx, said, stop)
	} else {
		err = t.Ask(ctx, said, stop)
	}
	if errors.Is(err, terminal.ErrRefused) {
		return i18n.Mistakef("服务不接受：%v", "the service does not take this: %v", err)
	}
	return aboutChat(key.String(), err)
}

// aboutChat is an error in words, if it is about a chat that was named.
func aboutChat(key string, err error) error {
	switch {
	case errors.Is(err, chat.ErrNoChat):
		return i18n.Mistakef("没有聊天 %s，或者那里还没有人给机器人发过消息", "there is no such chat as %s, or nobody has written to the bot there yet", key)
	case errors.Is(err, chat.ErrElsewhere):
		return i18n.Mistakef("聊天 %s 由另一台机器上的鹊桥负责：在那台机器上运行这条命令；magpie nodes 列出各台机器",
			"a bridge on another machine has the chat %s: run this command there; magpie nodes lists the machines", key)
	case errors.Is(err, chat.ErrDenied):
		return i18n.Mistakef("机器人在聊天 %s 里不接受你的话：见配置的 [access] deny", "the bot takes nothing from you in the chat %s: see [access] deny in its configuration", key)
	}
	return err
}

// key is the chat to go on with, or the terminal's own. Where several machines share a database, each has one.
func (c chatCmd) key(cfg config.Config) (key chat.Key, err error) {
	if c.Chat != "" {
		return parseChat(c.Chat)
	}
	key = terminal.Main
	if !cfg.DB.DSN().IsFile() {
		key.ID, err = cfg.NodeName()
	}
	return key, err
}

// dialService connects to the service.
func dialService(ctx context.Context, cfg config.Config, key chat.Key) (*terminal.Client, error) {
	folder, err := folderOf(cfg, terminalFolder)
	if err != nil {
		return nil, err
	}
	client, err := terminal.Dial(ctx, folder, key)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, i18n.Mistakef("服务属于另一个用户：请以那个用户的身份运行这条命令，例如 sudo -u 用户 magpie ...",
			"the service belongs to another user: run this command as that user, as in sudo -u USER magpie ...")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, i18n.Mistakef("服务没有运行：用 magpie service start 或 magpie serve 启动它",
			"the service is not running: start it with magpie service start or magpie serve")
	}
	return client, err
}
