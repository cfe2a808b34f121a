package i18n

// What is said about memories, by /remember and /memory.
var (
	HelpRemember = Phrase{"记住一件事，例如 /remember 周二发布",
		"remember something, as in /remember deploys are on Tuesday"}
	HelpMemory = Phrase{"查看和管理记忆：/memory [list｜show N｜edit N 内容｜forget N｜why N｜approve N｜reject N]",
		"see and manage memories: /memory [list|show N|edit N text|forget N|why N|approve N|reject N]"}
	RememberWhat = Phrase{"要记住什么？例如：/remember 周二发布",
		"What should I remember? For example: /remember deploys are on Tuesday"}
	RememberedForUser = Phrase{"已记住 #%d：%s\n只在你提问时使用。/memory 查看全部。",
		"Remembered as #%d: %s\nIt is used when you ask. /memory lists all."}
	RememberedForChat = Phrase{"已记住 #%d：%s\n本群所有人提问时都会用到。/memory 查看全部。",
		"Remembered as #%d: %s\nIt is used for everybody in this group. /memory lists all."}
	RememberProposed = Phrase{"已提出 #%d：%s\n管理员用 /memory approve 批准后才会生效。",
		"Proposed as #%d: %s\nIt counts once an admin has sent /memory approve."}
	Redacted = Phrase{"（敏感信息没有保存。但你发的原消息还在聊天里，请撤回它，再发一次不含敏感信息的；这条记忆会随撤回一起失效。）",
		"(What looked confidential was not kept. Your own message is still in the chat, though: recall it, which also ends this memory, and send it again without that part.)"}
	MemoryChanged = Phrase{"这条记忆刚刚被改过，请再看一遍。", "This memory has just been changed; look at it again."}
	MemoryTooMany = Phrase{"记忆太多了，请先忘掉一些。", "There are too many memories; forget some first."}
	MemoryTooLong = Phrase{"这段内容太长，记不下。", "This is too long to be remembered."}
	MemoryUnknown = Phrase{"没有这条记忆。/memory 查看全部。", "There is no such memory. /memory lists all."}
	MemoryUsage   = Phrase{"用法：/memory、/memory show N、/memory edit N 新内容、/memory forget N、/memory why N、/memory approve N、/memory reject N",
		"Usage: /memory, /memory show N, /memory edit N new text, /memory forget N, /memory why N, /memory approve N, /memory reject N"}
	MemoryNone           = Phrase{"还没有记忆。用 /remember 让我记住一件事。", "Nothing is remembered yet. /remember keeps something."}
	MemoryHead           = Phrase{"**记忆**（%d 条）", "**Memories** (%d)"}
	MemoryLine           = Phrase{"- `%d` %s（%s）", "- `%d` %s (%s)"}
	MemoryByTool         = Phrase{"回答时记下", "while answering"}
	MemoryAfterAnswer    = Phrase{"回答之后", "after an answer"}
	MemoryWhenStale      = Phrase{"聊天沉默之后", "after a silence"}
	MemoryNewDocument    = Phrase{"新文档", "a new document"}
	MemoryEditedDocument = Phrase{"文档修改过", "an edited document"}
	MemoryStep           = Phrase{"- 第 %d 版，%s %s：%s（%s）", "- v%d %s %s: %s (%s)"}
	MemoryMore           = Phrase{"更多：/memory list %d", "More: /memory list %d"}
	MemoryShow           = Phrase{"**#%d %s**（%s）\n\n%s\n\n关键词：%s\n编号：%s，第 %d 版",
		"**#%d %s** (%s)\n\n%s\n\nKeywords: %s\nId: %s, version %d"}
	MemoryWhy        = Phrase{"**#%d %s** 的由来：", "Where **#%d %s** comes from:"}
	MemoryWasCreated = Phrase{"记下", "created"}
	MemoryWasChanged = Phrase{"修改", "changed"}
	MemoryWaits      = Phrase{"待批准", "waits for approval"}
	ForAdmins        = Phrase{"这件事由管理员决定。", "This is for an admin to decide."}
	MemoryEdited     = Phrase{"已修改 #%d：%s", "Changed #%d: %s"}
	MemoryForgot     = Phrase{"已忘记 #%d：%s\n当前会话里说过的内容还在，发送 /new 之后就不会再出现。",
		"Forgotten #%d: %s\nWhat was said in this conversation stays in it; send /new to begin without."}
	MemoryApproved = Phrase{"已批准 #%d：%s", "Approved #%d: %s"}
	MemoryRejected = Phrase{"已拒绝并删除 #%d：%s", "Rejected and removed #%d: %s"}
	MemoryCounts   = Phrase{"这条记忆已经生效，不需要批准。", "This memory counts already."}
	ScopeChat      = Phrase{"本聊天", "this chat"}
	ScopeUser      = Phrase{"仅本人", "one person"}
	ScopeProject   = Phrase{"项目", "project"}
	You            = Phrase{"你", "you"}
	TheAgent       = Phrase{"助手", "the agent"}
)
