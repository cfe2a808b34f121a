package i18n

// What is said about what the agent is told: by /status, /history, /context and /compact.
var (
	StatusAway = Phrase{"在另一台机器或另一个目录", "on another machine or in another folder"}
	StatusTold = Phrase{"**上一轮的上下文**：%s", "**Context of the last turn**: %s"}

	ToldLive    = Phrase{"进程在线", "the process was there"}
	ToldResumed = Phrase{"续接会话", "the session was resumed"}
	ToldBehind  = Phrase{"会话缺少后面的内容，已补上，续接会话", "the session lacked its end, which was added; it was resumed"}
	ToldUnsure  = Phrase{"会话无法核对，续接会话", "the session could not be checked; it was resumed"}
	ToldBegun   = Phrase{"新会话", "a new session"}
	ToldHistory = Phrase{" + 历史 %d 条", " + %d messages of the history"}
	ToldLost    = Phrase{"%s，已从历史恢复 %d 条", "%s; %d messages were restored from the history"}
	ToldUnread  = Phrase{"历史读取失败，仅%s", "the history could not be read, only: %s"}
	ToldNeither = Phrase{"%s，历史也读取失败", "%s, and the history could not be read"}

	LostTranscript = Phrase{"会话记录丢失", "the session's record is gone"}
	LostDamaged    = Phrase{"会话记录损坏", "the session's record is damaged"}
	LostFolder     = Phrase{"会话属于另一个目录", "the session belongs to another folder"}
	LostMachine    = Phrase{"会话在另一台机器", "the session is on another machine"}
	LostForeign    = Phrase{"会话记录与对话不符", "the session's record does not match the conversation"}
	LostUnknown    = Phrase{"会话失效", "the session was not accepted"}
	LostTooLong    = Phrase{"会话太长", "the session was too long"}

	HelpHistory    = Phrase{"查看最近的消息，例如 /history 20", "show the last messages, as in /history 20"}
	HistoryUsage   = Phrase{"请这样使用：/history 20（最多 %d 条）", "Use it like this: /history 20 (at most %d messages)"}
	HistoryNothing = Phrase{"这个聊天还没有历史记录。", "Nothing was said here yet."}
	HistoryShown   = Phrase{"**最近 %d 条消息**", "**The last %d messages**"}
	HistoryAnew    = Phrase{"（之后开始了新会话）", "(then a new conversation began)"}

	HelpContext = Phrase{"查看下一条消息会带上哪些上下文，也可以在后面写上问题",
		"show what the next message would carry; a question may follow"}
	ContextNothing    = Phrase{"这个聊天还没有任何上下文。", "There is no context in this chat yet."}
	ContextHead       = Phrase{"**下一条消息会带上的上下文**", "**What the next message would carry**"}
	ContextMore       = Phrase{"- （另有更早的 %d 条）", "- (and %d earlier ones)"}
	ContextBackground = Phrase{"**群里的其他消息**", "**Said to others in the group**"}
	ContextRecalled   = Phrase{"**想起的旧消息**", "**Recalled**"}
	ContextRecent     = Phrase{"**最近的对话**", "**Recent**"}
	SpeakerBot        = Phrase{"助手", "agent"}
	SpeakerUser       = Phrase{"用户", "user"}
	OutlineNew        = Phrase{"会话：新建", "Session: a new one"}
	OutlineLost       = Phrase{"会话：新建，因为%s", "Session: a new one, for %s"}
	OutlineLive       = Phrase{"会话：进程在线，只补充它没见过的消息",
		"Session: its process is running, only what it has not seen is added"}
	OutlineResume  = Phrase{"会话：续接", "Session: resumed"}
	OutlineHistory = Phrase{"最近对话：%d 条（用户 %d 条，共 %d 字）",
		"Recent conversation: %d messages (%d of users, %d characters)"}
	OutlineRecalled   = Phrase{"想起的旧消息：%d 条", "Recalled messages: %d"}
	OutlineMemories   = Phrase{"记忆：%d 条", "Memories: %d"}
	OutlineBackground = Phrase{"群里的其他消息：%d 条", "Messages to others in the group: %d"}
	OutlineSummary    = Phrase{"摘要：%d 字", "Summary: %d characters"}
	OutlineTokens     = Phrase{"估计共 %d token，用时 %v", "Estimated tokens: %d, built in %v"}
	Comma             = Phrase{"，", ", "}
	Listing           = Phrase{"、", ", "}
	HelpCompact       = Phrase{"把较早的对话整理成摘要，腾出上下文", "sum up the older part of the conversation to make room"}
	CompactBegun      = Phrase{"正在整理较早的对话，完成后会告诉你。",
		"Summing up the older part of the conversation; you will be told when it is done."}
	CompactDone = Phrase{"已整理：较早的 %d 条消息（%d 字）变成了 %d 字的摘要，最近 %d 条保持原样。",
		"Done: %d older messages (%d characters) became a summary of %d; the latest %d stay as they are."}
	CompactNothing = Phrase{"对话还很短，没有需要整理的内容。", "The conversation is still short; there is nothing to sum up."}
	CompactChanged = Phrase{"整理期间对话又有变动（例如有消息被撤回），这次没有整理，对话没有任何改变。请再发一次 `/compact`。",
		"The conversation changed while it was summed up, perhaps because a message was taken back, so nothing was done. Please send `/compact` again."}
	CompactFailed = Phrase{"这次没能整理成功，对话没有任何改变。请稍后再试。",
		"This did not work, and nothing has changed. Please try again later."}
)
