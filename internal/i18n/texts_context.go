package i18n

// Texts about the agent's context: for /status, /history, /context and /compact.
var (
	StatusElsewhere = Phrase{"在另一台电脑或另一个文件夹", "on another machine or in another folder"}
	StatusContext   = Phrase{"**上次回答的上下文**：%s", "**Context of the last answer**: %s"}

	ContextLive        = Phrase{"会话进行中", "live session"}
	ContextResumed     = Phrase{"续接会话", "resumed session"}
	ContextIncomplete  = Phrase{"续接会话，补上了缺少的消息", "resumed session, missing messages added"}
	ContextUnverified  = Phrase{"续接会话，未能核对", "resumed session, not verified"}
	ContextNewSession  = Phrase{"新会话", "new session"}
	ContextHistory     = Phrase{" + %d 条历史消息", " + %d earlier message(s)"}
	ContextLost        = Phrase{"%s，已恢复 %d 条消息", "%s – restored %d message(s)"}
	ContextNoHistory   = Phrase{"%s（历史读取失败）", "%s (history unavailable)"}
	ContextUnavailable = Phrase{"%s，历史也读取失败", "%s, history unavailable"}

	LostTranscript = Phrase{"会话丢失", "session lost"}
	LostDamaged    = Phrase{"会话损坏", "session damaged"}
	LostFolder     = Phrase{"会话属于另一个文件夹", "session belongs to another folder"}
	LostMachine    = Phrase{"会话在另一台电脑上", "session is on another machine"}
	LostForeign    = Phrase{"会话与对话内容不符", "session doesn't match the conversation"}
	LostUnknown    = Phrase{"会话失效", "session no longer valid"}
	LostTooLong    = Phrase{"会话过长", "session too long"}
	LostRefused    = Phrase{"模型不接受原来的会话", "the model no longer accepts the session"}

	HelpHistory  = Phrase{"查看最近的消息，例如 /history 20", "show the latest messages, for example /history 20"}
	HistoryUsage = Phrase{"用法：/history [条数]，例如 /history 20（最多 %d 条）",
		"Usage: /history [count], for example /history 20 (up to %d)"}
	HistoryNothing   = Phrase{"本聊天还没有历史记录。", "This chat has no history yet."}
	HistoryShown     = Phrase{"**最近 %d 条消息**", "**Latest messages** (%d)"}
	HistoryRestarted = Phrase{"（以下是新的对话）", "(new conversation)"}

	HelpContext = Phrase{"查看下一条消息会附上哪些上下文，后面可以写上问题",
		"show the context that will go with your next message; you can add a question"}
	ContextNothing   = Phrase{"本聊天还没有上下文。", "This chat has no context yet."}
	ContextHead      = Phrase{"**下一条消息会附上的上下文**", "**Context for your next message**"}
	ContextMore      = Phrase{"- （另有更早的 %d 条）", "- (%d earlier, not shown)"}
	ContextOverheard = Phrase{"**群里的其他消息**", "**Other messages in the group**"}
	ContextRecalled  = Phrase{"**相关的旧消息**", "**Related earlier messages**"}
	ContextRecent    = Phrase{"**最近的对话**", "**Recent conversation**"}
	SpeakerBot       = Phrase{"助手", "agent"}
	SpeakerUser      = Phrase{"用户", "user"}
	OutlineNew       = Phrase{"会话：新会话", "Session: new"}
	OutlineLost      = Phrase{"会话：新会话（%s）", "Session: new (%s)"}
	OutlineLive      = Phrase{"会话进行中，只发送新消息", "Session active: only new messages are sent"}
	OutlineResume    = Phrase{"会话：续接", "Session: resumed"}
	OutlineHistory   = Phrase{"最近的对话：%d 条（用户 %d 条，共 %d 字）",
		"Recent messages: %d (from users: %d; %d character(s))"}
	OutlineRecalled  = Phrase{"相关的旧消息：%d 条", "Related earlier messages: %d"}
	OutlineMemories  = Phrase{"记忆：%d 条", "Memories: %d"}
	OutlineOverheard = Phrase{"群里的其他消息：%d 条", "Other messages in the group: %d"}
	OutlineSummary   = Phrase{"摘要：%d 字", "Summary: %d character(s)"}
	OutlineTokens    = Phrase{"共约 %d token", "About %d token(s) in total"}
	Comma            = Phrase{"，", ", "}
	Enumeration      = Phrase{"、", ", "}
	HelpCompact      = Phrase{"把较早的对话整理成摘要，腾出上下文空间", "summarize the older part of the conversation to free up context"}
	CompactBegun     = Phrase{"正在整理较早的对话，完成后会告诉你。",
		"Summarizing the older part of the conversation. I'll tell you when it's done."}
	CompactDone = Phrase{"已整理：较早的 %d 条消息（%d 字）缩成了 %d 字的摘要，最近 %d 条保持原样。",
		"Done: summarized %d older message(s) (%d character(s)) in %d character(s). The latest %d (is|are) unchanged."}
	CompactNothing = Phrase{"对话还很短，不需要整理。", "The conversation is still short, so there is nothing to summarize."}
	CompactChanged = Phrase{"整理期间对话有变动（例如有消息被撤回），所以没有整理，对话保持原样。请再发一次 `/compact`。",
		"The conversation changed in the meantime (a message may have been recalled), so nothing was summarized. Please send `/compact` again."}
	CompactFailed = Phrase{"整理失败，对话保持原样。请稍后再试。",
		"The summary failed and the conversation is unchanged. Please try again later."}
)
