package bridge

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/budget"
	"magpie/bridge/clock"
	"magpie/bridge/delivery"
	"magpie/bridge/handoff"
	"magpie/bridge/language"
	"magpie/bridge/login"
	"magpie/bridge/upkeep"
	"magpie/bridge/workplace"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// commandResult is the result of planning a command. Its effects are applied in the transaction that stores the
// message.
type commandResult struct {
	reply   string
	card    *chat.Card  // replaces reply; nil = none
	effects []db.Effect // changes to the store, and what follows from them: see [commandSet.carryOut]
	ask     string      // the question to run instead of the command; empty = none
	files   []chat.File // files of that question
	login   login.Step  // of the agent, taken after the commit; empty = none
	later   bool        // the reply takes longer: see [invocation.late]
}

// invocation is a command as given, with its arguments and its chat.
type invocation struct {
	chat.Incoming
	args    string    // the text after the command
	answers string    // the message to reply to, if it is not the command's own; empty = the command's
	chat    db.Chat   // before the command; only the key if the chat is new
	lang    i18n.Lang // of the reply
	late    bool      // after the commit, when the plan is called again for the reply alone, which may take its time
}

// do returns a result with a reply and one effect.
func (o invocation) do(e db.Effect, p i18n.Phrase, args ...any) (commandResult, error) {
	done, err := o.say(p, args...)
	done.effects = []db.Effect{e}
	return done, err
}

// set returns a result that changes settings of the chat, and replies.
func (o invocation) set(change func(*db.Settings), p i18n.Phrase, args ...any) (commandResult, error) {
	to := o.chat.Settings
	change(&to)
	return o.do(db.ChangeSettings{From: o.chat.Settings, To: to}, p, args...)
}

// say returns a result that only replies.
func (o invocation) say(p i18n.Phrase, args ...any) (commandResult, error) {
	if len(args) == 0 {
		return commandResult{reply: p.In(o.lang)}, nil
	}
	return commandResult{reply: p.Sprintf(o.lang, args...)}, nil
}

// plan works out the result of a command before the message is stored, so it must be quick and change nothing.
type plan func(ctx context.Context, o invocation) (commandResult, error)

// askToContinue is the plan of the button that tells the agent to continue.
func askToContinue(_ context.Context, o invocation) (commandResult, error) {
	return commandResult{ask: i18n.ContinueWord.In(o.lang)}, nil
}

// command is something that a user can order with a leading slash.
type command struct {
	name     string
	aliases  []string    // the first one is the label of a Chinese button
	args     i18n.Phrase // the arguments it takes; empty = none
	help     i18n.Phrase
	group    i18n.Phrase // its group in the list of commands
	admin    bool        // only the owner and admins may use it
	machine  bool        // and not those of further apps: it is about the machine
	frequent bool        // has a button in the list of commands
	asks     bool        // the text after it is a question
	plan     func(*commandSet, context.Context, invocation) (commandResult, error)
}

// commandSet is the commands, which are its methods, with what they need. It carries them out once their messages are
// stored.
type commandSet struct {
	cfg       *Config
	places    workplace.Set
	db        *db.DB
	log       zerolog.Logger
	context   *contextmgr.Manager
	zone      *time.Location
	access    *access.Authorizer
	languages language.Chooser
	pool      *claude.Pool
	history   historyWriter
	schedules schedules.Store
	files     *attachment.Store
	turns     *turnQueue
	busy      *busyChats
	jobs      *workqueue.Queue // what nobody waits for
	asks      *approval.Requests
	cutOff    *cutOffTurns
	outbox    *delivery.Outbox
	reactions *delivery.Reactions
	upkeep    *upkeep.Keeper
	ahead     *aheadStarts
	budget    *budget.Budget
	limits    *usageLimits
	handoffs  *handoff.Handoffs
	servers   *serverStates
	logins    *login.Logins
	clock     *clock.Clock
	exporting sync.Map // the chats with an export in progress, by chat.Key
}

// commands are all commands, in the order in which help lists them. It is a function, not a variable: help lists it,
// and Go rejects the cycle.
func commands() []command { return append(conversationTable(), settingTable()...) }

// conversationTable is the commands about what is said in a chat and what is kept of it.
func conversationTable() []command {
	return []command{
		{name: "help", aliases: []string{"帮助"}, args: i18n.ArgsHelp, help: i18n.HelpHelp,
			group: i18n.GroupAbout, plan: (*commandSet).help},
		{name: "new", aliases: []string{"新对话", "新会话"}, args: i18n.ArgsNew, help: i18n.HelpNew, frequent: true, asks: true,
			group: i18n.GroupConversation, plan: (*commandSet).startNew},
		{name: "reset", aliases: []string{"清空", "重置"}, args: i18n.ArgsNew, help: i18n.HelpReset, asks: true,
			group: i18n.GroupConversation, plan: (*commandSet).reset},
		{name: "compact", aliases: []string{"压缩"}, help: i18n.HelpCompact,
			group: i18n.GroupConversation, plan: (*commandSet).compactNow},
		{name: "stop", aliases: []string{"停止"}, help: i18n.HelpStop, frequent: true,
			group: i18n.GroupConversation, plan: (*commandSet).stop},
		{name: "retry", aliases: []string{"重试", "重新回答"}, help: i18n.HelpRetry,
			group: i18n.GroupConversation, plan: (*commandSet).retry},
		{name: "status", aliases: []string{"状态"}, help: i18n.HelpStatus, frequent: true,
			group: i18n.GroupAbout, plan: (*commandSet).status},
		{name: "title", aliases: []string{"标题"}, args: i18n.ArgsTitle, help: i18n.HelpTitle,
			group: i18n.GroupConversation, plan: (*commandSet).setTitle},
		{name: "search", aliases: []string{"搜索", "查找"}, args: i18n.ArgsSearch, help: i18n.HelpSearch,
			group: i18n.GroupConversation, plan: (*commandSet).search},
		{name: "resume", aliases: []string{"恢复", "会话"}, args: i18n.ArgsResume, help: i18n.HelpResume,
			group: i18n.GroupConversation, plan: (*commandSet).resume},
		{name: "history", aliases: []string{"历史"}, args: i18n.ArgsHistory, help: i18n.HelpHistory,
			group: i18n.GroupConversation, plan: (*commandSet).showHistory},
		{name: "export", aliases: []string{"导出"}, help: i18n.HelpExport,
			group: i18n.GroupConversation, plan: (*commandSet).exportChat},
		{name: "context", aliases: []string{"上下文"}, args: i18n.ArgsContext, help: i18n.HelpContext,
			group: i18n.GroupMemory, plan: (*commandSet).showContext},
		{name: "remember", aliases: []string{"记住"}, args: i18n.ArgsRemember, help: i18n.HelpRemember,
			group: i18n.GroupMemory, plan: (*commandSet).rememberThis},
		{name: "memory", aliases: []string{"记忆"}, args: i18n.ArgsMemory, help: i18n.HelpMemory,
			group: i18n.GroupMemory, plan: (*commandSet).manageMemories},
		{name: "every", aliases: []string{"定时"}, args: i18n.ArgsEvery, help: i18n.HelpEvery,
			group: i18n.GroupSchedules, plan: (*commandSet).every},
		{name: "at", aliases: []string{"到点"}, args: i18n.ArgsAt, help: i18n.HelpAt,
			group: i18n.GroupSchedules, plan: (*commandSet).at},
		{name: "trigger", aliases: []string{"触发"}, args: i18n.ArgsTrigger, help: i18n.HelpTrigger,
			group: i18n.GroupSchedules, plan: (*commandSet).trigger},
		{name: "schedule", aliases: []string{"计划"}, args: i18n.ArgsSchedule, help: i18n.HelpSchedule,
			group: i18n.GroupSchedules, plan: (*commandSet).schedule},
	}
}

// settingTable is the commands about how the agent works, what it may do, and what it costs.
func settingTable() []command {
	return []command{
		{name: "model", aliases: []string{"模型"}, args: i18n.ArgsModel, help: i18n.HelpModel, frequent: true,
			group: i18n.GroupAgent, plan: (*commandSet).chooseModel},
		{name: "effort", aliases: []string{"思考"}, args: i18n.ArgsEffort, help: i18n.HelpEffort,
			group: i18n.GroupAgent, plan: (*commandSet).chooseEffort},
		{name: "lang", aliases: []string{"语言"}, args: i18n.ArgsLang, help: i18n.HelpLang,
			group: i18n.GroupAgent, plan: (*commandSet).chooseLang},
		{name: "doctor", aliases: []string{"诊断"}, help: i18n.HelpDoctor, admin: true, machine: true,
			group: i18n.GroupAdmin, plan: (*commandSet).checkUp},
		{name: "login", aliases: []string{"登录"}, args: i18n.ArgsLogin, help: i18n.HelpLogin, admin: true, machine: true,
			group: i18n.GroupAdmin, plan: (*commandSet).logIn},
		{name: "handoff", aliases: []string{"接力"}, args: i18n.ArgsHandoff, help: i18n.HelpHandoff, admin: true,
			group: i18n.GroupAdmin, plan: (*commandSet).handOff},
		{name: "allow", aliases: []string{"授权"}, args: i18n.ArgsAllow, help: i18n.HelpAllow,
			group: i18n.GroupPermissions, plan: (*commandSet).allow},
		{name: "approvals", aliases: []string{"审批"}, args: i18n.ArgsApprovals, help: i18n.HelpApprovals,
			group: i18n.GroupPermissions, plan: (*commandSet).listDecisions},
		{name: "mention", aliases: []string{"提及"}, args: i18n.ArgsMention, help: i18n.HelpMention,
			group: i18n.GroupAgent, plan: (*commandSet).mention},
		{name: "notify", aliases: []string{"通知", "提醒"}, args: i18n.ArgsNotify, help: i18n.HelpNotify,
			group: i18n.GroupAgent, plan: (*commandSet).notify},
		{name: "digest", aliases: []string{"日报", "汇总"}, args: i18n.ArgsDigest, help: i18n.HelpDigest, admin: true,
			group: i18n.GroupAdmin, plan: (*commandSet).digest},
		{name: "projects", aliases: []string{"项目"}, help: i18n.HelpProjects, frequent: true,
			group: i18n.GroupAgent, plan: (*commandSet).listProjects},
		{name: "cd", aliases: []string{"切换"}, args: i18n.ArgsCd, help: i18n.HelpCd,
			group: i18n.GroupAgent, plan: (*commandSet).changeProject},
		{name: "cost", aliases: []string{"费用", "花费"}, args: i18n.ArgsCost, help: i18n.HelpCost, frequent: true,
			group: i18n.GroupAbout, plan: (*commandSet).showCost},
		{name: "whoami", aliases: []string{"我是谁"}, help: i18n.HelpWhoAmI,
			group: i18n.GroupAbout, plan: (*commandSet).whoAmI},
		{name: "admin", aliases: []string{"管理"}, args: i18n.ArgsAdmin, help: i18n.HelpAdmin, admin: true,
			group: i18n.GroupAdmin, plan: (*commandSet).administer},
		{name: "mode", aliases: []string{"模式"}, args: i18n.ArgsMode, help: i18n.HelpMode,
			group: i18n.GroupAgent, plan: (*commandSet).changeMode},
	}
}

// hasName reports whether word, in lower case, is one of the command's names.
func (c command) hasName(word string) bool { return c.name == word || slices.Contains(c.aliases, word) }

// allowedFor reports whether who may use the command.
func (c command) allowedFor(a access.Config, who chat.Actor) bool {
	return !c.admin || a.IsAdmin(who) && !(c.machine && a.Further)
}

var (
	commandName = regexp.MustCompile(`^[a-zA-Z]+$`)
	commandWord = regexp.MustCompile(`^\p{Han}{1,4}$`)
)

// parseCommand finds the command in a text, and its arguments. For an unknown command it returns only the name.
// "/etc/hosts ..." is not a command, nor is "/" before a Chinese word that resembles no command.
func parseCommand(text string) (cmd *command, name, args string) {
	_, size := utf8.DecodeRuneInString(text)
	if slash := text[:size]; slash != "/" && slash != "／" || strings.IndexFunc(text[size:], isSpace) == 0 {
		return nil, "", ""
	}
	word, args := splitWord(text[size:])
	for _, c := range commands() {
		if c.hasName(strings.ToLower(word)) {
			return &c, "/" + c.name, args
		}
	}
	// A single Chinese word after a slash is a command only if it is nearly one of ours.
	_, slip := nearest(word, commands())
	if !commandName.MatchString(word) && !(slip && args == "" && commandWord.MatchString(word)) {
		return nil, "", ""
	}
	return nil, "/" + word, args
}

// questionIn is the part of a text that the agent answers: the text after a command like /new, otherwise all of it.
func questionIn(text string) string {
	if cmd, _, args := parseCommand(text); cmd != nil && cmd.asks {
		return args
	}
	return text
}

// say is the plan that only replies.
func say(p i18n.Phrase, args ...any) plan {
	return func(_ context.Context, o invocation) (commandResult, error) { return o.say(p, args...) }
}

// tooLatePlan is the plan for a command that arrived too late to be carried out.
func tooLatePlan(name string, age time.Duration) plan {
	return func(_ context.Context, o invocation) (commandResult, error) {
		return o.say(i18n.LateCommand, name, lateBy(age, o.lang))
	}
}
