package i18n

// Texts of and about commands.
var (
	NewBegun       = Phrase{"已开始新对话。", "New conversation started."}
	ResetDone      = Phrase{"已清空对话历史，下次对话将从零开始。", "Conversation cleared. Your next message starts from scratch."}
	NothingToStop  = Phrase{"现在没有正在进行的回答。", "Nothing is running right now."}
	StopAsked      = Phrase{"正在停止…", "Stopping…"}
	StopOver       = Phrase{"这次回答已经结束了。", "This answer has already ended."}
	UnknownCommand = Phrase{"没有 %s 这个命令，发送 /help 查看全部命令。", "There is no command %s. Send /help to see them all."}
	AskMe          = Phrase{"我在。直接说你想做什么，或发送 /help 查看命令。",
		"I'm here. Tell me what you need, or send /help for the commands."}
	Unreadable = Phrase{"暂时看不懂这种消息，请用文字告诉我。",
		"I can't read this kind of message yet. Please send it as text."}
	NotAllowed = Phrase{"这个机器人还没有所有者。如果日志里有一次性口令（MAGPIE-…），把它私聊发给我，机器人就归你所有；也可以把你的 ID %[1]s 写进配置文件的 %[2]s owner，再重新加载。",
		"This bot has no owner yet. If the log shows a one-time code (MAGPIE-…), send it to me in a private chat to become the owner. Or set %[2]s owner to your ID, %[1]s, in the configuration file and reload it."}
	HelpHelp = Phrase{"查看命令", "list the commands"}
	HelpHead = Phrase{"**直接发消息就可以和助手对话。** 群里请 @我。\n\n命令：",
		"**Just send a message to talk to the agent.** In groups, mention me.\n\nCommands:"}
	HelpNew = Phrase{"开始新对话（历史仍保留），后面可以直接写第一个问题",
		"start a new conversation (the history is kept); you can add the first question"}
	HelpReset = Phrase{"清空对话，从零开始，后面可以直接写第一个问题",
		"clear the conversation and start from scratch; you can add the first question"}
	HelpStop   = Phrase{"停止正在进行的回答", "stop the current answer"}
	HelpStatus = Phrase{"查看当前状态", "show the current status"}
	Status     = Phrase{"**状态**：%s\n**项目**：%s\n**会话**：%s",
		"**Status**: %s\n**Project**: %s\n**Session**: %s"}
	StatusRunning   = Phrase{"正在回答", "answering"}
	StatusAsking    = Phrase{"等待确认，请看聊天里的卡片", "waiting for a decision, see the card in this chat"}
	StatusWorking   = Phrase{"后台还在工作", "working in the background"}
	StatusIdle      = Phrase{"空闲", "idle"}
	StatusSession   = Phrase{"可续接", "can be resumed"}
	StatusLive      = Phrase{"进行中", "active"}
	StatusNoSession = Phrase{"尚未开始", "none yet"}

	ArgsHelp     = Phrase{"[命令｜全部]", "[command|all]"}
	ArgsNew      = Phrase{"[第一个问题]", "[first question]"}
	ArgsTitle    = Phrase{"[新标题]", "[new title]"}
	ArgsSearch   = Phrase{"词语", "words"}
	ArgsHandoff  = Phrase{"[收回]", "[back]"}
	ArgsResume   = Phrase{"[编号]", "[number]"}
	ArgsHistory  = Phrase{"[条数]", "[count]"}
	ArgsContext  = Phrase{"[问题]", "[question]"}
	ArgsRemember = Phrase{"要记住的事", "TEXT"}
	ArgsModel    = Phrase{"[名称｜默认]", "[name|default]"}
	ArgsEffort   = Phrase{"[低｜中｜高｜很高｜最高｜默认]", "[low|medium|high|xhigh|max|default]"}
	ArgsLang     = Phrase{"[zh｜en｜自动]", "[zh|en|auto]"}
	ArgsLogin    = Phrase{"[cancel｜取消]", "[cancel]"}

	HelpRetry     = Phrase{"重新回答上一个问题", "answer the last question again"}
	HelpTitle     = Phrase{"查看或修改本聊天的标题", "show or change this chat's title"}
	HelpSearch    = Phrase{"查找以前的对话", "find earlier conversations"}
	HelpHandoff   = Phrase{"到终端里用 Claude Code 本身继续这个对话", "go on in a terminal, with Claude Code itself"}
	HelpResume    = Phrase{"列出以前的会话，或回到其中一个", "list earlier sessions, or go back to one"}
	HelpModel     = Phrase{"查看或选择模型", "show or choose the model"}
	HelpEffort    = Phrase{"查看或选择思考深度", "show or choose the thinking effort"}
	HelpLang      = Phrase{"选择机器人使用的语言", "choose the bot's language"}
	HelpDoctor    = Phrase{"检查各部分是否正常", "check that everything works"}
	HelpLogin     = Phrase{"重新登录 Claude 账号（仅限私聊）", "log in to the Claude account again (private chats only)"}
	HelpSummary   = Phrase{"可用的命令", "Commands"}
	HelpAllButton = Phrase{"全部命令", "All commands"}
	HelpOthers    = Phrase{"其他命令：", "More commands:"}
	HelpMore      = Phrase{"`/help 命令` 查看用法，`/help 全部` 查看全部。Claude Code 自己的命令写两个斜杠：%s",
		"`/help COMMAND` explains one, `/help all` explains all. " +
			"Claude Code's own commands take two slashes: %s"}

	GroupConversation = Phrase{"对话", "Conversation"}
	GroupMemory       = Phrase{"记忆", "Memory"}
	GroupSchedules    = Phrase{"定时", "Schedules"}
	GroupAgent        = Phrase{"设置", "Settings"}
	GroupPermissions  = Phrase{"审批", "Approvals"}
	GroupAbout        = Phrase{"其他", "Other"}
	GroupAdmin        = Phrase{"管理员", "Admins"}
	HelpAliases       = Phrase{"也可以写作：%s", "Also: %s"}

	PerhapsMeant = Phrase{"没有 %s 这个命令。你是想用 %s 吗？", "There is no command %s. Did you mean %s?"}
	PassIt       = Phrase{"%s 是 Claude Code 自己的命令，请写成 %s。", "%s is one of Claude Code's own commands. Send it as %s."}
	NotPassed    = Phrase{"%s 不能交给 Claude Code。可以用的有：%s", "%s can't be passed to Claude Code. Available: %s"}
	Passed       = Phrase{"已完成。", "Done."}
	Busy         = Phrase{"上一个问题还在回答。请稍等，或先发送 /stop。",
		"The last question is still being answered. Please wait, or send /stop first."}
	ByDefault = Phrase{"默认", "default"}
	ByItself  = Phrase{"自动", "auto"}

	StatusTitle       = Phrase{"**标题**：%s", "**Title**: %s"}
	StatusModel       = Phrase{"**模型**：%s（思考深度：%s）", "**Model**: %s (effort: %s)"}
	StatusQueue       = Phrase{"**排队**：%d 条消息", "**Queue**: %d waiting"}
	StatusServers     = Phrase{"**MCP 服务器**：%s 没有启动，助手暂时用不了", "**MCP servers**: %s did not start and can't be used"}
	StatusServersLate = Phrase{
		"**MCP 服务器**：%s 还没有应答，上一个回答没有等", "**MCP servers**: %s had not responded yet; the last answer did not wait",
	}
	// for admins
	StatusMode     = Phrase{"**上下文模式**：%s", "**Context mode**: %s"}
	StatusHybrid   = Phrase{"续接会话，并附上历史", "session and history"}
	StatusResume   = Phrase{"续接会话，没有会话时才附上历史", "session; history only without one"}
	StatusDatabase = Phrase{"只附上历史，不续接会话", "history only, no session"}
	StatusEconomy  = Phrase{"续接会话，只补上其中缺少的内容", "session, plus only what it lacks"}
	StatusSilenced = Phrase{"**发不出消息的聊天**（三天内不再尝试，除非那里有人对我说话）：%s",
		"**Chats I can't write to** (no retry for three days, unless somebody talks to me there): %s"}
	StatusMuted = Phrase{"%s（群被禁言，或群设置不让机器人发言，请群主调整）",
		"%s (muted, or its settings keep bots from writing; the group's owner can change that)"}
	StatusDeclined = Phrase{"%s（对方不接收机器人的消息，需要对方重新允许）",
		"%s (this person has turned off messages from the bot and has to allow them again)"}
	StatusUndelivered = Phrase{"**等待发出的消息**：%s", "**Messages waiting to be sent**: %s"}
	UndeliveredFor    = Phrase{"%d 条（%s）", "%d (%s)"}
	StatusLimit       = Phrase{"**用量**：%s %s，%s 重置", "**Usage**: %s %s, resets %s"}
	LimitUsed         = Phrase{"已用 %d%%", "%d%% used"}
	LimitReached      = Phrase{"已用完", "used up"}
	LimitOpen         = Phrase{"还有余量", "not used up"}
	LimitFiveHours    = Phrase{"5 小时内", "5 hours"}
	LimitWeek         = Phrase{"一周内", "week"}
	LimitWeekOpus     = Phrase{"一周内 Opus", "week, Opus"}
	LimitWeekSonnet   = Phrase{"一周内 Sonnet", "week, Sonnet"}
	LimitOther        = Phrase{"模型", "model"}
	StatusBridges     = Phrase{"**一起工作的鹊桥**：%d 个", "**Bridges that work together**: %d"}
	StatusVersion     = Phrase{"**版本**：%s", "**Version**: %s"}

	TitleNone  = Phrase{"还没有标题。发送 /title 新标题 起一个。", "No title yet. Send /title TITLE to set one."}
	TitleIs    = Phrase{"标题：%s", "Title: %s"}
	TitleSet   = Phrase{"标题已改为：%s", "Title changed to: %s"}
	TitleEmpty = Phrase{"这个标题不能用，请换一个。", "This title can't be used. Please try another one."}

	ModelNow = Phrase{"当前模型：%s\n选择一个，或发送 /model 名称。",
		"Current model: %s\nChoose one, or send /model NAME."}
	ModelSet    = Phrase{"好的，从下一个问题起使用模型 %s。", "OK, %s will answer from your next question on."}
	ModelReset  = Phrase{"好的，从下一个问题起使用默认模型。", "OK, the default model will answer from your next question on."}
	ModelBad    = Phrase{"不能使用模型“%s”。可选：%s", "The model “%s” isn't available. Choose from: %s"}
	EffortLow   = Phrase{"低", "low"}
	EffortMid   = Phrase{"中", "medium"}
	EffortHigh  = Phrase{"高", "high"}
	EffortXHigh = Phrase{"很高", "xhigh"}
	EffortMax   = Phrase{"最高", "max"}
	EffortNow   = Phrase{"当前思考深度：%s", "Current effort: %s"}
	EffortSet   = Phrase{"好的，从下一个问题起思考深度为“%s”。", "OK, effort %s from your next question on."}
	EffortReset = Phrase{"好的，从下一个问题起使用默认的思考深度。", "OK, default effort from your next question on."}
	EffortBad   = Phrase{"没有“%s”这种思考深度。可选：%s", "“%s” isn't an effort level. Choose from: %s"}
	LangNow     = Phrase{"当前语言：%s", "Current language: %s"}
	LangSet     = Phrase{"好的，以后用%s。", "OK, %s from now on."}
	LangReset   = Phrase{"好的，语言恢复为自动。", "OK, back to choosing the language automatically."}
	LangName    = Phrase{"中文", "English"}
	LangBad     = Phrase{"不支持语言“%s”。可选：%s", "The language “%s” isn't supported. Choose from: %s"}

	SearchUsage   = Phrase{"用法：/search 词语，例如 /search 发布日期", "Usage: /search WORDS, such as /search release date"}
	SearchHead    = Phrase{"**找到的对话**（点编号回到其中一个）", "**Conversations found** (press a number to go back to one)"}
	SearchNothing = Phrase{"没有找到“%s”。", "Nothing found for “%s”."}
	ResumeNever   = Phrase{"这里的每个问题都从头开始，没有可以恢复的会话。",
		"Every question starts from scratch here, so there are no sessions to go back to."}
	ResumeNothing = Phrase{"还没有以前的会话。", "No earlier sessions yet."}
	ResumeHead    = Phrase{"**以前的会话**（点编号或发送 /resume 编号 回到其中一个）",
		"**Earlier sessions** (press a number or send /resume NUMBER to go back to one)"}
	ResumeLine    = Phrase{"%d. %s **%s**（%d 个问题，`%s`）%s", "%d. %s **%s** (questions: %d, `%s`)%s"}
	ResumeNow     = Phrase{" ← 当前", " ← current"}
	ResumeUnknown = Phrase{"没有这个会话，发送 /resume 查看列表。", "No such session. Send /resume to see them all."}
	ResumeIsNow   = Phrase{"现在就在这个会话里。", "You are already in this session."}
	ResumeDone    = Phrase{"已回到会话：%s", "Back in this session: %s"}
	ResumeLost    = Phrase{"已回到会话：%s\nClaude 自己的会话记录已经没有了，会从历史恢复。",
		"Back in this session: %s\nClaude's own record of it is gone, so it will be restored from the history."}

	HelpExport     = Phrase{"把本聊天的历史导出为文件", "export this chat's history as files"}
	ExportName     = Phrase{"聊天记录", "chat-history"}
	ExportBegun    = Phrase{"正在导出，完成后会把文件发给你。", "Exporting. I'll send the files when they are ready."}
	ExportNothing  = Phrase{"还没有可以导出的内容。", "There is nothing to export yet."}
	ExportTooLarge = Phrase{"历史太长，一个文件放不下。管理员可以在运行机器人的电脑上执行 magpie history export。",
		"The history is too long for one file. An admin can run magpie history export on the bot's machine."}
	ExportFailed = Phrase{"导出失败，请稍后再试。", "The export failed. Please try again later."}

	RetryNothing = Phrase{"还没有可以重新回答的问题。", "There is no question to answer again yet."}
	RetryNote    = Phrase{"（请重新回答下面的问题，不要只重复之前的回答。）",
		"(Please answer the following question again; do not just repeat the earlier answer.)"}

	DoctorBegun = Phrase{"正在检查…", "Checking…"}
	DoctorOK    = Phrase{"一切正常。", "Everything works."}
	DoctorWarn  = Phrase{"可以工作，但有需要留意的地方。", "It works, but something needs attention."}
	DoctorFail  = Phrase{"发现问题。请在运行机器人的电脑上执行 magpie doctor 查看详情。",
		"Something is wrong. Run magpie doctor on the bot's machine for details."}
	DoctorLoad = Phrase{"正在回答 %d/%d（%s），排队 %d；进程 %d/%d（%s）；%s",
		"Answering %d/%d (%s), queued %d; processes %d/%d (%s); %s"}
	LimitConfigured  = Phrase{"由配置指定", "configured"}
	LimitByCores     = Phrase{"按 %d 个 CPU 核心", "based on %d CPU core(s)"}
	LimitByProcesses = Phrase{"不超过进程数", "no more than the processes"}
	LimitByMemory    = Phrase{"按 %.1f GB 空闲内存", "based on %.1f GB of free memory"}
	LimitByGroup     = Phrase{"按容器或服务的 %.1f GB 空闲内存",
		"based on %.1f GB of free memory of its container or service"}
	LimitUnknown = Phrase{"空闲内存未知", "free memory unknown"}
	Kept         = Phrase{"空闲进程最多保留 %s（%s）", "idle processes stay up to %s (%s)"}
	KeptNot      = Phrase{"空闲进程立即结束（%s）", "idle processes end at once (%s)"}
	KeptByMemory = Phrase{"内存够用时", "while memory allows"}
	CheckCLI     = Phrase{"Claude Code 的安装", "Claude Code installation"}
	CheckLogin   = Phrase{"Claude 账号的登录（失效时发送 /login）",
		"Claude login (send /login if it has expired)"}
	CheckPlatform = Phrase{"与飞书（Lark）的连接", "Connection to Feishu (Lark)"}
	CheckDatabase = Phrase{"数据存储", "Data storage"}
	CheckDisk     = Phrase{"磁盘空间", "Disk space"}
	CheckOther    = Phrase{"其他", "Other"}

	LoginPrivate = Phrase{"请在与我的私聊里登录。", "Please log in from a private chat with me."}
	LoginBusy    = Phrase{"已有登录在进行，发送 /login cancel 可以取消。",
		"A login is already in progress. Send /login cancel to cancel it."}
	LoginBegun     = Phrase{"正在准备登录，稍后把链接发给你。", "Preparing the login. I'll send you a link."}
	LoginNone      = Phrase{"现在没有进行中的登录。", "No login is in progress."}
	LoginCancelled = Phrase{"登录已取消。", "Login canceled."}
	LoginUsage     = Phrase{"用法：/login 或 /login cancel", "Usage: /login or /login cancel"}
	LoginLink      = Phrase{"请打开链接登录，再把得到的授权码直接发给我（5 分钟内有效，授权码不会保存）：\n%s",
		"Open this link to log in, then send me the code you get (within 5 minutes; it won't be stored):\n%s"}
	LoginAgain = Phrase{"授权码不完整，请完整复制后再发一次。", "The code is incomplete. Please copy all of it and send it again."}
	LoginDone  = Phrase{"登录成功。", "You are logged in."}
	LoginLate  = Phrase{"没有等到授权码，登录已取消。需要时请再发送 /login。",
		"No code arrived in time, so the login was canceled. Send /login to try again."}
	LoginOffline = Phrase{"连接不上 Claude 的登录服务，登录失败。请检查网络后再试。",
		"Claude's login service can't be reached. Check the network and try again."}
	LoginRefused = Phrase{"授权码没有通过，登录失败。请再发送 /login 重试。",
		"The code wasn't accepted. Send /login to try again."}
	LoginFailed = Phrase{"登录失败。请在运行机器人的电脑上执行 claude auth login。",
		"The login failed. Run claude auth login on the bot's machine."}
	LoginTaken      = Phrase{"收到，正在登录…", "Got it, logging in…"}
	LoginUnexpected = Phrase{"这像是登录用的授权码，但现在没有进行中的登录。它没有被保存。",
		"This looks like a login code, but no login is in progress. It was not stored."}
)
