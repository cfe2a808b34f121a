package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
)

// order is what a command comes to. Its effects on the store happen together with the message's.
type order struct {
	reply     string
	card      *chat.Card                       // in place of reply; nil = none
	startAnew bool                             // the next prompt holds nothing from before
	compact   bool                             // a summary is wanted; its reply comes later
	topic     string                           // what the chat is called from now on; empty = as before
	goBack    *db.Session                      // a session that the chat has had, to go on with; nil = none
	ask       string                           // a question that takes the place of the command; empty = none
	files     []chat.File                      // of that question
	then      func()                           // after the commit; nil = nothing
	later     func(ctx context.Context) string // works out what else is to be said, after the commit; nil = nothing
	// changes the chat's settings; it may be called more than once; nil = nothing is changed
	set    func(*db.Settings)
	grant  *db.GrantChange // a change to who may talk to the bot; nil = none
	memory *db.MemoryOrder // a change to a memory, whose reply takes the place of reply; nil = none
	stop   []int64         // the turns that are to end
	revoke int64           // the number of a rule that is to end; 0 = none
}

// ordered is a command as somebody has given it.
type ordered struct {
	b       *Bridge
	m       chat.Incoming
	args    string    // what follows the command
	answers string    // the message that is answered, when it is not the command's; empty = it is
	chat    db.Chat   // as it was before; of one that was never heard of only the key
	lang    i18n.Lang // in which to reply
}

// say only replies.
func (o ordered) say(p i18n.Phrase, args ...any) (order, error) {
	text := p.In(o.lang)
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return order{reply: text}, nil
}

// plan works out an order before the message is stored, so it must be quick and change nothing.
type plan func(ctx context.Context, o ordered) (order, error)

// askToGoOn is the plan of the button that asks the agent to go on.
func askToGoOn(_ context.Context, o ordered) (order, error) {
	return order{ask: i18n.ContinueWord.In(o.lang)}, nil
}

// command is something that a user can order with a leading slash.
type command struct {
	name     string
	aliases  []string    // the first one is what a Chinese button says
	args     i18n.Phrase // what may follow; empty = nothing
	help     i18n.Phrase
	admin    bool // only the owner and admins may give it
	frequent bool // it has a button in the list of all
	asks     bool // what follows it is a question
	plan     plan
}

// commands is a function, not a variable: help lists it, and Go refuses the cycle.
func commands() []command {
	return []command{
		{name: "help", aliases: []string{"帮助"}, args: i18n.ArgsHelp, help: i18n.HelpHelp, plan: help},
		{name: "new", aliases: []string{"新会话", "新对话"}, args: i18n.ArgsNew, help: i18n.HelpNew, frequent: true, asks: true, plan: startNew},
		{name: "reset", aliases: []string{"清空", "重置"}, args: i18n.ArgsNew, help: i18n.HelpReset, asks: true, plan: reset},
		{name: "compact", aliases: []string{"压缩"}, help: i18n.HelpCompact, frequent: true, plan: compactNow},
		{name: "stop", aliases: []string{"停止"}, help: i18n.HelpStop, frequent: true, plan: stop},
		{name: "retry", aliases: []string{"重试", "重新回答"}, help: i18n.HelpRetry, frequent: true, plan: retry},
		{name: "status", aliases: []string{"状态"}, help: i18n.HelpStatus, frequent: true, plan: status},
		{name: "title", aliases: []string{"标题"}, args: i18n.ArgsTitle, help: i18n.HelpTitle, plan: setTitle},
		{name: "resume", aliases: []string{"恢复", "会话"}, args: i18n.ArgsResume, help: i18n.HelpResume, frequent: true, plan: resume},
		{name: "history", aliases: []string{"历史"}, args: i18n.ArgsHistory, help: i18n.HelpHistory, plan: showHistory},
		{name: "export", aliases: []string{"导出"}, help: i18n.HelpExport, plan: exportChat},
		{name: "context", aliases: []string{"上下文"}, args: i18n.ArgsContext, help: i18n.HelpContext, frequent: true, plan: showContext},
		{name: "remember", aliases: []string{"记住"}, args: i18n.ArgsRemember, help: i18n.HelpRemember, plan: rememberThis},
		{name: "memory", aliases: []string{"记忆"}, help: i18n.HelpMemory, frequent: true, plan: aboutMemory},
		{name: "model", aliases: []string{"模型"}, args: i18n.ArgsModel, help: i18n.HelpModel, plan: chooseModel},
		{name: "effort", aliases: []string{"思考"}, args: i18n.ArgsEffort, help: i18n.HelpEffort, plan: chooseEffort},
		{name: "lang", aliases: []string{"语言"}, args: i18n.ArgsLang, help: i18n.HelpLang, plan: chooseLang},
		{name: "doctor", aliases: []string{"诊断"}, help: i18n.HelpDoctor, admin: true, plan: checkUp},
		{name: "login", aliases: []string{"登录"}, args: i18n.ArgsLogin, help: i18n.HelpLogin, admin: true, plan: logIn},
		{name: "allow", aliases: []string{"授权"}, args: i18n.ArgsAllow, help: i18n.HelpAllow, plan: allow},
		{name: "mention", aliases: []string{"提及"}, args: i18n.ArgsMention, help: i18n.HelpMention, plan: mention},
		{name: "projects", aliases: []string{"项目"}, help: i18n.HelpProjects, plan: listProjects},
		{name: "cd", aliases: []string{"切换"}, args: i18n.ArgsCd, help: i18n.HelpCd, plan: changeProject},
		{name: "cost", aliases: []string{"费用", "花费"}, args: i18n.ArgsCost, help: i18n.HelpCost, plan: showCost},
		{name: "whoami", aliases: []string{"我是谁"}, help: i18n.HelpWhoAmI, plan: whoAmI},
		{name: "admin", aliases: []string{"管理"}, args: i18n.ArgsAdmin, help: i18n.HelpAdmin, admin: true, plan: administer},
		{name: "mode", aliases: []string{"模式"}, args: i18n.ArgsMode, help: i18n.HelpMode, plan: changeMode},
	}
}

// called reports whether word, in lower case, is one of the command's names.
func (c command) called(word string) bool { return c.name == word || slices.Contains(c.aliases, word) }

// free reports whether somebody may give the command.
func (c command) free(a *access.Config, who chat.Actor) bool { return !c.admin || a.IsAdmin(who) }

var (
	commandName = regexp.MustCompile(`^[a-zA-Z]+$`)
	commandWord = regexp.MustCompile(`^\p{Han}{1,4}$`)
)

// parseCommand finds the command that a text orders, and what follows it. A text that looks like a command which does
// not exist gives its name only. "/etc/hosts ..." is talk, and so is "/" before a Chinese word that is like no command.
func parseCommand(text string) (cmd *command, name, args string) {
	_, size := utf8.DecodeRuneInString(text)
	if slash := text[:size]; slash != "/" && slash != "／" || strings.IndexFunc(text[size:], isSpace) == 0 {
		return nil, "", ""
	}
	word, args := splitWord(text[size:])
	for _, c := range commands() {
		if c.called(strings.ToLower(word)) {
			return &c, "/" + c.name, args
		}
	}
	if _, slip := nearest(word, commands()); !commandName.MatchString(word) && !(slip && args == "" && commandWord.MatchString(word)) {
		return nil, "", ""
	}
	return nil, "/" + word, args
}

// questionIn is what of a text is for the agent to answer.
func questionIn(text string) string {
	if cmd, _, args := parseCommand(text); cmd != nil && cmd.asks {
		return args
	}
	return text
}

// obey stores a message that is no talk, with the reply to it, and carries out what it orders, once.
func (b *Bridge) obey(ctx context.Context, m chat.Incoming, args string, p plan) error {
	return ordered{b: b, m: m, args: args}.obey(ctx, p)
}

func (o ordered) obey(ctx context.Context, p plan) error {
	b, key := o.b, o.m.Key
	c, err := b.db.Chats().Get(ctx, key)
	if errors.Is(err, db.ErrNotFound) {
		c = db.Chat{Key: key}
	} else if err != nil {
		return err
	}
	spoken := string(b.cfg.ordersIn(o.m.Text))
	if asked := questionIn(o.m.Text); asked != o.m.Text {
		m := o.m
		m.Text = asked
		spoken = cmp.Or(b.spoken(ctx, m), spoken)
	}
	c.Lang = cmp.Or(spoken, c.Lang)
	o.chat, o.lang = c, b.cfg.langOf(c)
	what, err := p(ctx, o)
	if err != nil {
		return err
	}
	e := db.Inbound{
		Incoming: o.m, Class: chat.Command, Lang: spoken, Reply: what.reply, Card: what.card, ReplyTo: o.answers, StartAnew: what.startAnew,
		Compact: what.compact, Topic: what.topic, GoBack: what.goBack, Memory: what.memory, Grant: what.grant, Set: what.set, Revoke: what.revoke, Stop: what.stop,
	}
	if what.ask != "" {
		e.Class, e.Text, e.Files = chat.Talk, what.ask, what.files
	}
	got, err := b.accept(ctx, e)
	if err != nil || !got.Fresh {
		return err
	}
	if what.then != nil {
		what.then()
	}
	if what.later != nil {
		o.promise(what.later)
	}
	b.outbox.wake(key)
	if got.Turn == 0 {
		return nil
	}
	if o.answers == "" { // else it is a pressed button, on which nothing can be put
		b.reactions.set([]chat.Message{{Key: key, ID: o.m.ID}}, chat.Working)
	}
	b.wake(key)
	return nil
}

// promise says what work finds out, when it has. At the end of the program it is left: who waits for it asks again.
func (o ordered) promise(work func(context.Context) string) {
	o.b.scheduler.jobs.Enqueue(func(ctx context.Context) {
		text := work(ctx)
		if text == "" || ctx.Err() != nil {
			return
		}
		p := db.Post{Key: o.m.Key, Idem: "later:" + o.m.ID, ReplyTo: cmp.Or(o.answers, o.m.ID), Text: text}
		if err := o.b.db.Outbox().Add(context.WithoutCancel(ctx), p); err != nil {
			o.b.log.Error().Err(err).Stringer("chat", o.m.Key).Msg("reply not stored")
			return
		}
		o.b.outbox.wake(o.m.Key)
	})
}

// say is the plan that only replies.
func say(p i18n.Phrase, args ...any) plan {
	return func(_ context.Context, o ordered) (order, error) { return o.say(p, args...) }
}

// tooLate is the plan for a command that came so late that it is not carried out.
func tooLate(name string) plan {
	return func(_ context.Context, o ordered) (order, error) {
		return o.say(i18n.LateCommand, name, i18n.RoughDuration(time.Since(o.m.Time), o.lang))
	}
}

func startNew(ctx context.Context, o ordered) (order, error) { return o.forget(ctx, i18n.NewBegun) }

func reset(ctx context.Context, o ordered) (order, error) { return o.forget(ctx, i18n.ResetDone) }

// forget makes the next prompt hold nothing from before; what follows the command is the first question. A turn that
// runs goes on; it belongs to what was before.
func (o ordered) forget(ctx context.Context, answer i18n.Phrase) (order, error) {
	files, err := o.b.files.Of(ctx, o.m)
	if err != nil {
		return order{}, err
	}
	drop := func() {
		o.b.turns.Enqueue(func(context.Context) { o.b.pool.Drop(o.m.Key.String()) })
	}
	return order{reply: answer.In(o.lang), startAnew: true, ask: o.args, files: files, then: drop}, nil
}

func stop(ctx context.Context, o ordered) (order, error) {
	b, key := o.b, o.m.Key
	turns := []int64{b.lanes.RunningTurn(key)}
	if turns[0] == 0 { // the question may be so new that nobody has begun with it
		if err := b.recovery.await(ctx); err != nil {
			return order{}, err
		}
		var err error
		if turns, err = b.db.Queue().Turns(ctx, key); err != nil {
			return order{}, err
		}
	}
	if len(turns) == 0 {
		return o.say(i18n.NothingToStop)
	}
	return order{reply: i18n.Stopped.In(o.lang), stop: turns, then: func() { b.lanes.HaltTurns(key, turns...) }}, nil
}

// pressed gives the command of a button, as whoever has pressed it.
func (b *Bridge) pressed(ctx context.Context, p chat.Press) error {
	cmd, _, args := parseCommand(p.Action.ID)
	if p.Action.Do == turncard.DoGoOn {
		cmd = &command{plan: askToGoOn}
	}
	c, err := b.db.Chats().Get(ctx, p.Key)
	if cmd == nil || errors.Is(err, db.ErrNotFound) { // no button of ours
		return nil
	} else if err != nil {
		return err
	}
	what := cmd.plan
	if !cmd.free(b.access.Load(), p.Actor) {
		what = say(i18n.ForAdmins)
	}
	m := chat.Incoming{Key: p.Key, Kind: c.Kind, ID: db.PressID(p.ID), Actor: p.Actor, Text: p.Action.ID, Time: time.Now(), ToBot: true}
	return ordered{b: b, m: m, args: args, answers: p.Card}.obey(ctx, what)
}
