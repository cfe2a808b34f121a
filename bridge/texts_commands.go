package bridge

// commandTexts is what users are told about commands and by them.
var commandTexts = struct {
	ArgsHelp, ArgsNew, ArgsTitle, ArgsResume, ArgsHistory, ArgsContext, ArgsRemember phrase
	ArgsModel, ArgsEffort, ArgsLang, ArgsLogin                                       phrase
	HelpRetry, HelpTitle, HelpResume, HelpModel, HelpEffort, HelpLang                phrase
	HelpDoctor, HelpLogin, HelpSummary, HelpAdmins, HelpMore, HelpAliases            phrase
	PerhapsMeant, PassIt, NotPassed, Passed, Busy, ByDefault, ByItself               phrase
	StatusTitle, StatusModel, StatusQueue, StatusVersion                             phrase
	TitleNone, TitleIs, TitleSet, TitleEmpty                                         phrase
	ModelNow, ModelSet, ModelBad, EffortNow, EffortSet, EffortBad                    phrase
	LangNow, LangSet, LangBad                                                        phrase
	ResumeNever, ResumeNothing, ResumeHead, ResumeLine, ResumeNow                    phrase
	ResumeUnknown, ResumeIsNow, ResumeDone, ResumeLost                               phrase
	HelpExport, ExportName, ExportBegun, ExportNothing, ExportTooLarge, ExportFailed phrase
	RetryNothing, RetryNote                                                          phrase
	DoctorBegun, DoctorFine, DoctorDoubt, DoctorWrong, DoctorLoad                    phrase
	CheckCLI, CheckLogin, CheckPlatform, CheckDatabase, CheckDisk, CheckOther        phrase
	LoginPrivate, LoginBusy, LoginBegun, LoginNone, LoginCancelled                   phrase
	LoginUsage, LoginLink, LoginAgain, LoginDone, LoginLate, LoginOffline            phrase
	LoginRefused, LoginFailed, LoginTaken, LoginUnasked                              phrase
}{
	ArgsHelp:     phrase{"[命令]", "[command]"},
	ArgsNew:      phrase{"[第一个问题]", "[first question]"},
	ArgsTitle:    phrase{"[新标题]", "[new title]"},
	ArgsResume:   phrase{"[编号]", "[number]"},
	ArgsHistory:  phrase{"[条数]", "[count]"},
	ArgsContext:  phrase{"[问题]", "[question]"},
	ArgsRemember: phrase{"要记住的事", "what to remember"},
	ArgsModel:    phrase{"[名称｜default]", "[name|default]"},
	ArgsEffort:   phrase{"[low｜medium｜high｜xhigh｜max｜默认]", "[low|medium|high|xhigh|max|default]"},
	ArgsLang:     phrase{"[zh｜en｜自动]", "[zh|en|auto]"},
	ArgsLogin:    phrase{"[cancel｜取消]", "[cancel]"},

	HelpRetry:   phrase{"重新回答上一个问题", "answer the last question again"},
	HelpTitle:   phrase{"查看或修改这个聊天的标题", "show or change the title of this chat"},
	HelpResume:  phrase{"列出以前的会话，或回到其中一个", "list earlier sessions, or go back to one"},
	HelpModel:   phrase{"查看或选择模型", "show or choose the model"},
	HelpEffort:  phrase{"查看或选择思考深度", "show or choose how hard the model thinks"},
	HelpLang:    phrase{"选择机器人使用的语言", "choose the language in which the bot speaks"},
	HelpDoctor:  phrase{"检查各部分是否正常", "check whether everything works"},
	HelpLogin:   phrase{"重新登录 Claude 账户（仅限私聊）", "log in to the Claude account again (in a private chat only)"},
	HelpSummary: phrase{"可用的命令", "Available commands"},
	HelpAdmins:  phrase{"管理员：", "For admins:"},
	HelpMore:    phrase{"`/help 命令` 查看用法。Claude Code 自己的命令写两个斜杠：%s", "`/help command` tells more. Claude Code's own commands take two slashes: %s"},
	HelpAliases: phrase{"也可以写作：%s", "Also: %s"},

	PerhapsMeant: phrase{"没有 %s 这个命令。你是想用 %s 吗？", "There is no command %s. Did you mean %s?"},
	PassIt:       phrase{"%s 是 Claude Code 自己的命令，请写成 %s。", "%s is a command of Claude Code's own; write it as %s."},
	NotPassed:    phrase{"%s 不能交给 Claude Code。可以用的有：%s", "%s is not passed on to Claude Code. These are: %s"},
	Passed:       phrase{"已完成。", "Done."},
	Busy:         phrase{"上一个问题还没有回答完。请稍等，或先发送 /stop。", "The last question is still being answered. Please wait, or send /stop first."},
	ByDefault:    phrase{"默认", "default"},
	ByItself:     phrase{"自动", "auto"},

	StatusTitle:   phrase{"**标题**：%s", "**Title**: %s"},
	StatusModel:   phrase{"**模型**：%s（思考深度：%s）", "**Model**: %s (effort: %s)"},
	StatusQueue:   phrase{"**排队**：%d 条消息等待回答", "**Queue**: %d messages wait for an answer"},
	StatusVersion: phrase{"**版本**：%s", "**Version**: %s"},

	TitleNone:  phrase{"还没有标题。发送 /title 新标题 起一个。", "There is no title yet. Give one with /title and the title."},
	TitleIs:    phrase{"标题：%s", "Title: %s"},
	TitleSet:   phrase{"标题已改为：%s", "The title is now: %s"},
	TitleEmpty: phrase{"这不能作标题，请换个写法。", "This cannot be a title; put it another way."},

	ModelNow:  phrase{"现在的模型：%s\n选择一个，或发送 /model 名称。", "The model is now: %s\nChoose one, or send /model and its name."},
	ModelSet:  phrase{"从下一个问题起使用模型：%s", "From the next question on, the model is: %s"},
	ModelBad:  phrase{"不能使用模型“%s”。可以选择：%s", "The model “%s” cannot be used. Choose from: %s"},
	EffortNow: phrase{"现在的思考深度：%s", "The effort is now: %s"},
	EffortSet: phrase{"从下一个问题起的思考深度：%s", "From the next question on, the effort is: %s"},
	EffortBad: phrase{"没有“%s”这种思考深度。可以选择：%s", "There is no effort “%s”. Choose from: %s"},
	LangNow:   phrase{"现在的语言设置：%s", "The language is set to: %s"},
	LangSet:   phrase{"好的，语言已设为：%s", "The language is set to: %s"},
	LangBad:   phrase{"不支持语言“%s”。可以选择：%s", "The language “%s” is not supported. Choose from: %s"},

	ResumeNever:   phrase{"这里的每个问题都从头开始，没有可以恢复的会话。", "Every question begins from scratch here, so there are no sessions to go back to."},
	ResumeNothing: phrase{"还没有以前的会话。", "There are no earlier sessions yet."},
	ResumeHead:    phrase{"**以前的会话**（按编号或发送 /resume 编号 回到其中一个）", "**Earlier sessions** (press a number, or send /resume and the number, to go back to one)"},
	ResumeLine:    phrase{"%d. %s **%s**（%d 个问题，`%s`）%s", "%d. %s **%s** (questions: %d, `%s`)%s"},
	ResumeNow:     phrase{" ← 现在", " ← now"},
	ResumeUnknown: phrase{"没有找到这个会话。发送 /resume 查看列表。", "There is no such session. /resume lists them."},
	ResumeIsNow:   phrase{"现在就在这个会话里。", "You are in this session already."},
	ResumeDone:    phrase{"已回到会话：%s", "Back in the session: %s"},
	ResumeLost:    phrase{"已回到会话：%s\n助手自己的会话记录已经不在，将从历史恢复。", "Back in the session: %s\nThe agent's own memory of it is gone; it goes on from the history."},

	HelpExport:     phrase{"把本聊天的历史导出为文件", "send the history of this chat as files"},
	ExportName:     phrase{"聊天记录", "chat-history"},
	ExportBegun:    phrase{"正在导出，文件随后发来。", "Exporting; the files follow."},
	ExportNothing:  phrase{"还没有可以导出的内容。", "There is nothing to export yet."},
	ExportTooLarge: phrase{"历史太长，放不进一个文件。管理员可以在运行机器人的电脑上执行 magpie history export。", "The history is too long for a file. An admin can run magpie history export on the bot's machine."},
	ExportFailed:   phrase{"这次没能导出，请稍后再试。", "The export did not work. Please try again later."},

	RetryNothing: phrase{"还没有可以重新回答的问题。", "There is no question yet that could be answered again."},
	RetryNote:    phrase{"（请重新回答下面的问题，不要只重复之前的回答。）", "(Please answer the following question anew; do not just repeat the earlier answer.)"},

	DoctorBegun:   phrase{"正在检查…", "Checking…"},
	DoctorFine:    phrase{"一切正常。", "Everything works."},
	DoctorDoubt:   phrase{"可以工作，但有需要留意的地方。", "It works, but something needs a look."},
	DoctorWrong:   phrase{"有问题。请在运行机器人的电脑上执行 magpie doctor 查看详情。", "Something is wrong. Run magpie doctor on the bot's machine for the details."},
	DoctorLoad:    phrase{"正在回答 %d/%d，排队 %d；进程 %d/%d", "Answering %d of %d at most, waiting: %d; processes: %d of %d at most"},
	CheckCLI:      phrase{"Claude Code 的安装", "Installation of Claude Code"},
	CheckLogin:    phrase{"Claude 账户的登录（失效时发送 /login）", "Login of the Claude account (send /login if it has expired)"},
	CheckPlatform: phrase{"与平台的连接", "Connection to the platform"},
	CheckDatabase: phrase{"数据存储", "Storage"},
	CheckDisk:     phrase{"磁盘空间", "Disk space"},
	CheckOther:    phrase{"其他", "Other"},

	LoginPrivate:   phrase{"请在与我的私聊中登录。", "Log in from a private chat with me."},
	LoginBusy:      phrase{"已有一次登录在进行。发送 /login cancel 可以取消。", "Somebody is logging in already. /login cancel gives that up."},
	LoginBegun:     phrase{"正在准备登录，稍后给你链接。", "Preparing the login; a link follows."},
	LoginNone:      phrase{"现在没有进行中的登录。", "Nobody is logging in."},
	LoginCancelled: phrase{"登录已取消。", "The login is cancelled."},
	LoginUsage:     phrase{"用法：/login 或 /login cancel", "Usage: /login or /login cancel"},
	LoginLink:      phrase{"请打开链接登录，然后把得到的授权码直接发给我（5 分钟内有效，授权码不会被保存）：\n%s", "Open this link to log in, then send me the code that you get (within 5 minutes; it is not kept):\n%s"},
	LoginAgain:     phrase{"授权码不完整，请完整复制后再发一次。", "The code is not complete. Copy all of it and send it again."},
	LoginDone:      phrase{"登录成功。", "Logged in."},
	LoginLate:      phrase{"没有等到授权码，登录已取消。需要时请再发送 /login。", "No code came, so the login was given up. Send /login to try again."},
	LoginOffline:   phrase{"连接不上 Claude 的登录服务，登录没有成功。请检查网络后再试。", "Claude's login service cannot be reached. Check the network and try again."},
	LoginRefused:   phrase{"授权码没有被接受，登录没有成功。请再发送 /login 重试。", "The code was not accepted. Send /login to try again."},
	LoginFailed:    phrase{"登录没有成功。请在运行机器人的电脑上执行 claude auth login。", "The login did not work. Run claude auth login on the bot's machine."},
	LoginTaken:     phrase{"收到，正在登录…", "Got it, logging in…"},
	LoginUnasked:   phrase{"这像是登录用的授权码。现在没有进行中的登录，它没有被保存。", "This looks like a login code. Nobody is logging in right now, and it was not kept."},
}
