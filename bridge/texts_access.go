package bridge

// accessTexts are what users can be told about who may talk to the bot, where the agent works, and what it may cost.
var accessTexts = struct {
	Request, RequestSummary, LetIn, TurnAway, HasLetIn, TurnedAway phrase
	AlreadyDecided, AdminsOnly, Welcome, NotForYou, PressFailed    phrase
	Decided                                                        phrase

	ArgsCd, ArgsMode, HelpProjects, HelpCd, HelpMode                      phrase
	ProjectsHead, ProjectLine, ProjectHere, ProjectsUsage                 phrase
	NoSuchProject, ProjectChanged, ProjectGone                            phrase
	ChatSpent, UserSpent, TurnSpent, SpentByOthers                        phrase
	ArgsCost, HelpCost, CostDay, CostWeek, CostMonth, CostSum, CostUsage  phrase
	CostApart                                                             phrase
	LimitsHead, ChatLimit, UserLimit, TurnLimit                           phrase
	HelpWhoAmI, WhoAmI, RoleOwner, RoleAdmin, RoleMember                  phrase
	ArgsAdmin, HelpAdmin, AdminUsage, OnlyPrivate, Nobody, Nothing        phrase
	UsersHead, UsersUsage, StateAsked, StateAllowed, StateIgnored         phrase
	ChatsHead, ChatsUsage, WantsID, GrantGiven, GrantRevoked, NoSuchGrant phrase
	Budgets, NoLimit, TodayHead, ByUser, ByChat                           phrase
	NoReload, ReloadDone, ReloadLater, ReloadFailed                       phrase
	ModeNow, NoSuchMode, ModeTooHigh, ModeChanged                         phrase
}{
	Request:        phrase{"**%s**（%s）想和我对话。允许吗？", "**%s** (%s) wants to talk to me. Allow it?"},
	RequestSummary: phrase{"有人想和我对话", "Somebody wants to talk to me"},
	LetIn:          phrase{"允许", "Allow"},
	TurnAway:       phrase{"忽略", "Ignore"},
	HasLetIn:       phrase{"已允许 %s 使用", "%s can talk to me now"},
	TurnedAway:     phrase{"已忽略 %s", "%s is ignored"},
	AlreadyDecided: phrase{"这个请求已经处理过了。", "This request has been decided already."},
	AdminsOnly:     phrase{"这件事由管理员决定。", "This is for an admin to decide."},
	Welcome:        phrase{"你现在可以和我对话了，直接说你想做什么。", "You can talk to me now. Just say what you need."},

	ArgsCd:         phrase{"[项目]", "[project]"},
	ArgsMode:       phrase{"[模式]", "[mode]"},
	HelpProjects:   phrase{"列出可以使用的项目", "list the projects that can be used"},
	HelpCd:         phrase{"切换项目；/cd 默认 回到默认项目", "change to another project; /cd default goes back"},
	HelpMode:       phrase{"查看或切换权限模式", "show or change the permission mode"},
	NotForYou:      phrase{"你不能使用这个按钮。", "This button is not for you."},
	PressFailed:    phrase{"操作没有成功，请稍后再试", "That did not work, please try again later"},
	Decided:        phrase{"%s（编号 %s）", "%s (id %s)"},
	ProjectsHead:   phrase{"**项目**", "**Projects**"},
	ProjectLine:    phrase{"- `%s`（权限最高到 %s）%s", "- `%s` (permissions up to %s)%s"},
	ProjectHere:    phrase{" ← 当前", " ← here"},
	ProjectsUsage:  phrase{"用 /cd 名称 切换。", "Change with /cd NAME."},
	NoSuchProject:  phrase{"没有这个项目。/projects 查看全部。", "There is no such project. /projects lists them all."},
	ProjectChanged: phrase{"已切换到项目 %s，权限模式 %s。下一条消息开始新的会话，历史仍然保留。", "The project is %s now, with permission mode %s. The next message begins a new session; the history stays."},
	ProjectGone:    phrase{"这个聊天所在的项目现在不能使用。/projects 查看可用的项目，/cd 切换。", "This chat's project cannot be used now. /projects lists those that can, /cd changes to one."},
	ChatSpent:      phrase{"这个聊天今天的额度用完了：已用 %s，每日上限 %s。%s 恢复（还有%s）。", "This chat has used up its limit for today: %s of %s. It starts anew at %s, in %s."},
	UserSpent:      phrase{"你今天的额度用完了：已用 %s，每日上限 %s。%s 恢复（还有%s）。", "You have used up your limit for today: %s of %s. It starts anew at %s, in %s."},
	SpentByOthers:  phrase{"正在进行的回答可能会用完今天剩下的额度（已用 %s，每日上限 %s）。等它们结束后再问一次。", "The answers that are being given may use up what is left for today (%s of %s so far). Please ask again when they are done."},
	TurnSpent:      phrase{"这次回答用完了单次额度 %s，已停在这里。", "This answer has used up what one may cost, %s, and ends here."},
	ArgsCost:       phrase{"[日｜周｜月]", "[day|week|month]"},
	HelpCost:       phrase{"查看这个聊天的费用", "show what this chat has cost"},
	CostDay:        phrase{"今天", "Today"},
	CostWeek:       phrase{"最近 7 天", "The last 7 days"},
	CostMonth:      phrase{"最近 30 天", "The last 30 days"},
	CostSum:        phrase{"**%s**：%s · %s · %d 次回答", "**%s**: %s · %s · answers: %d"},
	CostApart:      phrase{"其中标题、摘要、记忆等：%s · %s", "of which titles, summaries, memory and the like: %s · %s"},
	CostUsage:      phrase{"用法：/cost、/cost week、/cost month", "Usage: /cost, /cost week, /cost month"},
	LimitsHead:     phrase{"今天的额度：", "Limits for today:"},
	ChatLimit:      phrase{"这个聊天：已用 %s，上限 %s", "this chat: %s of %s"},
	UserLimit:      phrase{"你：已用 %s，上限 %s", "you: %s of %s"},
	TurnLimit:      phrase{"每次回答最多 %s", "each answer: up to %s"},
	HelpWhoAmI:     phrase{"查看自己的编号、聊天的编号和权限", "show your id, the chat's, and what you may do"},
	WhoAmI:         phrase{"**%s**\n用户：`%s`\n聊天：`%s`\n身份：%s", "**%s**\nUser: `%s`\nChat: `%s`\nRole: %s"},
	RoleOwner:      phrase{"所有者", "owner"},
	RoleAdmin:      phrase{"管理员", "admin"},
	RoleMember:     phrase{"用户", "user"},
	ArgsAdmin:      phrase{"用户｜聊天｜预算｜费用｜重新加载", "users|chats|budgets|cost|reload"},
	HelpAdmin:      phrase{"管理：用户、聊天、预算、费用、重新加载配置", "manage users, chats, budgets and cost, and reload the configuration"},
	AdminUsage: phrase{"用法：\n- /admin users [allow｜revoke ou_…]\n- /admin chats [allow｜revoke oc_…]（不写编号就是当前聊天）\n- /admin budgets\n- /admin cost [day｜week｜month]\n- /admin reload",
		"Usage:\n- /admin users [allow|revoke ou_…]\n- /admin chats [allow|revoke oc_…] (this chat, when no id follows)\n- /admin budgets\n- /admin cost [day|week|month]\n- /admin reload"},
	OnlyPrivate:  phrase{"这些内容只在与我的私聊里显示。", "This is only shown in a private chat with me."},
	Nobody:       phrase{"无", "nobody"},
	Nothing:      phrase{"无", "nothing"},
	UsersHead:    phrase{"**用户**\n所有者：%s\n管理员：%s\n允许：%s\n禁止：%s\n在聊天里决定的：%s", "**Users**\nOwner: %s\nAdmins: %s\nAllowed: %s\nDenied: %s\nDecided in the chat: %s"},
	UsersUsage:   phrase{"用 /admin users allow ou_… 允许，/admin users revoke ou_… 撤销。", "Let somebody in with /admin users allow ou_…, take it back with /admin users revoke ou_…."},
	StateAsked:   phrase{"等待决定", "waits"},
	StateAllowed: phrase{"已允许", "allowed"},
	StateIgnored: phrase{"已忽略", "ignored"},
	ChatsHead:    phrase{"**最近 30 天的聊天**", "**Chats of the last 30 days**"},
	ChatsUsage:   phrase{"用 /admin chats allow 让一个群里的所有人都能用，/admin chats revoke 撤销。", "Let everybody in a group talk to me with /admin chats allow, take it back with /admin chats revoke."},
	WantsID:      phrase{"请写上编号，以 %s 开头。", "An id has to follow that begins with %s."},
	GrantGiven:   phrase{"已允许 `%s`。", "`%s` can talk to me now."},
	GrantRevoked: phrase{"已撤销 `%s`。", "`%s` can no longer talk to me."},
	NoSuchGrant:  phrase{"没有这样的记录。配置文件里写的要在那里改。", "Nothing of that kind was decided here. What the configuration says is changed there."},
	Budgets:      phrase{"**预算**\n每次回答：%s\n每人每天：%s，%s\n每个聊天每天：%s，%s", "**Budgets**\nEach answer: %s\nEach user and day: %s, %s\nEach chat and day: %s, %s"},
	NoLimit:      phrase{"不限", "no limit"},
	TodayHead:    phrase{"**今天**", "**Today**"},
	ByUser:       phrase{"**按用户**", "**By user**"},
	ByChat:       phrase{"**按聊天**", "**By chat**"},
	NoReload:     phrase{"这里不能重新加载配置。", "The configuration cannot be reloaded here."},
	ReloadDone:   phrase{"已重新加载配置。生效：%s", "The configuration was reloaded. In force: %s"},
	ReloadLater:  phrase{"已重新加载配置。生效：%s；重启后才生效：%s", "The configuration was reloaded. In force: %s; only after a restart: %s"},
	ReloadFailed: phrase{"配置有错误，仍然使用原来的。日志里写着错在哪里。", "The configuration has a mistake, and the old one stays in force. The log says what is wrong."},
	ModeNow:      phrase{"当前权限模式：%s\n可以选择：%s", "The permission mode is %s.\nYou can choose: %s"},
	NoSuchMode:   phrase{"没有这个权限模式。可以选择：%s", "There is no such permission mode. You can choose: %s"},
	ModeTooHigh:  phrase{"这个项目不允许 %s，最高到 %s。", "This project does not allow %s, only up to %s."},
	ModeChanged:  phrase{"权限模式已改为 %s，从下一条消息起生效。", "The permission mode is %s from the next message on."},
}
