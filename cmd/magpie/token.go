package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"magpie/db"
	"magpie/db/programs"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/configtype"
	"magpie/internal/door/api"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// tokenCmd is about the programs that ask over HTTP. The service of this machine does what it says.
type tokenCmd struct {
	New    tokenNewCmd    `cmd:"" help:"Make a token. It is printed once."`
	List   tokenListCmd   `cmd:"" help:"List the tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token, at once."`
}

type tokenNewCmd struct {
	Name    string              `arg:"" help:"Whose token it is, as in ci."`
	Project string              `xor:"project-chat,project-runs" help:"The project in which its chats begin. Default: that of [claude] project." placeholder:"NAME"`
	Runs    string              `xor:"project-runs,chat-runs,person-runs" help:"What it can start, as named with /trigger in a chat, and nothing else." placeholder:"NAME"`
	Chat    string              `xor:"project-chat,chat-runs" help:"The chat in which it asks, as in feishu:chat:oc_...: everybody there sees it. Default: chats of its own." placeholder:"KEY"`
	Person  string              `xor:"person-runs" help:"Who decides what its agent may do, by ID, as in ou_...: asked in the private chat. Default: the program itself." placeholder:"ID"`
	Expires configtype.Duration `help:"How long it is valid, as in 720h. Default: until it is revoked." placeholder:"TIME"`
	configFlag
}

type tokenListCmd struct{ configFlag }

type tokenRevokeCmd struct {
	Name string `arg:"" help:"Whose token it is."`
	configFlag
}

// tokenAnswer is what the service tells about tokens.
type tokenAnswer struct {
	Secret  string
	Tokens  []programs.Token
	BaseURL string // of the API; empty = there is none
}

func (p *program) newToken(ctx context.Context, _ terminal.Peer, t programs.Token) (got tokenAnswer, err error) {
	if _, ok := p.cfg.Projects[t.Project]; t.Project != "" && !ok {
		return got, i18n.Mistakef("服务的 [projects] 里没有 %s", "the [projects] of the service have no %s", t.Project)
	}
	if t.Chat != "" {
		key, err := chat.ParseRoom(t.Chat)
		if err == nil {
			_, err = p.store.Chats().Get(ctx, key)
		}
		if errors.Is(err, db.ErrNotFound) {
			return got, i18n.Mistakef("没有 %s 这个聊天：在那里发 /whoami 可以看到它的 ID，写成 feishu:chat:oc_...",
				"there is no chat %s: /whoami there tells its ID; write it as feishu:chat:oc_...", t.Chat)
		} else if err != nil {
			return got, err
		}
	}
	if t.Runs != "" {
		if t.Runs, err = p.triggerNamed(ctx, t.Runs); err != nil {
			return got, err
		}
	}
	t, got.Secret = api.NewToken(t)
	if err := p.store.Programs().Add(ctx, t); errors.Is(err, programs.ErrTaken) {
		return got, i18n.Mistakef("已经有叫 %s 的令牌：换一个名字，或者先 magpie token revoke %s",
			"there is a token named %s: take another name, or first run magpie token revoke %s", t.Name, t.Name)
	} else if err != nil {
		return got, err
	}
	p.log.Info().Str("token", t.Name).Str("id", t.ID).Msg("a program may ask over HTTP")
	if p.api != nil {
		got.BaseURL = p.cfg.HTTP.BaseURL()
	}
	return got, nil
}

// triggerNamed is what programs start by a name, which several chats may have: then the chat's key stands before it.
func (p *program) triggerNamed(ctx context.Context, runs string) (ref string, err error) {
	of, name, named := strings.Cut(runs, "/")
	if !named {
		of, name = "", runs
	}
	list, err := p.store.Schedules().Named(ctx, name)
	if err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, func(s schedules.Schedule) bool { return named && s.Key.String() != of })
	switch len(list) {
	case 0:
		return "", i18n.Mistakef("没有叫 %[1]s 的触发任务：先在聊天里发 /触发 %[1]s <要做的事>",
			"nothing is named %[1]s: first send /trigger %[1]s <what> in a chat", runs)
	case 1:
		return list[0].Ref(), nil
	}
	var choices []string
	for _, s := range list {
		choices = append(choices, s.Key.String()+"/"+name)
	}
	return "", i18n.Mistakef("好几个聊天里都有 %s，请选一个：--runs %v", "several chats have %s; choose one: --runs %v", runs, i18n.Listing(choices))
}

func (p *program) listTokens(ctx context.Context, _ terminal.Peer, _ programs.Token) (got tokenAnswer, err error) {
	got.Tokens, err = p.store.Programs().List(ctx)
	return got, err
}

func (p *program) revokeToken(ctx context.Context, _ terminal.Peer, t programs.Token) (got tokenAnswer, err error) {
	if err := p.store.Programs().Revoke(ctx, t.Name); errors.Is(err, programs.ErrUnknown) {
		return got, i18n.Mistakef("没有叫 %s 的令牌：magpie token list 列出所有令牌", "there is no token named %s: magpie token list shows all", t.Name)
	} else if err != nil {
		return got, err
	}
	p.log.Info().Str("token", t.Name).Msg("the token of a program was revoked")
	return got, nil
}

// tryToken asks something. The token itself is only on the standard output.
const tryToken = `curl %s/chat/completions -H "Authorization: Bearer $TOKEN" -d '{"model": "magpie", "messages": [{"role": "user", "content": "Who are you?"}]}'`

// tryTrigger starts something.
const tryTrigger = `curl -X POST %s/api/triggers/%s -H "Authorization: Bearer $TOKEN" -d 'what has happened'`

// longestName is that of a token, in characters.
const longestName = 64

// Run prints the token, alone on the standard output.
func (c tokenNewCmd) Run(ctx context.Context) error {
	r := programs.Token{Name: strings.TrimSpace(c.Name), Project: c.Project, Runs: c.Runs, Person: c.Person}
	if c.Chat != "" {
		key, err := chat.ParseKey(c.Chat)
		if err != nil {
			return err
		}
		r.Chat = key.Room()
	}
	if n := len([]rune(r.Name)); n == 0 || n > longestName || text.Visible(r.Name) != r.Name {
		return i18n.Mistakef("令牌的名字应为 1 到 %d 个可见的字符", "the name of a token must have 1 to %d visible characters", longestName)
	}
	if to := chat.PersonKey(r.Person); r.Person != "" && (to == chat.Key{} || to.Channel == chat.HTTP || to.Channel == chat.Terminal) {
		return i18n.Mistakef("--person %q：应为能收到消息的人的 ID，例如 ou_...；在聊天里发 /whoami 可以看到自己的 ID",
			"--person %q: must be the ID of somebody who can be sent messages, such as ou_...; /whoami in a chat tells one's own", r.Person)
	}
	if c.Expires.Duration < 0 {
		return i18n.Mistakef("--expires 不能是负数", "--expires must not be negative")
	} else if c.Expires.Duration > 0 {
		r.Expires = time.Now().Add(c.Expires.Duration).UTC()
	}
	got, err := callService[tokenAnswer](ctx, c.configFlag, "tokens", r)
	if err != nil {
		return err
	}
	fmt.Println(got.Secret)
	l := userLang()
	fmt.Fprintln(os.Stderr, i18n.CmdTokenOnce.In(l))
	if got.BaseURL == "" {
		fmt.Fprintln(os.Stderr, i18n.CmdTokenNoAPI.In(l))
		return nil
	}
	if c.Runs != "" {
		fmt.Fprintf(os.Stderr, i18n.CmdTokenTryRuns.In(l)+"\n"+tryTrigger+"\n", strings.TrimSuffix(got.BaseURL, "/v1"), path.Base(c.Runs))
		return nil
	}
	fmt.Fprintf(os.Stderr, i18n.CmdTokenTry.In(l)+"\n"+tryToken+"\n", got.BaseURL, got.BaseURL)
	return nil
}

// Run prints a line for each token.
func (c tokenListCmd) Run(ctx context.Context) error {
	got, err := callService[tokenAnswer](ctx, c.configFlag, "tokens/list", programs.Token{})
	if err != nil {
		return err
	}
	l := userLang()
	if len(got.Tokens) == 0 {
		fmt.Println(i18n.CmdNoTokens.In(l))
		return nil
	}
	rows := [][]string{strings.Split(i18n.CmdTokenColumns.In(l), "\t")}
	for _, t := range got.Tokens {
		expires := i18n.CmdTokenStays.In(l)
		if !t.Expires.IsZero() {
			expires = t.Expires.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{i18n.Visible(t.Name), t.ID, i18n.Visible(t.Project), t.Runs, t.Created.Local().Format(time.DateTime), expires})
	}
	fmt.Print(table(rows))
	return nil
}

// Run revokes a token.
func (c tokenRevokeCmd) Run(ctx context.Context) error {
	_, err := callService[tokenAnswer](ctx, c.configFlag, "tokens/revoke", programs.Token{Name: c.Name})
	return err
}
