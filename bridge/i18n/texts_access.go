package i18n

// What is said about who may talk to the bot, where the agent works, and what it may cost.
var (
	AccessRequest        = Phrase{"**%s**（%s）想和我对话。允许吗？", "**%s** (%s) wants to talk to me. Allow it?"}
	AccessRequestSummary = Phrase{"有人想和我对话", "Somebody wants to talk to me"}
	LetInButton          = Phrase{"允许", "Allow"}
	TurnAwayButton       = Phrase{"忽略", "Ignore"}
	HasLetIn             = Phrase{"已允许 %s 使用", "%s can talk to me now"}
	TurnedAway           = Phrase{"已忽略 %s", "%s is ignored"}
	AccessDecidedBefore  = Phrase{"这个请求已经处理过了。", "This request has been decided already."}
	AccessWelcome        = Phrase{"你现在可以和我对话了，直接说你想做什么。", "You can talk to me now. Just say what you need."}

	ArgsCd         = Phrase{"[项目]", "[project]"}
	ArgsMode       = Phrase{"[模式]", "[mode]"}
	HelpProjects   = Phrase{"列出可以使用的项目", "list the projects that can be used"}
	HelpCd         = Phrase{"切换项目；/cd 默认 回到默认项目", "change to another project; /cd default goes back"}
	HelpMode       = Phrase{"查看或切换权限模式", "show or change the permission mode"}
	NotForYou      = Phrase{"你不能使用这个按钮。", "This button is not for you."}
	PressFailed    = Phrase{"操作没有成功，请稍后再试", "That did not work, please try again later"}
	AccessDecided  = Phrase{"%s（编号 %s）", "%s (id %s)"}
	ProjectsHead   = Phrase{"**项目**", "**Projects**"}
	ProjectLine    = Phrase{"- `%s`（权限最高到 %s）%s", "- `%s` (permissions up to %s)%s"}
	ProjectHere    = Phrase{" ← 当前", " ← here"}
	ProjectsUsage  = Phrase{"用 /cd 名称 切换。", "Change with /cd NAME."}
	NoSuchProject  = Phrase{"没有这个项目。/projects 查看全部。", "There is no such project. /projects lists them all."}
	ProjectChanged = Phrase{"已切换到项目 %s，权限模式 %s。下一条消息开始新的会话，历史仍然保留。",
		"The project is %s now, with permission mode %s. The next message begins a new session; the history stays."}
	ProjectGone = Phrase{"这个聊天所在的项目现在不能使用。/projects 查看可用的项目，/cd 切换。",
		"This chat's project cannot be used now. /projects lists those that can, /cd changes to one."}
	ChatSpent = Phrase{"这个聊天今天的额度用完了：已用 %s，每日上限 %s。%s 恢复（还有%s）。",
		"This chat has used up its limit for today: %s of %s. It starts anew at %s, in %s."}
	UserSpent = Phrase{"你今天的额度用完了：已用 %s，每日上限 %s。%s 恢复（还有%s）。",
		"You have used up your limit for today: %s of %s. It starts anew at %s, in %s."}
	SpentByOthers = Phrase{"正在进行的回答可能会用完今天剩下的额度（已用 %s，每日上限 %s）。等它们结束后再问一次。",
		"The answers that are being given may use up what is left for today (%s of %s so far). Please ask again when they are done."}
	TurnSpent  = Phrase{"这次回答用完了单次额度 %s，已停在这里。", "This answer has used up what one may cost, %s, and ends here."}
	ArgsCost   = Phrase{"[日｜周｜月]", "[day|week|month]"}
	HelpCost   = Phrase{"查看这个聊天的费用", "show what this chat has cost"}
	CostDay    = Phrase{"今天", "Today"}
	CostWeek   = Phrase{"最近 7 天", "The last 7 days"}
	CostMonth  = Phrase{"最近 30 天", "The last 30 days"}
	CostSum    = Phrase{"**%s**：%s · %s · %d 次回答", "**%s**: %s · %s · answers: %d"}
	CostApart  = Phrase{"其中标题、摘要、记忆等：%s · %s", "of which titles, summaries, memory and the like: %s · %s"}
	CostUsage  = Phrase{"用法：/cost、/cost week、/cost month", "Usage: /cost, /cost week, /cost month"}
	LimitsHead = Phrase{"今天的额度：", "Limits for today:"}
	ChatLimit  = Phrase{"这个聊天：已用 %s，上限 %s", "this chat: %s of %s"}
	UserLimit  = Phrase{"你：已用 %s，上限 %s", "you: %s of %s"}
	TurnLimit  = Phrase{"每次回答最多 %s", "each answer: up to %s"}
	HelpWhoAmI = Phrase{"查看自己的编号、聊天的编号和权限", "show your id, the chat's, and what you may do"}
	WhoAmI     = Phrase{"**%s**\n用户：`%s`\n聊天：`%s`\n身份：%s", "**%s**\nUser: `%s`\nChat: `%s`\nRole: %s"}
	RoleOwner  = Phrase{"所有者", "owner"}
	RoleAdmin  = Phrase{"管理员", "admin"}
	RoleMember = Phrase{"用户", "user"}
	ArgsAdmin  = Phrase{"用户｜聊天｜预算｜费用｜重新加载", "users|chats|budgets|cost|reload"}
	HelpAdmin  = Phrase{"管理：用户、聊天、预算、费用、重新加载配置",
		"manage users, chats, budgets and cost, and reload the configuration"}
	AdminUsage = Phrase{"用法：\n- /admin users [allow｜revoke ou_…]\n- /admin chats [allow｜revoke oc_…]（不写编号就是当前聊天）\n- /admin budgets\n- /admin cost [day｜week｜month]\n- /admin reload",
		"Usage:\n- /admin users [allow|revoke ou_…]\n- /admin chats [allow|revoke oc_…] (this chat, when no id follows)\n- /admin budgets\n- /admin cost [day|week|month]\n- /admin reload"}
	OnlyPrivate = Phrase{"这些内容只在与我的私聊里显示。", "This is only shown in a private chat with me."}
	Nobody      = Phrase{"无", "nobody"}
	Nothing     = Phrase{"无", "nothing"}
	UsersHead   = Phrase{"**用户**\n所有者：%s\n管理员：%s\n允许：%s\n禁止：%s\n在聊天里决定的：%s",
		"**Users**\nOwner: %s\nAdmins: %s\nAllowed: %s\nDenied: %s\nDecided in the chat: %s"}
	UsersUsage = Phrase{"用 /admin users allow ou_… 允许，/admin users revoke ou_… 撤销。",
		"Let somebody in with /admin users allow ou_…, take it back with /admin users revoke ou_…."}
	StateAsked   = Phrase{"等待决定", "waits"}
	StateAllowed = Phrase{"已允许", "allowed"}
	StateIgnored = Phrase{"已忽略", "ignored"}
	ChatsHead    = Phrase{"**最近 30 天的聊天**", "**Chats of the last 30 days**"}
	ChatsUsage   = Phrase{"用 /admin chats allow 让一个群里的所有人都能用，/admin chats revoke 撤销。",
		"Let everybody in a group talk to me with /admin chats allow, take it back with /admin chats revoke."}
	WantsID      = Phrase{"请写上编号，以 %s 开头。", "An id has to follow that begins with %s."}
	GrantGiven   = Phrase{"已允许 `%s`。", "`%s` can talk to me now."}
	GrantRevoked = Phrase{"已撤销 `%s`。", "`%s` can no longer talk to me."}
	NoSuchGrant  = Phrase{"没有这样的记录。配置文件里写的要在那里改。",
		"Nothing of that kind was decided here. What the configuration says is changed there."}
	Budgets = Phrase{"**预算**\n每次回答：%s\n每人每天：%s，%s\n每个聊天每天：%s，%s",
		"**Budgets**\nEach answer: %s\nEach user and day: %s, %s\nEach chat and day: %s, %s"}
	NoLimit     = Phrase{"不限", "no limit"}
	TodayHead   = Phrase{"**今天**", "**Today**"}
	ByUser      = Phrase{"**按用户**", "**By user**"}
	ByChat      = Phrase{"**按聊天**", "**By chat**"}
	NoReload    = Phrase{"这里不能重新加载配置。", "The configuration cannot be reloaded here."}
	ReloadDone  = Phrase{"已重新加载配置。生效：%s", "The configuration was reloaded. In force: %s"}
	ReloadLater = Phrase{"已重新加载配置。生效：%s；重启后才生效：%s",
		"The configuration was reloaded. In force: %s; only after a restart: %s"}
	ReloadFailed = Phrase{"配置有错误，仍然使用原来的。日志里写着错在哪里。",
		"The configuration has a mistake, and the old one stays in force. The log says what is wrong."}
	ModeNow     = Phrase{"当前权限模式：%s\n可以选择：%s", "The permission mode is %s.\nYou can choose: %s"}
	NoSuchMode  = Phrase{"没有这个权限模式。可以选择：%s", "There is no such permission mode. You can choose: %s"}
	ModeTooHigh = Phrase{"这个项目不允许 %s，最高到 %s。", "This project does not allow %s, only up to %s."}
	ModeChanged = Phrase{"权限模式已改为 %s，从下一条消息起生效。", "The permission mode is %s from the next message on."}
)
