package i18n

// What the card of a turn says, and why a turn has failed.
var (
	Waiting     = Phrase{"排队中，前面还有任务在运行…", "Queued: all agents are busy…"}
	Thinking    = Phrase{"正在思考…", "Thinking…"}
	Compacting  = Phrase{"正在整理较长的上下文…", "Tidying up a long context…"}
	Retrying    = Phrase{"模型服务繁忙，正在重试…", "The model is busy, trying again…"}
	UsingTool   = Phrase{"正在运行 %s…", "Running %s…"}
	Stopped     = Phrase{"已停止", "Stopped"}
	Interrupted = Phrase{"这次回答被中断了。按“继续”或发送“继续”可以接着说。",
		"This answer was interrupted. Press or send “continue” to go on."}
	InterruptedAsking = Phrase{"服务重启了。我还在等你确认下面的请求，决定之后会接着做。",
		"The service was restarted. I am still waiting for your decision on the request below, and go on after it."}
	Restarting = Phrase{"服务正在重启，随后继续回答。", "The service is restarting; the answer follows."}
	NoAnswer   = Phrase{"（没有文字回答）", "(no answer in words)"}
	Denied     = Phrase{"未获授权的工具：%s", "Tools without permission: %s"}
	StopButton = Phrase{"停止", "Stop"}

	ContinueButton = Phrase{"继续", "Continue"}
	DropButton     = Phrase{"不用了", "Drop"}
	AnswerButton   = Phrase{"现在回答", "Answer now"}
	GoesOn         = Phrase{"这次回答被中断过，已在后面继续。", "This answer was interrupted; it goes on below."}
	GoingOn        = Phrase{"好的，接着来", "Going on"}
	Dropped        = Phrase{"好的，不再继续", "Left as it is"}
	ContinueWord   = Phrase{"继续", "continue"}
	GoOnNote       = Phrase{"（说明：上一次回答因服务中断而没有完成。请先确认已经做到哪一步，再从中断处接着完成，不要重复已经做过的操作。）",
		"(Note: the previous answer was cut off because the service went down. First make sure what has been done already, then go on from there; do not repeat what was done.)"}
	DecidedNote = Phrase{"（说明：上一次回答因服务中断而没有完成。请先确认已经做到哪一步，再从中断处接着完成，不要重复已经做过的操作。当时等用户决定的操作都没有执行，用户现在的决定如下：%s。decision 是 allowed 的，用完全相同的 input 再调用一次该工具，不会再询问；是 denied 的不要再试；answers 是用户的回答，不必再问。）",
		"(Note: the previous answer was cut off because the service went down. First make sure what has been done already, then go on from there; do not repeat what was done. What waited for the user's decision was not done, and the user has decided now: %s. Where the decision is allowed, call the tool once more with exactly the same input: it runs without asking. Do not try again what is denied. The answers are the user's; do not ask again.)"}
	Late = Phrase{"这条消息晚到了%s，还没有处理。需要现在回答吗？",
		"This message arrived %s late and has not been answered. Shall I answer it now?"}
	LateCommand = Phrase{"命令 %s 晚到了%s，没有执行。需要的话请再发一次。",
		"The command %s arrived %s late and was not carried out. Send it again if you still want it."}
	Minutes = Phrase{" %d 分钟", "%d min"}
	Hours   = Phrase{" %d 小时", "%d h"}
	Days    = Phrase{" %d 天", "%d days"}

	FailAuth = Phrase{"助手还没有登录，或登录已失效。请联系管理员。",
		"The agent is not logged in, or its login has expired. Please tell an admin."}
	FailBilling    = Phrase{"模型账户的余额不足。请联系管理员。", "The model account has run out of credit. Please tell an admin."}
	FailRateLimit  = Phrase{"模型的用量已达上限，请稍后再试。", "The model's usage limit is reached. Please try again later."}
	FailOverloaded = Phrase{"模型服务正忙，请稍后再试。", "The model is overloaded. Please try again later."}
	FailNetwork    = Phrase{"连接不上模型服务，请稍后再试。", "The model cannot be reached. Please try again later."}
	FailServer     = Phrase{"模型服务出错了，请稍后再试。", "The model's service failed. Please try again later."}
	FailModel      = Phrase{"所选的模型不可用。用 /model 换一个，或联系管理员。",
		"The chosen model is not available. Choose another with /model, or tell an admin."}
	FailRequest = Phrase{"模型没有接受这个请求。可以换个说法，或发送 /new 重新开始。",
		"The model did not accept this request. Put it another way, or send /new to start over."}
	FailRefused = Phrase{"模型拒绝回答这个问题。", "The model declined to answer this."}
	FailTooLong = Phrase{"内容太长，模型放不下。请缩短后再发。", "This is too long for the model. Please shorten it."}
	FailLimit   = Phrase{"这次回答用完了额度，已停在这里。", "This answer has used up its limit and ends here."}
	FailSilent  = Phrase{"助手很久没有回应，已停止等待。请再试一次。",
		"The agent has not responded for long, so the wait was ended. Please try again."}
	FailTurnEnd = Phrase{"这次任务超过了最长时间，已停止。", "This task took longer than allowed and was stopped."}
	FailDied    = Phrase{"助手意外退出，回答到此为止。发送“继续”可以接着说。", "The agent ended unexpectedly. Send “continue” to go on."}
	FailUnknown = Phrase{"这次没有成功，请再试一次。", "This did not work. Please try again."}

	Remembering = Phrase{"正在记下…", "Making a note…"}
	LookingBack = Phrase{"正在翻看记录…", "Looking back…"}

	CardWriting        = Phrase{"正在回答…", "Writing…"}
	CardPreparing      = Phrase{"正在准备 %s…", "Preparing %s…"}
	CardYourTurn       = Phrase{"等你确认…", "Waiting for you…"}
	CardThoughts       = Phrase{"思考过程", "Thoughts"}
	CardSteps          = Phrase{"%d 步", "Steps: %d"}
	CardMoreSteps      = Phrase{"（另有更早的 %d 步）", "(and %d earlier steps)"}
	CardSeconds        = Phrase{"%d 秒", "%d s"}
	CardMinutesSeconds = Phrase{"%d 分 %02d 秒", "%d min %02d s"}
	CardTokens         = Phrase{"输入 %s，输出 %s token", "%s in, %s out tokens"}
	CardWindow         = Phrase{"上下文已用 %d%%", "context %d%% used"}
	CardNewButton      = Phrase{"新会话", "New conversation"}
	CardRetryButton    = Phrase{"重试", "Try again"}
	CardRemember       = Phrase{"记忆", "Memory"}
	CardLookBack       = Phrase{"翻看记录", "Looking back"}
	CardSendFile       = Phrase{"发送文件", "Sending a file"}
	CardAsking         = Phrase{"正在提问…", "Asking a question…"}
	CardQuestion       = Phrase{"提问", "Question"}
	CardPlanning       = Phrase{"正在提交计划…", "Handing in a plan…"}
	CardPlan           = Phrase{"计划", "Plan"}
	CardAddition       = Phrase{"补充", "Added"}
)
