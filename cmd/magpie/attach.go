package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/term"

	"magpie/bridge/handoff"
	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// attachCmd goes on with a chat in a terminal. This process becomes the CLI, so that the chat is back as soon as the CLI has
// ended, in whatever way.
type attachCmd struct {
	Chat string `arg:"" optional:"" help:"The chat, as in feishu:chat:oc_xxx or oc_xxx, or a session that --list shows, which becomes a chat." placeholder:"KEY"`
	List bool   `help:"List the sessions that were begun with claude alone in a project."`
	configFlag
}

// The request and the answer on the socket for terminals.
type (
	attachRequest struct {
		Chat string
		Lang i18n.Lang
	}
	attachAnswer struct {
		Path      string // of the CLI
		Args, Env []string
		Dir       string
		Problem   string // why there is nothing; empty = there is
		Why       string // of attachRefused
		Pid       int    // of attachTaken
		Since     time.Time
	}
)

// The problems.
const (
	attachNoChat    = "chat"
	attachElsewhere = "elsewhere"
	attachDenied    = "denied"
	attachTaken     = "taken"
	attachBusy      = "busy"
	attachUnseen    = "unseen"
	attachOtherUser = "user"
	attachRefused   = "refused"
)

// operator is who uses the terminals of this machine.
func operator() chat.Actor {
	who := chat.Actor{ID: terminal.OwnerIDs()[0]}
	if u, err := user.Current(); err == nil {
		who.Name = u.Username
	}
	return who
}

// attach hands a chat to the terminal that asks for it.
func (p *program) attach(w http.ResponseWriter, r *http.Request) {
	var asked attachRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&asked)
	key, keyErr := chat.ParseKey(asked.Chat)
	session := ""
	if uuid.Validate(asked.Chat) == nil {
		session, key, keyErr = asked.Chat, terminal.Main, nil
		key.ID = session
	}
	if err != nil || keyErr != nil {
		http.Error(w, "no request for a chat", http.StatusBadRequest)
		return
	}
	got, peer := attachAnswer{Problem: attachOtherUser}, terminal.PeerOf(r)
	if peer.PID == 0 {
		got.Problem = attachUnseen
	} else if peer.UID == os.Geteuid() { // otherwise its files would belong to root
		if session != "" {
			got = p.adopt(r.Context(), key, session, asked.Lang)
		} else {
			got.Problem = ""
		}
		if got.Problem == "" {
			got = p.attachTo(r.Context(), key, peer.PID, asked.Lang)
		}
	}
	_ = json.NewEncoder(w).Encode(got) // fails only if the command has gone
}

func (p *program) attachTo(ctx context.Context, key chat.Key, pid int, lang i18n.Lang) attachAnswer {
	l, launch, err := p.bridge.Attach(ctx, key, pid)
	switch lost := new(claude.LostError); {
	case err == nil:
		return attachAnswer{Path: launch.Cmd.Path, Args: launch.Cmd.Args, Env: launch.Env, Dir: launch.Cmd.Dir}
	case errors.Is(err, chat.ErrNoChat):
		return attachAnswer{Problem: attachNoChat}
	case errors.Is(err, chat.ErrElsewhere), errors.As(err, &lost) && lost.Cause == claude.LostMachine:
		return attachAnswer{Problem: attachElsewhere}
	case errors.Is(err, chat.ErrDenied):
		return attachAnswer{Problem: attachDenied}
	case errors.Is(err, handoffs.ErrTaken):
		return attachAnswer{Problem: attachTaken, Pid: l.Pid, Since: l.Since}
	case errors.Is(err, handoffs.ErrBusy):
		return attachAnswer{Problem: attachBusy}
	case errors.Is(err, handoff.ErrUnseen):
		return attachAnswer{Problem: attachUnseen}
	}
	return p.refuse(key, lang, err)
}

// errNoTerminal means that there is nobody to type.
var errNoTerminal = i18n.Mistakef("magpie attach 要在终端里运行", "magpie attach needs a terminal")

// Run becomes the CLI in the chat's folder, with the chat's session.
func (c attachCmd) Run(ctx context.Context) error {
	if c.List {
		return c.list(ctx)
	} else if c.Chat == "" {
		return i18n.Mistakef("要接着哪个聊天？写出它的 ID，例如 magpie attach oc_xxx，或者用 magpie attach --list 看看有哪些会话",
			"which chat? Name it, as in magpie attach oc_xxx, or see magpie attach --list for sessions")
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return errNoTerminal
	}
	key := c.Chat
	if uuid.Validate(key) != nil {
		parsed, err := parseChat(key)
		if err != nil {
			return err
		}
		key = parsed.String()
	}
	cfg, err := config.ReadForDatabase(c.Config, os.Environ())
	if err != nil {
		return err
	}
	client, err := dialService(ctx, cfg, terminal.Main)
	if err != nil {
		return err
	}
	var got attachAnswer
	err = client.Call(ctx, http.MethodPost, "attach", attachRequest{key, userLang()}, &got)
	if err != nil {
		return i18n.Mistakef("服务没有照办：%v", "the service has not done it: %v", err)
	}
	if err := got.problem(key); err != nil {
		return err
	}
	if err := os.Chdir(got.Dir); err != nil {
		return err
	}
	return become(got.Path, got.Args, ownTerminal(got.Env, os.Environ()))
}

// problem says why there is nothing to run.
func (a attachAnswer) problem(key string) error {
	switch a.Problem {
	case "":
		return nil
	case attachNoChat:
		return i18n.Mistakef("没有聊天 %s，或者那里还没有人给机器人发过消息", "there is no such chat as %s, or nobody has written to the bot there yet", key)
	case attachElsewhere:
		return i18n.Mistakef("聊天 %s 由另一台机器上的鹊桥负责：在那台机器上运行这条命令；magpie nodes 列出各台机器",
			"a bridge on another machine has the chat %s: run this command there; magpie nodes lists the machines", key)
	case attachDenied:
		return i18n.Mistakef("机器人在聊天 %s 里不接受你的话：见配置的 [access] deny", "the bot takes nothing from you in the chat %s: see [access] deny in its configuration", key)
	case attachTaken:
		return i18n.Mistakef("聊天 %s 从 %s 起已经在另一个终端里了（进程 %d）：先在那里退出，或在聊天里发送 /handoff 收回",
			"the chat %s has been in another terminal since %s (process %d): leave it there first, or send /handoff back in the chat",
			key, a.Since.Local().Format(time.DateTime), a.Pid)
	case attachBusy:
		return i18n.Mistakef("聊天 %s 里的助手正在工作：等它答完，或先在聊天里发送 /stop",
			"the agent of the chat %s is working: wait until it has answered, or first send /stop in the chat", key)
	case attachUnseen:
		return i18n.Mistakef("服务看不到这个终端里的进程：请在服务所在的机器（或容器）里运行这条命令",
			"the service cannot see the processes of this terminal: run this command on the machine, or in the container, of the service")
	case attachOtherUser:
		return i18n.Mistakef("请以运行服务的用户身份运行这条命令，例如 sudo -u 用户 magpie attach %s",
			"run this command as the user that runs the service, as in sudo -u USER magpie attach %s", key)
	}
	return i18n.Mistakef("不能在终端里继续：%s", "this cannot go on in a terminal: %s", a.Why)
}

// ownTerminal is the environment of an agent, with what is this terminal's own.
func ownTerminal(env, here []string) []string {
	of := func(kv string) string { name, _, _ := strings.Cut(kv, "="); return name }
	for _, kv := range here {
		name := of(kv)
		if name != "TERM" && name != "COLORTERM" && name != "LANG" && !strings.HasPrefix(name, "LC_") {
			continue
		}
		env = append(slices.DeleteFunc(env, func(was string) bool { return of(was) == name }), kv)
	}
	return env
}
