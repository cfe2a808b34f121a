package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/term"

	"magpie/bridge/handoff"
	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
)

// attachCmd goes on with a chat in a terminal. This process becomes the CLI, so that the chat is back as soon as the CLI has
// ended, in whatever way.
type attachCmd struct {
	Chat string `arg:"" optional:"" help:"The chat, as in feishu:chat:oc_xxx or oc_xxx, or a session that --list shows, which becomes a chat." placeholder:"KEY"`
	List bool   `help:"List the sessions that were begun with claude alone in a project."`
	configFlag
}

// attachAnswer is the CLI that a terminal becomes.
type attachAnswer struct {
	Path      string
	Args, Env []string
	Dir       string
}

// operator is who uses the terminals of this machine.
func operator() chat.Actor {
	who := chat.Actor{ID: terminal.OwnerIDs()[0]}
	if u, err := user.Current(); err == nil {
		who.Name = u.Username
	}
	return who
}

// attach hands a chat to the terminal that asks for it.
func (p *program) attach(ctx context.Context, from terminal.Peer, chatOrSession string) (attachAnswer, error) {
	l, launch, err := p.attachTo(ctx, chatOrSession, from)
	if err != nil {
		return attachAnswer{}, whyNotAttached(chatOrSession, l, err)
	}
	return attachAnswer{Path: launch.Cmd.Path, Args: launch.Cmd.Args, Env: launch.Env, Dir: launch.Cmd.Dir}, nil
}

// errOtherUser means that not the service's user asks: the files of the CLI would be another's.
var errOtherUser = errors.New("another user asks")

// attachTo hands a chat to a process, or a session that becomes one.
func (p *program) attachTo(
	ctx context.Context, chatOrSession string, to terminal.Peer,
) (l handoffs.Lease, launch workspace.Launch, err error) {
	key := terminal.Main
	switch {
	case to.UID != os.Geteuid():
		return l, launch, errOtherUser
	case to.PID == 0:
		return l, launch, handoff.ErrUnseen
	case uuid.Validate(chatOrSession) == nil:
		key.ID = chatOrSession
		l, err = p.adopt(ctx, key, chatOrSession)
	default:
		key, err = chat.ParseKey(chatOrSession)
	}
	if err != nil {
		return l, launch, err
	}
	return p.bridge.Attach(ctx, key, to.PID)
}

// whyNotAttached says why a chat does not go on in a terminal, and what to do. l is another terminal's lease.
func whyNotAttached(chatOrSession string, l handoffs.Lease, err error) error {
	switch lost := new(claude.LostError); {
	case errors.Is(err, chat.ErrNoChat) && uuid.Validate(chatOrSession) == nil:
		return i18n.Mistakef("没有可以继续的会话 %s：magpie attach --list 列出所有会话",
			"there is no session %s that was begun with claude alone: magpie attach --list shows them", chatOrSession)
	case errors.Is(err, handoffs.ErrTaken) && l.Found:
		return i18n.Mistakef("有人在终端里直接打开了这个会话（进程 %d）：先在那里退出 Claude Code",
			"somebody has the session open in a terminal (process %d): leave Claude Code there first", l.Pid)
	case errors.Is(err, handoffs.ErrTaken):
		return i18n.Mistakef("聊天 %s 从 %s 起已经在另一个终端里了（进程 %d）：先在那里退出，或在聊天里发送 /handoff 收回",
			"the chat %s has been in another terminal since %s (process %d): leave it there first, or send /handoff back in the chat",
			chatOrSession, l.Since.Local().Format(time.DateTime), l.Pid)
	case errors.Is(err, handoffs.ErrBusy):
		return i18n.Mistakef("聊天 %s 里的助手正在工作：等它答完，或先在聊天里发送 /stop",
			"the agent of the chat %s is working: wait until it has answered, or first send /stop in the chat", chatOrSession)
	case errors.Is(err, handoff.ErrUnseen):
		return i18n.Mistakef("服务看不到这个终端里的进程：请在服务所在的机器（或容器）里运行这条命令",
			"the service cannot see the processes of this terminal: run this command on the machine, or in the container, of the service")
	case errors.Is(err, errOtherUser):
		return i18n.Mistakef("请以运行服务的用户身份运行这条命令，例如 sudo -u 用户 magpie attach %s",
			"run this command as the user that runs the service, as in sudo -u USER magpie attach %s", chatOrSession)
	case errors.As(err, &lost):
		return i18n.Mistakef("会话接不上：先在聊天里问一句", "the session cannot be resumed: ask something in the chat first")
	}
	return i18n.Mistakef("不能在终端里继续：%v", "this cannot go on in a terminal: %v", aboutChat(chatOrSession, err))
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
	got, err := callService[attachAnswer](ctx, c.configFlag, "attach", key)
	if err != nil {
		return err
	}
	if err := os.Chdir(got.Dir); err != nil {
		return err
	}
	return become(got.Path, got.Args, ownTerminal(got.Env, os.Environ()))
}

// ofTerminals are the variables that tell the CLI about the terminal, where the clipboard is, and what people edit with.
var ofTerminals = regexp.MustCompile(`^(TERM|TERM_PROGRAM|TERM_PROGRAM_VERSION|COLORTERM|NO_COLOR|LANG|LC_[A-Z]+|DISPLAY|WAYLAND_DISPLAY|` +
	`XDG_RUNTIME_DIR|EDITOR|VISUAL|TMUX|KITTY_WINDOW_ID|SSH_TTY|SSH_CONNECTION)$`)

// ownTerminal is the environment of an agent, with what is this terminal's own.
func ownTerminal(env, here []string) []string {
	of := func(kv string) string { name, _, _ := strings.Cut(kv, "="); return name }
	for _, kv := range here {
		name := of(kv)
		if !ofTerminals.MatchString(name) {
			continue
		}
		env = append(slices.DeleteFunc(env, func(was string) bool { return of(was) == name }), kv)
	}
	return env
}
