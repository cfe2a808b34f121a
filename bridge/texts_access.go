package bridge

// accessTexts are what users can be told about who may talk to the bot, where the agent works, and what it may cost.
var accessTexts = struct {
	Request, RequestSummary, LetIn, TurnAway, HasLetIn, TurnedAway phrase
	AlreadyDecided, AdminsOnly, Welcome                            phrase

	ArgsCd, ArgsMode, HelpProjects, HelpCd, HelpMode      phrase
	ProjectsHead, ProjectLine, ProjectHere, ProjectsUsage phrase
	NoSuchProject, ProjectChanged, ProjectGone            phrase
	ModeNow, NoSuchMode, ModeTooHigh, ModeChanged         phrase
}{
	Request:        phrase{"**%s**（%s）想和我对话。允许吗？", "**%s** (%s) wants to talk to me. Is that all right?"},
	RequestSummary: phrase{"有人想和我对话", "Somebody wants to talk to me"},
	LetIn:          phrase{"允许", "Allow"},
	TurnAway:       phrase{"忽略", "Ignore"},
	HasLetIn:       phrase{"已允许 %s 使用", "%s is let in"},
	TurnedAway:     phrase{"已忽略 %s", "%s is ignored"},
	AlreadyDecided: phrase{"这个请求已经处理过了。", "This request has been decided already."},
	AdminsOnly:     phrase{"这件事由管理员决定。", "This is for an admin to decide."},
	Welcome:        phrase{"你现在可以和我对话了，直接说你想做什么。", "You can talk to me now. Just say what you need."},

	ArgsCd:         phrase{"[项目]", "[project]"},
	ArgsMode:       phrase{"[模式]", "[mode]"},
	HelpProjects:   phrase{"列出可以使用的项目", "list the projects that can be used"},
	HelpCd:         phrase{"切换项目；/cd 默认 回到默认项目", "change to another project; /cd default goes back"},
	HelpMode:       phrase{"查看或切换权限模式", "show or change the permission mode"},
	ProjectsHead:   phrase{"**项目**", "**Projects**"},
	ProjectLine:    phrase{"- `%s`（权限最高到 %s）%s", "- `%s` (permissions up to %s)%s"},
	ProjectHere:    phrase{" ← 当前", " ← here"},
	ProjectsUsage:  phrase{"用 /cd 名称 切换。", "Change with /cd NAME."},
	NoSuchProject:  phrase{"没有这个项目。/projects 查看全部。", "There is no such project. /projects lists them all."},
	ProjectChanged: phrase{"已切换到项目 %s，权限模式 %s。下一条消息开始新的会话，历史仍然保留。", "The project is %s now, with permission mode %s. The next message begins a new session; the history stays."},
	ProjectGone:    phrase{"这个聊天所在的项目现在不能使用。/projects 查看可用的项目，/cd 切换。", "This chat's project cannot be used now. /projects lists those that can, /cd changes to one."},
	ModeNow:        phrase{"当前权限模式：%s\n可以选择：%s", "The permission mode is %s.\nYou can choose: %s"},
	NoSuchMode:     phrase{"没有这个权限模式。可以选择：%s", "There is no such permission mode. You can choose: %s"},
	ModeTooHigh:    phrase{"这个项目不允许 %s，最高到 %s。", "This project does not allow %s, only up to %s."},
	ModeChanged:    phrase{"权限模式已改为 %s，从下一条消息起生效。", "The permission mode is %s from the next message on."},
}
