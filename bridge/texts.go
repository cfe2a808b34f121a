package bridge

import "unicode"

// lang is the language in which a chat is spoken to.
type lang string

const (
	zh lang = "zh"
	en lang = "en"
)

// phrase is one thing that users are told.
type phrase struct{ ZH, EN string }

func (p phrase) in(l lang) string {
	if l == en {
		return p.EN
	}
	return p.ZH
}

// langOf guesses the language of a message: any Chinese character makes it Chinese, otherwise letters make it English.
// It is empty when the text does not tell.
func langOf(text string) lang {
	letters := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			return zh
		case unicode.IsLetter(r):
			letters++
		}
	}
	if letters >= 3 {
		return en
	}
	return ""
}

// texts is everything that users can be told. None of it shows internals.
var texts = struct {
	Waiting, Thinking, Compacting, Retrying, UsingTool                            phrase
	Stopped, Interrupted, Restarting, NoAnswer, Denied, StopButton                phrase
	ContinueButton, DropButton, AnswerButton, GoesOn, GoingOn, Dropped            phrase
	ContinueWord, GoOnNote, Late, LateCommand, Minutes, Hours, Days               phrase
	FailAuth, FailBilling, FailRateLimit, FailOverloaded, FailNetwork, FailServer phrase
	FailModel, FailRequest, FailRefused, FailTooLong, FailLimit, FailSilent       phrase
	FailTurnEnd, FailDied, FailUnknown                                            phrase
	New, Reset, NothingToStop, StopAsked, StopOver, UnknownCommand, AskMe         phrase
	Unreadable, NotAllowed, Help, HelpHead, HelpNew, HelpReset, HelpStop          phrase
	HelpStatus, Status, StatusRunning, StatusIdle, StatusSession, StatusNoSession phrase
	HelpCompact, CompactBegun, CompactDone, CompactNothing                        phrase
	CompactFailed, CompactChanged                                                 phrase
	StatusLive, Withheld                                                          phrase
	HelpRemember, HelpMemory, RememberWhat, RememberedForUser, RememberedForChat  phrase
	RememberProposed, Redacted, MemoryChanged, MemoryTooMany, MemoryTooLong       phrase
	MemoryUnknown, MemoryUsage, MemoryNone, MemoryHead, MemoryMore, MemoryShow    phrase
	MemoryWhy, MemoryWasCreated, MemoryWasChanged, MemoryWaits, ForAdmins         phrase
	MemoryEdited, MemoryForgot, MemoryApproved, MemoryRejected, MemoryCounts      phrase
	ScopeChat, ScopeUser, ScopeProject, You, TheAgent, Remembering, LookingBack   phrase
	StatusAway, StatusTold, ToldLive, ToldResumed, ToldBehind, ToldUnsure         phrase
	ToldBegun, ToldHistory, ToldLost, ToldUnread, ToldNeither                     phrase
	LostTranscript, LostDamaged, LostFolder, LostMachine, LostForeign             phrase
	LostUnknown, LostTooLong                                                      phrase
	HelpHistory, HistoryUsage, HistoryNothing, HistoryShown, HistoryAnew          phrase
	HelpContext, ContextNothing, ContextHead, ContextMore, ContextBackground      phrase
	ContextRecalled, ContextRecent, SpeakerBot, SpeakerUser                       phrase
	OutlineNew, OutlineLive, OutlineResume, OutlineHistory, OutlineRecalled       phrase
	OutlineLost                                                                   phrase
	OutlineMemories, OutlineBackground, OutlineSummary, OutlineTokens             phrase
	MemoryLine, MemoryStep, Comma, Listing                                        phrase
	MemoryByTool, MemoryAfterAnswer, MemoryWhenStale                              phrase
	MemoryNewDocument, MemoryEditedDocument                                       phrase
}{
	Waiting:     phrase{"排队中，前面还有任务在运行…", "Queued: all agents are busy…"},
	Thinking:    phrase{"正在思考…", "Thinking…"},
	Compacting:  phrase{"正在整理较长的上下文…", "Tidying up a long context…"},
	Retrying:    phrase{"模型服务繁忙，正在重试…", "The model is busy, trying again…"},
	UsingTool:   phrase{"正在运行 %s…", "Running %s…"},
	Stopped:     phrase{"已停止", "Stopped"},
	Interrupted: phrase{"这次回答被中断了。按“继续”或发送“继续”可以接着说。", "This answer was interrupted. Press or send “continue” to go on."},
	Restarting:  phrase{"服务正在重启，随后继续回答。", "The service is restarting; the answer follows."},
	NoAnswer:    phrase{"（没有文字回答）", "(no answer in words)"},
	Denied:      phrase{"未获授权的工具：%s", "Tools without permission: %s"},
	StopButton:  phrase{"停止", "Stop"},

	ContinueButton: phrase{"继续", "Continue"},
	DropButton:     phrase{"不用了", "Drop"},
	AnswerButton:   phrase{"现在回答", "Answer now"},
	GoesOn:         phrase{"这次回答被中断过，已在后面继续。", "This answer was interrupted; it goes on below."},
	GoingOn:        phrase{"好的，接着来", "Going on"},
	Dropped:        phrase{"好的，不再继续", "Left as it is"},
	ContinueWord:   phrase{"继续", "continue"},
	GoOnNote: phrase{"（说明：上一次回答因服务中断而没有完成。请先确认已经做到哪一步，再从中断处接着完成，不要重复已经做过的操作。）",
		"(Note: the previous answer was cut off because the service went down. First make sure what has been done already, then go on from there; do not repeat what was done.)"},
	Late:        phrase{"这条消息晚到了%s，还没有处理。需要现在回答吗？", "This message arrived %s late and has not been answered. Shall I answer it now?"},
	LateCommand: phrase{"命令 %s 晚到了%s，没有执行。需要的话请再发一次。", "The command %s arrived %s late and was not carried out. Send it again if you still want it."},
	Minutes:     phrase{" %d 分钟", "%d min"},
	Hours:       phrase{" %d 小时", "%d h"},
	Days:        phrase{" %d 天", "%d days"},

	FailAuth:       phrase{"助手还没有登录，或登录已失效。请联系管理员。", "The agent is not logged in, or its login has expired. Please tell an admin."},
	FailBilling:    phrase{"模型账户的余额不足。请联系管理员。", "The model account has run out of credit. Please tell an admin."},
	FailRateLimit:  phrase{"模型的用量已达上限，请稍后再试。", "The model's usage limit is reached. Please try again later."},
	FailOverloaded: phrase{"模型服务正忙，请稍后再试。", "The model is overloaded. Please try again later."},
	FailNetwork:    phrase{"连接不上模型服务，请稍后再试。", "The model cannot be reached. Please try again later."},
	FailServer:     phrase{"模型服务出错了，请稍后再试。", "The model's service failed. Please try again later."},
	FailModel:      phrase{"所选的模型不可用。用 /model 换一个，或联系管理员。", "The chosen model is not available. Choose another with /model, or tell an admin."},
	FailRequest:    phrase{"模型没有接受这个请求。可以换个说法，或发送 /new 重新开始。", "The model did not accept this request. Put it another way, or send /new to start over."},
	FailRefused:    phrase{"模型拒绝回答这个问题。", "The model declined to answer this."},
	FailTooLong:    phrase{"内容太长，模型放不下。请缩短后再发。", "This is too long for the model. Please shorten it."},
	FailLimit:      phrase{"这次回答用完了额度，已停在这里。", "This answer has used up its limit and ends here."},
	FailSilent:     phrase{"助手很久没有回应，已停止等待。请再试一次。", "The agent has not responded for long, so the wait was ended. Please try again."},
	FailTurnEnd:    phrase{"这次任务超过了最长时间，已停止。", "This task took longer than allowed and was stopped."},
	FailDied:       phrase{"助手意外退出，回答到此为止。发送“继续”可以接着说。", "The agent ended unexpectedly. Send “continue” to go on."},
	FailUnknown:    phrase{"这次没有成功，请再试一次。", "This did not work. Please try again."},

	Withheld:        phrase{"平台不允许显示这条内容，它没有发出。可以换个说法再问。", "The chat platform does not allow this content, so it was not sent. Try asking in another way."},
	New:             phrase{"已开始新会话。", "A new conversation begins."},
	Reset:           phrase{"已清空对话历史，下次对话将从零开始。", "The conversation is cleared; the next one starts from zero."},
	NothingToStop:   phrase{"现在没有正在运行的任务。", "Nothing is running right now."},
	StopAsked:       phrase{"正在停止…", "Stopping…"},
	StopOver:        phrase{"这一轮已经结束了。", "This turn is already over."},
	UnknownCommand:  phrase{"没有 %s 这个命令，发送 /help 查看全部命令。", "There is no command %s; /help lists them all."},
	AskMe:           phrase{"我在。直接说你想做什么，或发送 /help 查看命令。", "I am here. Say what you need, or send /help for the commands."},
	Unreadable:      phrase{"暂时还不能阅读这种消息，请用文字告诉我。", "I cannot read this kind of message yet. Please tell me in words."},
	NotAllowed:      phrase{"这个机器人还没有所有者。日志里如果有一次性口令（MAGPIE-…），把它私聊发给我，你就是所有者；也可以把你的 ID %s 写进配置文件的 [access] owner，然后重新加载。", "This bot has no owner yet. If there is a one-time code (MAGPIE-…) in the log, send it to me in a private chat and you own it; or put your ID, %s, into the configuration file as [access] owner and reload it."},
	Help:            phrase{"查看命令", "list the commands"},
	HelpHead:        phrase{"**直接发消息就可以和助手对话。** 群里请 @ 我。\n\n命令：", "**Just write to talk with the agent.** In groups, mention me.\n\nCommands:"},
	HelpNew:         phrase{"开始新会话（历史仍保留），后面可以直接写第一个问题", "start a new conversation (the history is kept); its first question may follow"},
	HelpReset:       phrase{"清空对话历史，从零开始，后面可以直接写第一个问题", "clear the conversation and start from zero; the first question may follow"},
	HelpStop:        phrase{"停止正在进行的回答", "stop the answer that is being written"},
	HelpStatus:      phrase{"查看当前状态", "show the current state"},
	Status:          phrase{"**状态**：%s\n**项目**：%s\n**会话**：%s\n**上下文模式**：%s", "**State**: %s\n**Project**: %s\n**Session**: %s\n**Context mode**: %s"},
	StatusRunning:   phrase{"正在回答", "answering"},
	StatusIdle:      phrase{"空闲", "idle"},
	StatusSession:   phrase{"可续接", "can be resumed"},
	StatusLive:      phrase{"进程在线", "process running"},
	StatusNoSession: phrase{"尚未开始", "not begun"},

	HelpRemember:         phrase{"记住一件事，例如 /remember 周二发布", "remember something, as in /remember deploys are on Tuesday"},
	HelpMemory:           phrase{"查看和管理记忆：/memory [list｜show N｜edit N 内容｜forget N｜why N｜approve N｜reject N]", "see and manage memories: /memory [list|show N|edit N text|forget N|why N|approve N|reject N]"},
	RememberWhat:         phrase{"要记住什么？例如：/remember 周二发布", "What should I remember? For example: /remember deploys are on Tuesday"},
	RememberedForUser:    phrase{"已记住 #%d：%s\n只在你提问时使用。/memory 查看全部。", "Remembered as #%d: %s\nIt is used when you ask. /memory lists all."},
	RememberedForChat:    phrase{"已记住 #%d：%s\n本群所有人提问时都会用到。/memory 查看全部。", "Remembered as #%d: %s\nIt is used for everybody in this group. /memory lists all."},
	RememberProposed:     phrase{"已提出 #%d：%s\n管理员用 /memory approve 批准后才会生效。", "Proposed as #%d: %s\nIt counts once an admin has sent /memory approve."},
	Redacted:             phrase{"（敏感信息没有保存。但你发的原消息还在聊天里，请撤回它，再发一次不含敏感信息的；这条记忆会随撤回一起失效。）", "(What looked confidential was not kept. Your own message is still in the chat, though: recall it, which also ends this memory, and send it again without that part.)"},
	MemoryChanged:        phrase{"这条记忆刚刚被改过，请再看一遍。", "This memory has just been changed; look at it again."},
	MemoryTooMany:        phrase{"记忆太多了，请先忘掉一些。", "There are too many memories; forget some first."},
	MemoryTooLong:        phrase{"这段内容太长，记不下。", "This is too long to be remembered."},
	MemoryUnknown:        phrase{"没有这条记忆。/memory 查看全部。", "There is no such memory. /memory lists all."},
	MemoryUsage:          phrase{"用法：/memory、/memory show N、/memory edit N 新内容、/memory forget N、/memory why N、/memory approve N、/memory reject N", "Usage: /memory, /memory show N, /memory edit N new text, /memory forget N, /memory why N, /memory approve N, /memory reject N"},
	MemoryNone:           phrase{"还没有记忆。用 /remember 让我记住一件事。", "Nothing is remembered yet. /remember keeps something."},
	MemoryHead:           phrase{"**记忆**（%d 条）", "**Memories** (%d)"},
	MemoryLine:           phrase{"- `%d` %s（%s）", "- `%d` %s (%s)"},
	MemoryByTool:         phrase{"回答时记下", "while answering"},
	MemoryAfterAnswer:    phrase{"回答之后", "after an answer"},
	MemoryWhenStale:      phrase{"聊天沉默之后", "after a silence"},
	MemoryNewDocument:    phrase{"新文档", "a new document"},
	MemoryEditedDocument: phrase{"文档修改过", "an edited document"},
	MemoryStep:           phrase{"- 第 %d 版，%s %s：%s（%s）", "- v%d %s %s: %s (%s)"},
	MemoryMore:           phrase{"更多：/memory list %d", "More: /memory list %d"},
	MemoryShow:           phrase{"**#%d %s**（%s）\n\n%s\n\n关键词：%s\n编号：%s，第 %d 版", "**#%d %s** (%s)\n\n%s\n\nKeywords: %s\nId: %s, version %d"},
	MemoryWhy:            phrase{"**#%d %s** 的由来：", "Where **#%d %s** comes from:"},
	MemoryWasCreated:     phrase{"记下", "created"},
	MemoryWasChanged:     phrase{"修改", "changed"},
	MemoryWaits:          phrase{"待批准", "waits for approval"},
	ForAdmins:            phrase{"这件事由管理员决定。", "This is for an admin to decide."},
	MemoryEdited:         phrase{"已修改 #%d：%s", "Changed #%d: %s"},
	MemoryForgot:         phrase{"已忘记 #%d：%s\n当前会话里说过的内容还在，发送 /new 之后就不会再出现。", "Forgotten #%d: %s\nWhat was said in this conversation stays in it; send /new to begin without."},
	MemoryApproved:       phrase{"已批准 #%d：%s", "Approved #%d: %s"},
	MemoryRejected:       phrase{"已拒绝并删除 #%d：%s", "Rejected and removed #%d: %s"},
	MemoryCounts:         phrase{"这条记忆已经生效，不需要批准。", "This memory counts already."},
	ScopeChat:            phrase{"本聊天", "this chat"},
	ScopeUser:            phrase{"仅本人", "one person"},
	ScopeProject:         phrase{"项目", "project"},
	You:                  phrase{"你", "you"},
	TheAgent:             phrase{"助手", "the agent"},
	Remembering:          phrase{"正在记下…", "Making a note…"},
	LookingBack:          phrase{"正在翻看记录…", "Looking back…"},
	StatusAway:           phrase{"在另一台机器或另一个目录", "on another machine or in another folder"},
	StatusTold:           phrase{"**上一轮的上下文**：%s", "**Context of the last turn**: %s"},

	ToldLive:    phrase{"进程在线", "the process was there"},
	ToldResumed: phrase{"续接会话", "the session was resumed"},
	ToldBehind:  phrase{"会话缺少后面的内容，已补上，续接会话", "the session lacked its end, which was added; it was resumed"},
	ToldUnsure:  phrase{"会话无法核对，续接会话", "the session could not be checked; it was resumed"},
	ToldBegun:   phrase{"新会话", "a new session"},
	ToldHistory: phrase{" + 历史 %d 条", " + %d messages of the history"},
	ToldLost:    phrase{"%s，已从历史恢复 %d 条", "%s; %d messages were restored from the history"},
	ToldUnread:  phrase{"历史读取失败，仅%s", "the history could not be read, only: %s"},
	ToldNeither: phrase{"%s，历史也读取失败", "%s, and the history could not be read"},

	LostTranscript: phrase{"会话记录丢失", "the session's record is gone"},
	LostDamaged:    phrase{"会话记录损坏", "the session's record is damaged"},
	LostFolder:     phrase{"会话属于另一个目录", "the session belongs to another folder"},
	LostMachine:    phrase{"会话在另一台机器", "the session is on another machine"},
	LostForeign:    phrase{"会话记录与对话不符", "the session's record does not match the conversation"},
	LostUnknown:    phrase{"会话失效", "the session was not accepted"},
	LostTooLong:    phrase{"会话太长", "the session was too long"},

	HelpHistory:    phrase{"查看最近的消息，例如 /history 20", "show the last messages, as in /history 20"},
	HistoryUsage:   phrase{"请这样使用：/history 20（最多 %d 条）", "Use it like this: /history 20 (at most %d messages)"},
	HistoryNothing: phrase{"这个聊天还没有历史记录。", "Nothing was said here yet."},
	HistoryShown:   phrase{"**最近 %d 条消息**", "**The last %d messages**"},
	HistoryAnew:    phrase{"（之后开始了新会话）", "(then a new conversation began)"},

	HelpContext:       phrase{"查看下一条消息会带上哪些上下文，也可以在后面写上问题", "show what the next message would carry; a question may follow"},
	ContextNothing:    phrase{"这个聊天还没有任何上下文。", "There is no context in this chat yet."},
	ContextHead:       phrase{"**下一条消息会带上的上下文**", "**What the next message would carry**"},
	ContextMore:       phrase{"- （另有更早的 %d 条）", "- (and %d earlier ones)"},
	ContextBackground: phrase{"**群里的其他消息**", "**Said to others in the group**"},
	ContextRecalled:   phrase{"**想起的旧消息**", "**Recalled**"},
	ContextRecent:     phrase{"**最近的对话**", "**Recent**"},
	SpeakerBot:        phrase{"助手", "agent"},
	SpeakerUser:       phrase{"用户", "user"},
	OutlineNew:        phrase{"会话：新建", "Session: a new one"},
	OutlineLost:       phrase{"会话：新建，因为%s", "Session: a new one, for %s"},
	OutlineLive:       phrase{"会话：进程在线，只补充它没见过的消息", "Session: its process is running, only what it has not seen is added"},
	OutlineResume:     phrase{"会话：续接", "Session: resumed"},
	OutlineHistory:    phrase{"最近对话：%d 条（用户 %d 条，共 %d 字）", "Recent conversation: %d messages (%d of users, %d characters)"},
	OutlineRecalled:   phrase{"想起的旧消息：%d 条", "Recalled messages: %d"},
	OutlineMemories:   phrase{"记忆：%d 条", "Memories: %d"},
	OutlineBackground: phrase{"群里的其他消息：%d 条", "Messages to others in the group: %d"},
	OutlineSummary:    phrase{"摘要：%d 字", "Summary: %d characters"},
	OutlineTokens:     phrase{"估计共 %d token，用时 %v", "Estimated tokens: %d, built in %v"},
	Comma:             phrase{"，", ", "},
	Listing:           phrase{"、", ", "},
	HelpCompact:       phrase{"把较早的对话整理成摘要，腾出上下文", "sum up the older part of the conversation to make room"},
	CompactBegun:      phrase{"正在整理较早的对话，完成后会告诉你。", "Summing up the older part of the conversation; you will be told when it is done."},
	CompactDone:       phrase{"已整理：较早的 %d 条消息（%d 字）变成了 %d 字的摘要，最近 %d 条保持原样。", "Done: %d older messages (%d characters) became a summary of %d; the latest %d stay as they are."},
	CompactNothing:    phrase{"对话还很短，没有需要整理的内容。", "The conversation is still short; there is nothing to sum up."},
	CompactChanged:    phrase{"整理期间对话又有变动（例如有消息被撤回），这次没有整理，对话没有任何改变。请再发一次 `/compact`。", "The conversation changed while it was summed up, perhaps because a message was taken back, so nothing was done. Please send `/compact` again."},
	CompactFailed:     phrase{"这次没能整理成功，对话没有任何改变。请稍后再试。", "This did not work, and nothing has changed. Please try again later."},
}
