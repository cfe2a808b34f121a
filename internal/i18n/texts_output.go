package i18n

// Texts about files, groups and topics.
var (
	Withheld = Phrase{"这条内容被平台拦截，没有发出。请换个说法再问。",
		"The chat platform blocked this content, so it was not sent. Try asking in a different way."}

	SendingFile = Phrase{"正在发送文件…", "Sending a file…"}
	FileLost    = Phrase{"文件“%s”没有发出：存有它的机器离线了，或者它已被删除。还需要的话，请再要一次。", "The file “%s” could not be sent: the machine that has it is offline, or it was deleted. Ask for it again if you still need it."}
	FileRefused = Phrase{"文件“%s”被平台拒绝，没有发出。", "The chat platform rejected the file “%s”, so it was not sent."}
	AnswerFile  = Phrase{"回答-%s.md", "answer-%s.md"}

	HelpMention    = Phrase{"设置群里何时需要 @我", "choose when people must mention me in a group"}
	ArgsMention    = Phrase{"[提及｜全部｜命令]", "[mention|all|commands]"}
	MentionPrivate = Phrase{"私聊里不需要 @我，这个命令只用于群。",
		"This command is for groups. In a private chat you don't need to mention me."}
	MentionNow         = Phrase{"本群的规则：%s", "This group's rule: %s"}
	RuleMentionButton  = Phrase{"@我才回答", "When mentioned"}
	RuleAllButton      = Phrase{"回答所有消息", "Every message"}
	RuleCommandsButton = Phrase{"命令不用 @", "Commands without a mention"}
	MentionUsage       = Phrase{"用法：\n- `/mention 提及`：只回答 @我 的消息\n- `/mention 全部`：回答所有消息\n- `/mention 命令`：命令不用 @我，其他消息要 @我",
		"Usage:\n- `/mention mention`: only messages that mention me\n- `/mention all`: every message\n- `/mention commands`: commands need no mention, other messages do"}
	MentionSet  = Phrase{"好的。%s", "OK. %s"}
	RuleMention = Phrase{"只回答 @我 的消息。", "I answer only messages that mention me."}
	RuleAll     = Phrase{"回答所有消息，@其他人 或 @所有人 的除外。（应用需要“获取群组中所有消息”权限，否则我只能看到 @我 的消息。）",
		"I answer every message, except those that mention other people or everyone. (The app needs the permission im:message.group_msg. Without it I only see messages that mention me.)"}
	RuleCommands = Phrase{"以 / 开头的命令不用 @我，其他消息要 @我。（应用需要“获取群组中所有消息”权限。）",
		"Commands (starting with /) need no mention, other messages do. (The app needs the permission im:message.group_msg.)"}

	GreetingMention = Phrase{"大家好，我是 Claude Code 助手。@我 就能提问，发送 `@我 /help` 看看我能做什么。",
		"Hello, I'm a Claude Code agent. Mention me to ask something, or mention me with `/help` to see what I can do."}
	GreetingAll = Phrase{"大家好，我是 Claude Code 助手。直接提问就可以，发送 `/help` 看看我能做什么。",
		"Hello, I'm a Claude Code agent. Just ask me something, or send `/help` to see what I can do."}
	GreetingPrivate = Phrase{"你好，我是 Claude Code 助手。直接提问就可以，发送 `/help` 看看我能做什么。",
		"Hello, I'm a Claude Code agent. Just ask me something, or send `/help` to see what I can do."}
	AddedByStranger = Phrase{"%s 把我加进了群“%s”，群里的人还不能和我对话。要允许的话，请在这里发送 `/admin chats allow %s`。",
		"%s added me to the group “%s”. Its members can't talk to me yet. To let them, send `/admin chats allow %s` here."}
)
