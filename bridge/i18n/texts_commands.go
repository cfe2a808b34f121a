package i18n

// What is said by the commands and about them.
var (
	NewBegun       = Phrase{"已开始新会话。", "A new conversation begins."}
	ResetDone      = Phrase{"已清空对话历史，下次对话将从零开始。", "The conversation is cleared; the next one starts from zero."}
	NothingToStop  = Phrase{"现在没有正在运行的任务。", "Nothing is running right now."}
	StopAsked      = Phrase{"正在停止…", "Stopping…"}
	StopOver       = Phrase{"这一轮已经结束了。", "This turn is already over."}
	UnknownCommand = Phrase{"没有 %s 这个命令，发送 /help 查看全部命令。", "There is no command %s; /help lists them all."}
	AskMe          = Phrase{"我在。直接说你想做什么，或发送 /help 查看命令。",
		"I am here. Say what you need, or send /help for the commands."}
	Unreadable = Phrase{"暂时还不能阅读这种消息，请用文字告诉我。",
		"I cannot read this kind of message yet. Please tell me in words."}
	NotAllowed = Phrase{"这个机器人还没有所有者。日志里如果有一次性口令（MAGPIE-…），把它私聊发给我，你就是所有者；也可以把你的 ID %s 写进配置文件的 [access] owner，然后重新加载。",
		"This bot has no owner yet. If there is a one-time code (MAGPIE-…) in the log, send it to me in a private chat and you own it; or put your ID, %s, into the configuration file as [access] owner and reload it."}
	HelpHelp = Phrase{"查看命令", "list the commands"}
	HelpHead = Phrase{"**直接发消息就可以和助手对话。** 群里请 @ 我。\n\n命令：",
		"**Just write to talk with the agent.** In groups, mention me.\n\nCommands:"}
	HelpNew = Phrase{"开始新会话（历史仍保留），后面可以直接写第一个问题",
		"start a new conversation (the history is kept); its first question may follow"}
	HelpReset = Phrase{"清空对话历史，从零开始，后面可以直接写第一个问题",
		"clear the conversation and start from zero; the first question may follow"}
	HelpStop   = Phrase{"停止正在进行的回答", "stop the answer that is being written"}
	HelpStatus = Phrase{"查看当前状态", "show the current state"}
	Status     = Phrase{"**状态**：%s\n**项目**：%s\n**会话**：%s\n**上下文模式**：%s",
		"**State**: %s\n**Project**: %s\n**Session**: %s\n**Context mode**: %s"}
	StatusRunning   = Phrase{"正在回答", "answering"}
	StatusIdle      = Phrase{"空闲", "idle"}
	StatusSession   = Phrase{"可续接", "can be resumed"}
	StatusLive      = Phrase{"进程在线", "process running"}
	StatusNoSession = Phrase{"尚未开始", "not begun"}

	ArgsHelp     = Phrase{"[命令]", "[command]"}
	ArgsNew      = Phrase{"[第一个问题]", "[first question]"}
	ArgsTitle    = Phrase{"[新标题]", "[new title]"}
	ArgsResume   = Phrase{"[编号]", "[number]"}
	ArgsHistory  = Phrase{"[条数]", "[count]"}
	ArgsContext  = Phrase{"[问题]", "[question]"}
	ArgsRemember = Phrase{"要记住的事", "what to remember"}
	ArgsModel    = Phrase{"[名称｜default]", "[name|default]"}
	ArgsEffort   = Phrase{"[low｜medium｜high｜xhigh｜max｜默认]", "[low|medium|high|xhigh|max|default]"}
	ArgsLang     = Phrase{"[zh｜en｜自动]", "[zh|en|auto]"}
	ArgsLogin    = Phrase{"[cancel｜取消]", "[cancel]"}

	HelpRetry   = Phrase{"重新回答上一个问题", "answer the last question again"}
	HelpTitle   = Phrase{"查看或修改这个聊天的标题", "show or change the title of this chat"}
	HelpResume  = Phrase{"列出以前的会话，或回到其中一个", "list earlier sessions, or go back to one"}
	HelpModel   = Phrase{"查看或选择模型", "show or choose the model"}
	HelpEffort  = Phrase{"查看或选择思考深度", "show or choose how hard the model thinks"}
	HelpLang    = Phrase{"选择机器人使用的语言", "choose the language in which the bot speaks"}
	HelpDoctor  = Phrase{"检查各部分是否正常", "check whether everything works"}
	HelpLogin   = Phrase{"重新登录 Claude 账户（仅限私聊）", "log in to the Claude account again (in a private chat only)"}
	HelpSummary = Phrase{"可用的命令", "Available commands"}
	HelpAdmins  = Phrase{"管理员：", "For admins:"}
	HelpMore    = Phrase{"`/help 命令` 查看用法。Claude Code 自己的命令写两个斜杠：%s",
		"`/help command` tells more. Claude Code's own commands take two slashes: %s"}
	HelpAliases = Phrase{"也可以写作：%s", "Also: %s"}

	PerhapsMeant = Phrase{"没有 %s 这个命令。你是想用 %s 吗？", "There is no command %s. Did you mean %s?"}
	PassIt       = Phrase{"%s 是 Claude Code 自己的命令，请写成 %s。", "%s is a command of Claude Code's own; write it as %s."}
	NotPassed    = Phrase{"%s 不能交给 Claude Code。可以用的有：%s", "%s is not passed on to Claude Code. These are: %s"}
	Passed       = Phrase{"已完成。", "Done."}
	Busy         = Phrase{"上一个问题还没有回答完。请稍等，或先发送 /stop。",
		"The last question is still being answered. Please wait, or send /stop first."}
	ByDefault = Phrase{"默认", "default"}
	ByItself  = Phrase{"自动", "auto"}

	StatusTitle   = Phrase{"**标题**：%s", "**Title**: %s"}
	StatusModel   = Phrase{"**模型**：%s（思考深度：%s）", "**Model**: %s (effort: %s)"}
	StatusQueue   = Phrase{"**排队**：%d 条消息等待回答", "**Queue**: %d messages wait for an answer"}
	StatusServers = Phrase{"**MCP 服务器**：%s 没有启动，助手暂时用不了", "**MCP servers**: %s did not start; the agent does without"}
	// for admins
	StatusSilenced = Phrase{"**发不出消息的聊天**：%d 个（群被禁言、群设置不允许，或对方不接收），详见 `magpie doctor`",
		"**Chats that take no messages**: %d (muted, not allowed by their settings, or not wanted); see `magpie doctor`"}
	StatusVersion = Phrase{"**版本**：%s", "**Version**: %s"}

	TitleNone  = Phrase{"还没有标题。发送 /title 新标题 起一个。", "There is no title yet. Give one with /title and the title."}
	TitleIs    = Phrase{"标题：%s", "Title: %s"}
	TitleSet   = Phrase{"标题已改为：%s", "The title is now: %s"}
	TitleEmpty = Phrase{"这不能作标题，请换个写法。", "This cannot be a title; put it another way."}

	ModelNow = Phrase{"现在的模型：%s\n选择一个，或发送 /model 名称。",
		"The model is now: %s\nChoose one, or send /model and its name."}
	ModelSet  = Phrase{"从下一个问题起使用模型：%s", "From the next question on, the model is: %s"}
	ModelBad  = Phrase{"不能使用模型“%s”。可以选择：%s", "The model “%s” cannot be used. Choose from: %s"}
	EffortNow = Phrase{"现在的思考深度：%s", "The effort is now: %s"}
	EffortSet = Phrase{"从下一个问题起的思考深度：%s", "From the next question on, the effort is: %s"}
	EffortBad = Phrase{"没有“%s”这种思考深度。可以选择：%s", "There is no effort “%s”. Choose from: %s"}
	LangNow   = Phrase{"现在的语言设置：%s", "The language is set to: %s"}
	LangSet   = Phrase{"好的，语言已设为：%s", "The language is set to: %s"}
	LangBad   = Phrase{"不支持语言“%s”。可以选择：%s", "The language “%s” is not supported. Choose from: %s"}

	ResumeNever = Phrase{"这里的每个问题都从头开始，没有可以恢复的会话。",
		"Every question begins from scratch here, so there are no sessions to go back to."}
	ResumeNothing = Phrase{"还没有以前的会话。", "There are no earlier sessions yet."}
	ResumeHead    = Phrase{"**以前的会话**（按编号或发送 /resume 编号 回到其中一个）",
		"**Earlier sessions** (press a number, or send /resume and the number, to go back to one)"}
	ResumeLine    = Phrase{"%d. %s **%s**（%d 个问题，`%s`）%s", "%d. %s **%s** (questions: %d, `%s`)%s"}
	ResumeNow     = Phrase{" ← 现在", " ← now"}
	ResumeUnknown = Phrase{"没有找到这个会话。发送 /resume 查看列表。", "There is no such session. /resume lists them."}
	ResumeIsNow   = Phrase{"现在就在这个会话里。", "You are in this session already."}
	ResumeDone    = Phrase{"已回到会话：%s", "Back in the session: %s"}
	ResumeLost    = Phrase{"已回到会话：%s\n助手自己的会话记录已经不在，将从历史恢复。",
		"Back in the session: %s\nThe agent's own memory of it is gone; it goes on from the history."}

	HelpExport     = Phrase{"把本聊天的历史导出为文件", "send the history of this chat as files"}
	ExportName     = Phrase{"聊天记录", "chat-history"}
	ExportBegun    = Phrase{"正在导出，文件随后发来。", "Exporting; the files follow."}
	ExportNothing  = Phrase{"还没有可以导出的内容。", "There is nothing to export yet."}
	ExportTooLarge = Phrase{"历史太长，放不进一个文件。管理员可以在运行机器人的电脑上执行 magpie history export。",
		"The history is too long for a file. An admin can run magpie history export on the bot's machine."}
	ExportFailed = Phrase{"这次没能导出，请稍后再试。", "The export did not work. Please try again later."}

	RetryNothing = Phrase{"还没有可以重新回答的问题。", "There is no question yet that could be answered again."}
	RetryNote    = Phrase{"（请重新回答下面的问题，不要只重复之前的回答。）",
		"(Please answer the following question anew; do not just repeat the earlier answer.)"}

	DoctorBegun = Phrase{"正在检查…", "Checking…"}
	DoctorFine  = Phrase{"一切正常。", "Everything works."}
	DoctorDoubt = Phrase{"可以工作，但有需要留意的地方。", "It works, but something needs a look."}
	DoctorWrong = Phrase{"有问题。请在运行机器人的电脑上执行 magpie doctor 查看详情。",
		"Something is wrong. Run magpie doctor on the bot's machine for the details."}
	DoctorLoad = Phrase{"正在回答 %d/%d，排队 %d；进程 %d/%d",
		"Answering %d of %d at most, waiting: %d; processes: %d of %d at most"}
	DoctorAuto   = Phrase{"（上限按%s自动得出）", " (limits by %s)"}
	DoctorCores  = Phrase{"%d 个处理器核心", "%d processor cores"}
	DoctorMemory = Phrase{"启动时的 %.1f GB 空闲内存", "%.1f GB of memory that were free at the start"}
	CheckCLI     = Phrase{"Claude Code 的安装", "Installation of Claude Code"}
	CheckLogin   = Phrase{"Claude 账户的登录（失效时发送 /login）",
		"Login of the Claude account (send /login if it has expired)"}
	CheckPlatform = Phrase{"与平台的连接", "Connection to the platform"}
	CheckDatabase = Phrase{"数据存储", "Storage"}
	CheckDisk     = Phrase{"磁盘空间", "Disk space"}
	CheckOther    = Phrase{"其他", "Other"}

	LoginPrivate = Phrase{"请在与我的私聊中登录。", "Log in from a private chat with me."}
	LoginBusy    = Phrase{"已有一次登录在进行。发送 /login cancel 可以取消。",
		"Somebody is logging in already. /login cancel gives that up."}
	LoginBegun     = Phrase{"正在准备登录，稍后给你链接。", "Preparing the login; a link follows."}
	LoginNone      = Phrase{"现在没有进行中的登录。", "Nobody is logging in."}
	LoginCancelled = Phrase{"登录已取消。", "The login is cancelled."}
	LoginUsage     = Phrase{"用法：/login 或 /login cancel", "Usage: /login or /login cancel"}
	LoginLink      = Phrase{"请打开链接登录，然后把得到的授权码直接发给我（5 分钟内有效，授权码不会被保存）：\n%s",
		"Open this link to log in, then send me the code that you get (within 5 minutes; it is not kept):\n%s"}
	LoginAgain = Phrase{"授权码不完整，请完整复制后再发一次。", "The code is not complete. Copy all of it and send it again."}
	LoginDone  = Phrase{"登录成功。", "Logged in."}
	LoginLate  = Phrase{"没有等到授权码，登录已取消。需要时请再发送 /login。",
		"No code came, so the login was given up. Send /login to try again."}
	LoginOffline = Phrase{"连接不上 Claude 的登录服务，登录没有成功。请检查网络后再试。",
		"Claude's login service cannot be reached. Check the network and try again."}
	LoginRefused = Phrase{"授权码没有被接受，登录没有成功。请再发送 /login 重试。",
		"The code was not accepted. Send /login to try again."}
	LoginFailed = Phrase{"登录没有成功。请在运行机器人的电脑上执行 claude auth login。",
		"The login did not work. Run claude auth login on the bot's machine."}
	LoginTaken   = Phrase{"收到，正在登录…", "Got it, logging in…"}
	LoginUnasked = Phrase{"这像是登录用的授权码。现在没有进行中的登录，它没有被保存。",
		"This looks like a login code. Nobody is logging in right now, and it was not kept."}
)
