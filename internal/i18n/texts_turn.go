package i18n

// Texts on the card of a turn, and reasons of failures.
var (
	Waiting     = Phrase{"排队中，等其他回答完成（第 %s 位）…", "Queued behind other answers (number %s in line)…"}
	Starting    = Phrase{"正在启动 Claude…", "Starting Claude…"}
	Thinking    = Phrase{"正在思考…", "Thinking…"}
	Updating    = Phrase{"Claude Code 正在更新，马上就好…", "Claude Code is being updated…"}
	GoesOnAlone = Phrase{"服务重启了，回答没有中断，正在接着写…", "The service was restarted; the answer is still being written…"}
	Compacting  = Phrase{"正在整理较早的对话…", "Summarizing the earlier conversation…"}
	Retrying    = Phrase{"模型服务繁忙，正在重试…", "The model is busy, retrying…"}
	RetryingKey = Phrase{"模型服务没有接受登录，正在重试…", "The model service didn't accept the login, retrying…"}
	UsingTool   = Phrase{"正在使用 %s…", "Using %s…"}
	Stopped     = Phrase{"已停止", "Stopped"}
	Interrupted = Phrase{"回答被中断了。点“继续”或发送“继续”可以接着回答。",
		"The answer was interrupted. Press “Continue” or send “continue” to resume."}
	InterruptedAsking = Phrase{"服务重启了。下面的请求还在等你确认，确认后我会接着做。",
		"The service was restarted. I'm still waiting for your decision on the request below and will continue after that."}
	ConversationOver = Phrase{"已开始新对话，这里没有完成的不再继续。",
		"A new conversation has begun; what was unfinished here won't be continued."}
	Restarting = Phrase{"服务正在重启，稍后继续回答。", "Restarting. I'll continue in a moment."}
	NoAnswer   = Phrase{"（已完成，没有文字回复）", "(Done – no text reply.)"}
	Denied     = Phrase{"已拒绝：%s", "Denied: %s"}
	StopButton = Phrase{"停止", "Stop"}

	ContinueButton = Phrase{"继续", "Continue"}
	DropButton     = Phrase{"不用了", "Dismiss"}
	AnswerButton   = Phrase{"现在回答", "Answer now"}
	GoesOn         = Phrase{"这次回答曾被中断，已在下面继续。", "This answer was interrupted and continues below."}
	GoingOn        = Phrase{"好的，继续…", "Continuing…"}
	Dropped        = Phrase{"好的，不处理了", "Dismissed"}
	ContinueWord   = Phrase{"继续", "continue"}
	GoOnNote       = Phrase{"（说明：上一次回答因服务中断而没有完成。请先确认已经做到哪一步，再从中断处接着完成，不要重复已经做过的操作。）",
		"(Note: the previous answer was cut off because the service went down. First check what has already been done, then continue from there; do not repeat anything.)"}
	AnswerAgainNote = Phrase{"（说明：回答这个问题时服务重启了，已经写出的文字没有保留。查到的结果可以直接用，请从头写出完整的回答。）",
		"(Note: the service was restarted while you answered this question, and what you had written is gone. Use what you have found already, and write the whole answer from its beginning.)"}
	DecidedNote = Phrase{"（说明：上一次回答因服务中断而没有完成。请先确认已经做到哪一步，再从中断处接着完成，不要重复已经做过的操作。当时等用户决定的操作都没有执行，用户现在的决定如下：%s。decision 是 allowed 的，用完全相同的 input 再调用一次该工具，不会再询问；是 denied 的不要再试；answers 是用户的回答，不必再问。）",
		"(Note: the previous answer was cut off because the service went down. First check what has already been done, then continue from there; do not repeat anything. Nothing that was awaiting the user's decision was run; the user has now decided: %s. Where the decision is allowed, call the tool again with exactly the same input; it runs without asking. Do not retry what is denied. The answers are the user's; do not ask again.)"}
	Late = Phrase{"这条消息晚到了%s，还没有处理。要现在回答吗？",
		"This message arrived %s late and hasn't been answered. Do you want me to answer it now?"}
	LateCommand = Phrase{"命令 %s 晚到了%s，没有执行。还需要的话请再发一次。",
		"The command %s arrived %s late and was not run. Send it again if you still need it."}
	Minutes = Phrase{" %d 分钟", "%d min"}
	Hours   = Phrase{" %d 小时", "%d h"}
	Days    = Phrase{" %d 天", "%d day(s)"}

	// Titles of cards.
	HeaderQueued      = Phrase{"排队中", "Queued"}
	HeaderRunning     = Phrase{"进行中", "Working"}
	HeaderYourTurn    = Phrase{"等你确认", "Waiting for you"}
	HeaderDone        = Phrase{"已完成", "Done"}
	HeaderFailed      = Phrase{"没有完成", "Failed"}
	HeaderInterrupted = Phrase{"已中断", "Interrupted"}
	HeaderOver        = Phrase{"已处理", "Closed"}
	HeaderLogin       = Phrase{"需要登录 Claude", "Claude login needed"}
	HeaderLimit       = Phrase{"已达上限", "Limit reached"}
	HeaderLate        = Phrase{"消息晚到了", "Late message"}
	HeaderEdited      = Phrase{"消息已编辑", "Edited message"}

	FailAuth      = Phrase{"Claude 没有登录，或登录已失效。", "Claude isn't logged in, or the login has expired."}
	FailKey       = Phrase{"模型服务不认机器人使用的 API 密钥。", "The model service doesn't accept the bot's API key."}
	FailDenied    = Phrase{"模型服务拒绝了机器人的访问。", "The model service refused the bot access."}
	FailAddress   = Phrase{"回应的不是 Claude 的接口，可能是一个网页。", "What answered isn't Claude's API; it may be a web page."}
	FailBilling   = Phrase{"模型账户的余额或额度已用完。", "The model account is out of credit or quota."}
	FailRateLimit = Phrase{"模型的用量已达上限，请稍后再试。", "The model's usage limit has been reached. Please try again later."}
	LimitedUntil  = Phrase{"模型的用量已达上限，%s 恢复。", "The model's usage limit has been reached until %s."}
	BackAt        = Phrase{"预计 %s 恢复。", "It should be back at %s."}
	AsksLater     = Phrase{"模型的用量已达上限，这个问题还没有问。%s 恢复后会自动提问。",
		"The model's usage limit has been reached, so this hasn't been asked yet. It will be asked at %s."}
	AsksAgain        = Phrase{"%s 会再问一次。", "This will be asked again at %s."}
	AskAgainButton   = Phrase{"%s 再问一次", "Ask again at %s"}
	ContinueAtButton = Phrase{"%s 继续", "Continue at %s"}
	CancelButton     = Phrase{"取消", "Cancel"}
	FailOverloaded   = Phrase{"模型服务繁忙，请稍后再试。", "The model is overloaded. Please try again later."}
	FailNetwork      = Phrase{"连接不上模型服务，请稍后再试。", "The model can't be reached. Please try again later."}
	FailServer       = Phrase{"模型服务出错，请稍后再试。", "The model service had an error. Please try again later."}
	FailModel        = Phrase{"所选的模型不可用。请用 /model 换一个，或联系管理员。",
		"The chosen model isn't available. Choose another one with /model, or contact an admin."}

	// Who can mend a failure, and how: what follows its text.
	TellAdmin    = Phrase{"请联系管理员。", "Please contact an admin."}
	TellOperator = Phrase{"请联系运行鹊桥的人。", "Please contact whoever runs Magpie."}
	TellPerson   = Phrase{"请告诉%s。", "Please tell %s."}
	MendAuth     = Phrase{"点“登录”即可登录。", "Press “Log in” to log in."}
	MendAuthOf   = Phrase{"请在与我的私聊里发送 /login。", "Send me /login in a private chat."}
	MendKey      = Phrase{"请检查 ANTHROPIC_API_KEY 或 ANTHROPIC_AUTH_TOKEN。", "Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN."}
	MendDenied   = Phrase{"请检查密钥的权限和 ANTHROPIC_BASE_URL。", "Check what the key may do, and ANTHROPIC_BASE_URL."}
	MendAddress  = Phrase{"请检查 ANTHROPIC_BASE_URL。", "Check ANTHROPIC_BASE_URL."}
	MendBilling  = Phrase{"请充值，或等额度恢复。", "Top it up, or wait for the quota to renew."}
	FailHook     = Phrase{"这个问题没有交给 Claude：本机的 Claude 设置里有一个 hook 拒绝了它。",
		"Claude didn't get this question: a hook in this machine's Claude settings refused it."}
	FailHookStop = Phrase{"本机的 Claude 设置里有一个 hook 让 Claude 停下了。点“继续”可以接着做。",
		"A hook in this machine's Claude settings stopped Claude here. Press “Continue” to resume."}
	HookWords   = Phrase{"hook 的原话：%s", "In the hook's words: %s"}
	ServerWords = Phrase{"服务器的原话：%s", "In the server's words: %s"}
	LoginButton = Phrase{"登录", "Log in"}
	FailRequest = Phrase{"模型不接受这个问题，或者之前对话里的某些内容。对话还在：可以换个说法，或接着问别的；如果都这样，请点“新对话”。",
		"The model doesn't accept this question, or something said earlier. The conversation is kept: rephrase it, or go on. If that fails, too, press “New conversation”."}
	FailRefused = Phrase{"模型拒绝回答这个问题。", "The model declined to answer this."}
	FailTooLong = Phrase{"内容太长，超出了模型的上限。请缩短后再发。", "This is too long for the model. Please shorten it."}
	FailLimit   = Phrase{"这次回答达到了额度上限，已停止。点“继续”可以接着做。",
		"Stopped: this answer reached its limit. Press “Continue” to resume."}
	FailSilent = Phrase{"助手长时间没有响应，已停止等待。点“继续”可以再试。",
		"The agent stopped responding, so I stopped waiting. Press “Continue” to try again."}
	FailTurnEnd = Phrase{"这次任务超过了时间上限，已停止。点“继续”可以接着做。",
		"Stopped: this task reached its time limit. Press “Continue” to resume."}
	FailDied = Phrase{"助手意外退出，回答到此中断。点“继续”或发送“继续”可以接着回答。",
		"The agent quit unexpectedly. Press “Continue” or send “continue” to resume."}
	FailStart = Phrase{"Claude Code 启动不了，请告诉管理员：原因见日志和 `magpie doctor`。",
		"Claude Code can't be started. Please tell an admin: the log and `magpie doctor` say why."}
	FailUnknown = Phrase{"出错了，请再试一次。", "Something went wrong. Please try again."}

	BackgroundCut = Phrase{"后台任务在完成前被中断了。点“继续”可以接着做。",
		"The background task was interrupted. Press “Continue” to resume."}
	BackgroundLimit = Phrase{"后台任务超过了%s的时间上限，已停止。点“继续”可以接着做。",
		"The background task reached its limit of %s and was stopped. Press “Continue” to resume."}
	BackgroundMemory = Phrase{"机器资源不足，后台任务已停止。点“继续”可以接着做。",
		"The machine is short of resources, so the background task was stopped. Press “Continue” to resume."}
	BackgroundReplaced = Phrase{"后台任务已停止：对话重新开始了，或换了设置。",
		"The background task was stopped: the conversation was restarted or its settings changed."}

	SuggestionAsked = Phrase{"好的，正在问…", "Asking…"}
	NewOver         = Phrase{"这是较早的回答，对话已经继续了。要开始新对话，请点最新回答下面的按钮，或发送 /new。",
		"This is an earlier answer, and the conversation has moved on. Use the button below the newest answer, or send /new."}
	SuggestionOver = Phrase{"对话已经继续了，这个建议不再有效。", "The conversation has moved on, so this suggestion no longer applies."}

	Remembering = Phrase{"正在记下…", "Saving a memory…"}
	LookingBack = Phrase{"正在查找记录…", "Searching past messages…"}

	// What the CLI's own tools are doing.
	PreparingCommand = Phrase{"正在准备命令…", "Preparing a command…"}
	RunningCommand   = Phrase{"正在运行命令…", "Running a command…"}
	ReadingFile      = Phrase{"正在读文件…", "Reading a file…"}
	WritingFile      = Phrase{"正在写文件…", "Writing a file…"}
	EditingFile      = Phrase{"正在修改文件…", "Editing a file…"}
	SearchingFiles   = Phrase{"正在搜索文件…", "Searching files…"}
	OpeningPage      = Phrase{"正在打开网页…", "Opening a web page…"}
	SearchingWeb     = Phrase{"正在搜索网页…", "Searching the web…"}
	Delegating       = Phrase{"子任务进行中…", "Working on a subtask…"}
	ListingTasks     = Phrase{"正在更新待办…", "Updating the to-do list…"}
	UsingSkill       = Phrase{"正在使用技能…", "Using a skill…"}

	// What they are called in the list of steps.
	CardCommand   = Phrase{"命令", "Command"}
	CardRead      = Phrase{"读文件", "Read"}
	CardWrite     = Phrase{"写文件", "Write"}
	CardEdit      = Phrase{"修改文件", "Edit"}
	CardSearch    = Phrase{"搜索文件", "Search files"}
	CardPage      = Phrase{"网页", "Web page"}
	CardWebSearch = Phrase{"搜索网页", "Web search"}
	CardSubtask   = Phrase{"子任务", "Subtask"}
	CardTasks     = Phrase{"待办", "To-do list"}
	CardSkill     = Phrase{"技能", "Skill"}

	CardGoesOnBelow    = Phrase{"⬇️ 下面继续", "⬇️ Continues below"}
	CardWriting        = Phrase{"正在回答…", "Writing…"}
	CardPreparing      = Phrase{"准备使用 %s…", "Preparing to use %s…"}
	CardYourTurn       = Phrase{"等你确认…", "Waiting for you…"}
	CardThoughts       = Phrase{"思考过程", "Thoughts"}
	CardSteps          = Phrase{"%d 步", "%d step(s)"}
	CardMoreSteps      = Phrase{"（另有更早的 %d 步）", "(%d earlier step(s))"}
	CardSeconds        = Phrase{"%d 秒", "%d s"}
	CardMinutesSeconds = Phrase{"%d 分 %02d 秒", "%d min %02d s"}
	CardTokens         = Phrase{"输入 %s、输出 %s token", "%s tokens in, %s out"}
	CardDetails        = Phrase{"详情", "Details"}
	CardWindow         = Phrase{"上下文已用 %d%%", "%d%% of context used"}
	CardNewButton      = Phrase{"新对话", "New conversation"}
	CardRetryButton    = Phrase{"重试", "Try again"}
	CardRemember       = Phrase{"记忆", "Memory"}
	CardLookBack       = Phrase{"查找记录", "Search"}
	CardSendFile       = Phrase{"发送文件", "Send file"}
	CardAsking         = Phrase{"正在提问…", "Asking a question…"}
	CardQuestion       = Phrase{"提问", "Question"}
	CardPlanning       = Phrase{"正在提交计划…", "Submitting a plan…"}
	CardPlan           = Phrase{"计划", "Plan"}
	CardAddition       = Phrase{"补充", "Added"}
	CardWorksOn        = Phrase{"后台还在继续，有结果会另发消息", "still working in the background; more to follow"}
)
