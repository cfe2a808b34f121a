package i18n

// Texts about access, the agent's workplace, and costs.
var (
	AccessRequest        = Phrase{"**%s** 想和我对话，是否允许？", "**%s** wants to talk to me. Allow?"}
	AccessRequestID      = Phrase{"用户 ID：`%s`", "User ID: `%s`"}
	AccessRequestSummary = Phrase{"有人想和我对话", "Someone wants to talk to me"}
	LetInButton          = Phrase{"允许", "Allow"}
	TurnAwayButton       = Phrase{"忽略", "Ignore"}
	HasLetIn             = Phrase{"已允许 %s 和我对话", "%s can talk to me now"}
	TurnedAway           = Phrase{"已忽略 %s", "Ignored %s"}
	AccessDecidedBefore  = Phrase{"这个请求已经处理过了。", "This request has already been handled."}
	AccessWelcome        = Phrase{"你现在可以和我对话了，直接说你想做什么。", "You can talk to me now. Just tell me what you need."}

	ForAdmins         = Phrase{"只有管理员可以这样做。", "Only an admin can do this."}
	ForAdminsCommand  = Phrase{"只有管理员可以使用 %s。", "Only admins can use %s."}
	ForAdminsInGroups = Phrase{"在群里，只有管理员可以这样做。", "In groups, only an admin can do this."}

	ArgsCd         = Phrase{"[项目]", "[project]"}
	ArgsMode       = Phrase{"[模式]", "[mode]"}
	HelpProjects   = Phrase{"列出可用的项目", "list the available projects"}
	HelpCd         = Phrase{"切换项目，/cd 默认 回到默认项目", "switch projects; /cd default goes back to the default one"}
	HelpMode       = Phrase{"查看或切换权限模式", "show or change the permission mode"}
	NotForYou      = Phrase{"你不能使用这个按钮。", "You can't use this button."}
	ButtonStale    = Phrase{"这个按钮已失效", "This button is no longer active"}
	PressFailed    = Phrase{"操作失败，请稍后再试", "That didn't work. Please try again later"}
	AccessDecided  = Phrase{"%s（用户 ID：%s）", "%s (user ID: %s)"}
	ProjectsHead   = Phrase{"**项目**", "**Projects**"}
	ProjectLine    = Phrase{"- `%s`（最高权限：%s）%s", "- `%s` (up to: %s)%s"}
	ProjectHere    = Phrase{" ← 当前", " ← current"}
	ProjectAt      = Phrase{"，在机器 %s 上", ", on %s"}
	ProjectsUsage  = Phrase{"发送 /cd 名称 切换项目。", "Send /cd NAME to switch."}
	NoSuchProject  = Phrase{"没有这个项目，发送 /projects 查看全部。", "No such project. Send /projects to see them all."}
	ProjectChanged = Phrase{"已切换到项目 %s，权限模式：%s。下一条消息会开始新的会话，历史仍然保留。",
		"Switched to %s (permission mode: %s). Your next message starts a new session; the history is kept."}
	ProjectGone = Phrase{"这个聊天的项目现在不可用。发送 /projects 查看可用的项目，再用 /cd 名称 切换。",
		"This chat's project isn't available right now. Send /projects to see the others, then /cd NAME to switch."}
	ProjectAway = Phrase{"项目 %s 在机器 %s 上，而这个聊天由另一台机器处理，用不了它。发送 /projects 查看其他项目。",
		"The project %s is on %s, but another machine handles this chat, so it can't be used here. Send /projects to see the others."}
	MachineAway = Phrase{"项目 %s 所在的机器（%s）现在离线。这里的消息和命令要等它恢复后才会处理。",
		"The project %s is on a machine that is offline right now (%s). Messages and commands here wait until it is back."}
	ChatSpent = Phrase{"这个聊天今天的额度已用完（已用 %s，上限 %s），%s 恢复（还有%s）。",
		"This chat has reached today's limit (%s of %s used). It resets at %s, in %s."}
	UserSpent = Phrase{"你今天的额度已用完（已用 %s，上限 %s），%s 恢复（还有%s）。",
		"You have reached today's limit (%s of %s used). It resets at %s, in %s."}
	SpentByOthers = Phrase{"正在进行的回答可能会用完今天剩下的额度（已用 %s，上限 %s）。请等它们完成后再问。",
		"The answers in progress may use up the rest of today's limit (%s of %s used). Please ask again when they are done."}
	TurnSpent = Phrase{"这次回答达到了单次额度 %s，已停止。点“继续”可以接着做。",
		"Stopped: this answer reached its limit of %s. Press “Continue” to resume."}
	ArgsCost       = Phrase{"[日｜周｜月]", "[day|week|month]"}
	HelpCost       = Phrase{"查看本聊天的费用", "show this chat's cost"}
	CostDay        = Phrase{"今天", "Today"}
	CostWeek       = Phrase{"最近 7 天", "Last 7 days"}
	CostMonth      = Phrase{"最近 30 天", "Last 30 days"}
	CostSum        = Phrase{"**%s**：%s · %s · %d 次回答", "**%s**: %s · %s · %d\u00a0answer(s)"}
	CostBackground = Phrase{"其中后台任务（标题、摘要、记忆等）：%s · %s",
		"including %s · %s for background tasks such as titles, summaries and memory"}
	CostTitle     = Phrase{"费用（美元）", "Cost (USD)"}
	CostLimit     = Phrase{"每天上限 %s", "daily limit %s"}
	SimulatedCost = Phrase{"%s（模拟）", "%s (simulated)"}
	CostSoFar     = Phrase{"今天累计费用（美元）", "Cost so far today (USD)"}
	CostByUser    = Phrase{"按用户（美元）", "By user (USD)"}
	CostByChat    = Phrase{"按聊天（美元）", "By chat (USD)"}
	CostByModel   = Phrase{"按模型（美元）", "By model (USD)"}
	ByTime        = Phrase{"按时间", "By time"}
	ByModel       = Phrase{"按模型", "By model"}
	CostUsage     = Phrase{"用法：/cost [日｜周｜月]", "Usage: /cost [day|week|month]"}
	LimitsHead    = Phrase{"今天的额度：", "Today's limits:"}
	ChatLimit     = Phrase{"本聊天：已用 %s，上限 %s", "this chat: %s of %s used"}
	UserLimit     = Phrase{"你：已用 %s，上限 %s", "you: %s of %s used"}
	TurnLimit     = Phrase{"每次回答：最多 %s", "each answer: up to %s"}
	HelpWhoAmI    = Phrase{"查看自己的 ID、聊天的 ID 和身份", "show your ID, this chat's ID and your role"}
	WhoAmI        = Phrase{"**%s**\n用户 ID：`%s`\n聊天 ID：`%s`\n身份：%s", "**%s**\nUser ID: `%s`\nChat ID: `%s`\nRole: %s"}
	RoleOwner     = Phrase{"所有者", "owner"}
	RoleAdmin     = Phrase{"管理员", "admin"}
	RoleMember    = Phrase{"用户", "user"}
	ArgsAdmin     = Phrase{"用户｜聊天｜预算｜费用｜重新加载", "users|chats|budgets|cost|reload"}
	HelpAdmin     = Phrase{"管理用户、聊天、预算和费用，重新加载配置",
		"manage users, chats, budgets and costs, or reload the configuration"}
	AdminUsage = Phrase{"用法：\n- /admin 用户 [允许｜撤销 ou_…]\n- /admin 聊天 [允许｜撤销 oc_…]（不写 ID 就是当前聊天）\n- /admin 预算\n- /admin 费用 [日｜周｜月]\n- /admin 重新加载",
		"Usage:\n- /admin users [allow|revoke ou_…]\n- /admin chats [allow|revoke oc_…] (without an ID: this chat)\n- /admin budgets\n- /admin cost [day|week|month]\n- /admin reload"}
	OnlyPrivate = Phrase{"这些内容不在群里显示，请在与我的私聊里查看。", "I don't show this in groups. Please ask me in a private chat."}
	Nobody      = Phrase{"无", "none"}
	Nothing     = Phrase{"无", "none"}
	UsersHead   = Phrase{"**用户**\n所有者：%s\n管理员：%s\n允许：%s\n禁止：%s\n申请与授权：%s",
		"**Users**\nOwner: %s\nAdmins: %s\nAllowed: %s\nDenied: %s\nRequests and grants: %s"}
	UsersUsage = Phrase{"发送 /admin users allow ou_… 允许，/admin users revoke ou_… 撤销。",
		"Send /admin users allow ou_… to let someone in, /admin users revoke ou_… to undo it."}
	StateAsked   = Phrase{"待处理", "pending"}
	StateAllowed = Phrase{"已允许", "allowed"}
	StateIgnored = Phrase{"已忽略", "ignored"}
	ChatsHead    = Phrase{"**最近 30 天的聊天**", "**Chats in the last 30 days**"}
	ChatsUsage   = Phrase{"发送 /admin chats allow oc_… 让群里所有人都能用，/admin chats revoke oc_… 撤销；在那个群里发送时不用写 ID。",
		"Send /admin chats allow oc_… to let everyone in a group talk to me, /admin chats revoke oc_… to undo it. In the group itself you can leave out the ID."}
	WantsUserID = Phrase{"请写上用户的 ID：ou_…，其他入口的写作 cli:1000。",
		"Please add a user's ID: ou_…, or of other doors as in cli:1000."}
	WantsChatID = Phrase{"请写上聊天的 ID：oc_…，其他入口的写作 cli:chat:main。",
		"Please add a chat's ID: oc_…, or of other doors as in cli:chat:main."}
	GrantGiven     = Phrase{"已允许 `%s`。", "`%s` can talk to me now."}
	BadID          = Phrase{"`%s` 不是 ID。%s", "`%s` isn't an ID. %s"}
	GrantElsewhere = Phrase{"已允许 `%s`。不过我好像不在这个聊天里：请检查 ID；没错的话，把我加进群里。",
		"`%s` can talk to me now. But I don't seem to be in that chat: check the ID; if it is right, add me to the chat."}
	GrantRevoked = Phrase{"已撤销 `%s` 的权限。", "`%s` can no longer talk to me."}
	NoSuchGrant  = Phrase{"没有给过这个权限。写在配置文件里的，请在那里修改。",
		"That permission was not given here. If it is in the configuration file, change it there."}
	Budgets = Phrase{"**预算**\n每次回答：%s\n每人每天：%s，%s\n每个聊天每天：%s，%s",
		"**Budgets**\nPer answer: %s\nPer user per day: %s, %s\nPer chat per day: %s, %s"}
	NoLimit     = Phrase{"不限", "no limit"}
	TodayHead   = Phrase{"**今天**", "**Today**"}
	ByUser      = Phrase{"**按用户**", "**By user**"}
	ByChat      = Phrase{"**按聊天**", "**By chat**"}
	NoReload    = Phrase{"这里不能重新加载配置。", "The configuration can't be reloaded here."}
	ReloadDone  = Phrase{"已重新加载配置。已生效：%s", "Configuration reloaded. Applied: %s"}
	ReloadLater = Phrase{"已重新加载配置。已生效：%s；重启后生效：%s",
		"Configuration reloaded. Applied: %s. After a restart: %s"}
	ReloadOthers = Phrase{"其他 %d 个鹊桥随后也会重新加载各自的配置；是否有错误，看它们的日志。",
		"Other bridges that now reload theirs: %d. Their logs say whether there are mistakes."}
	ReloadFailed = Phrase{"配置有错误，继续使用原来的配置。详情见日志。",
		"The configuration has an error, so the previous one stays in use. See the log for details."}
	ModeNow     = Phrase{"当前权限模式：%s", "Permission mode: %s"}
	NoSuchMode  = Phrase{"没有这个权限模式。可选：%s", "No such permission mode. Available: %s"}
	ModeTooHigh = Phrase{"这个项目不允许%s，最高权限是%s。", "This project doesn't allow %s. The most it allows is %s."}
	ModeChanged = Phrase{"权限模式已改为%s，从下一条消息起生效。", "Permission mode from your next message on: %s"}

	// The permission modes in words.
	ModePlan    = Phrase{"只规划", "plan only"}
	ModeDontAsk = Phrase{"只做已允许的", "pre-approved actions only"}
	ModeDefault = Phrase{"每次询问", "ask first"}
	ModeEdits   = Phrase{"直接修改文件", "edit files without asking"}
	ModeAuto    = Phrase{"自动判断", "decide automatically"}
	ModeBypass  = Phrase{"全部允许", "allow everything"}
	ModeNamed   = Phrase{"“%s”（`%s`）", "“%s” (`%s`)"}
)
