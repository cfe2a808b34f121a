package i18n

// Texts about memories, for /remember and /memory.
var (
	HelpRemember = Phrase{"记住一件事，例如 /remember 周二发布",
		"remember something, for example /remember we deploy on Tuesdays"}
	ArgsMemory = Phrase{"[列表｜查看 编号｜修改 编号 新内容｜忘记 编号｜来源 编号｜批准 编号｜拒绝 编号]",
		"[list|show NUMBER|edit NUMBER TEXT|forget NUMBER|why NUMBER|approve NUMBER|reject NUMBER]"}
	HelpMemory   = Phrase{"查看和管理记忆", "show and manage memories"}
	RememberWhat = Phrase{"要记住什么？例如：/remember 周二发布",
		"What should I remember? For example: /remember we deploy on Tuesdays"}
	RememberedForUser = Phrase{"已记住 #%d：%s\n只在你提问时使用。发送 /memory 查看全部。",
		"Remembered #%d: %s\nIt is only used for your questions. Send /memory to see them all."}
	RememberedForChat = Phrase{"已记住 #%d：%s\n本群所有人提问时都会用到。发送 /memory 查看全部。",
		"Remembered #%d: %s\nIt is used for everyone in this group. Send /memory to see them all."}
	RememberProposed = Phrase{"已提交 #%d：%s\n等待管理员批准（/memory 批准 %[1]d）。",
		"Proposed #%d: %s\nWaiting for an admin's approval (/memory approve %[1]d)."}
	Redacted = Phrase{"（敏感信息没有保存，但原消息还在聊天里。请撤回原消息，这条记忆会一并失效；再发一次不含敏感信息的就可以。）",
		"(Confidential parts were not stored, but your message is still in the chat. Please recall it, which removes this memory too, and send it again without them.)"}
	MemoryChanged = Phrase{"这条记忆刚刚有改动，请再看一遍。", "This memory has just been changed. Please look at it again."}
	MemoryTooMany = Phrase{"记忆太多了，请先用 /memory 忘记 编号 忘掉一些。",
		"There are too many memories. Please forget some first with /memory forget NUMBER."}
	MemoryTooLong = Phrase{"内容太长，记不下。请缩短后再试。", "This is too long to remember. Please shorten it."}
	MemoryUnknown = Phrase{"没有这条记忆，发送 /memory 查看全部。", "No such memory. Send /memory to see them all."}
	MemoryUsage   = Phrase{"用法：/memory [列表｜查看 编号｜修改 编号 新内容｜忘记 编号｜来源 编号｜批准 编号｜拒绝 编号]",
		"Usage: /memory [list|show NUMBER|edit NUMBER TEXT|forget NUMBER|why NUMBER|approve NUMBER|reject NUMBER]"}
	MemoryNone           = Phrase{"还没有记忆。发送 /remember 和要记住的事就能添加。", "No memories yet. Send /remember TEXT to add one."}
	MemoryHead           = Phrase{"**记忆**（%d 条）", "**Memories** (%d)"}
	MemoryLine           = Phrase{"- `%d` %s（%s）", "- `%d` %s (%s)"}
	MemoryByTool         = Phrase{"回答时", "while answering"}
	MemoryAfterAnswer    = Phrase{"回答后", "after an answer"}
	MemoryWhenStale      = Phrase{"聊天闲置后", "after the chat went quiet"}
	MemoryAfterRecall    = Phrase{"消息已撤回", "message recalled"}
	MemoryNewDocument    = Phrase{"新文档", "new document"}
	MemoryEditedDocument = Phrase{"文档有修改", "edited document"}
	MemoryStep           = Phrase{"- 第 %d 版，%s %s：%s（%s）", "- v%d, %s, %s by %s (%s)"}
	MemoryMore           = Phrase{"更多：/memory 列表 %d", "More: /memory list %d"}
	MemoryShow           = Phrase{"**#%d %s**（%s）\n\n%s\n\n关键词：%s\nID：%s，第 %d 版",
		"**#%d %s** (%s)\n\n%s\n\nKeywords: %s\nID: %s, version %d"}
	MemoryWhy        = Phrase{"**#%d %s** 的由来：", "Where **#%d %s** comes from:"}
	MemoryWasCreated = Phrase{"记下", "added"}
	MemoryWasChanged = Phrase{"修改", "changed"}
	MemoryWaits      = Phrase{"待批准", "pending approval"}
	MemoryEdited     = Phrase{"已修改 #%d：%s", "Changed #%d: %s"}
	MemoryForgot     = Phrase{"已忘记 #%d：%s\n当前对话里说过的内容还在，发送 /new 之后就不会再提到。",
		"Forgot #%d: %s\nIt may still come up in this conversation. Send /new to start without it."}
	MemoryApproved = Phrase{"已批准 #%d：%s", "Approved #%d: %s"}
	MemoryRejected = Phrase{"已拒绝并删除 #%d：%s", "Rejected and deleted #%d: %s"}
	MemoryCounts   = Phrase{"这条记忆已经生效。", "Already active."}
	ScopeChat      = Phrase{"本聊天", "this chat"}
	ScopeUser      = Phrase{"仅本人", "personal"}
	ScopeProject   = Phrase{"项目", "project"}
	You            = Phrase{"你", "you"}
	TheAgent       = Phrase{"助手", "the agent"}
	TheProgram     = Phrase{"鹊桥", "Magpie"}
	AnImport       = Phrase{"导入", "an import"}
	SomeoneElse    = Phrase{"其他人", "someone else"}
)
