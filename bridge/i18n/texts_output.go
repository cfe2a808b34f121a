package i18n

// What is said about files, groups and topics.
var (
	Withheld = Phrase{"平台不允许显示这条内容，它没有发出。可以换个说法再问。",
		"The chat platform does not allow this content, so it was not sent. Try asking in another way."}

	SendingFile = Phrase{"正在发送文件…", "Sending a file…"}
	FileRefused = Phrase{"文件“%s”没有发出：平台不接受它。", "The file “%s” was not sent: the platform does not take it."}
	AnswerFile  = Phrase{"回答-%s.md", "answer-%s.md"}

	HelpMention    = Phrase{"群里何时需要 @我", "when a group must mention me"}
	ArgsMention    = Phrase{"[提及｜全部｜命令]", "[mention|all|commands]"}
	MentionPrivate = Phrase{"私聊里不需要 @我，这个命令只用于群。",
		"In a private chat I need no mention; this command is for groups."}
	MentionNow = Phrase{"这个群的规则：%s\n可以改为 `/mention mention`、`/mention all` 或 `/mention commands`。",
		"The rule of this group: %s\nChange it by `/mention mention`, `/mention all` or `/mention commands`."}
	MentionUsage = Phrase{"用法：\n- `/mention mention` 只回答 @我 的消息\n- `/mention all` 回答所有消息\n- `/mention commands` 命令不用 @我，其他消息要 @我",
		"Usage:\n- `/mention mention` I answer what mentions me\n- `/mention all` I answer everything\n- `/mention commands` commands need no mention, all else does"}
	MentionSet  = Phrase{"好的。%s", "Done. %s"}
	RuleMention = Phrase{"只回答 @我 的消息。", "I answer only what mentions me."}
	RuleAll     = Phrase{"回答所有消息，@其他人 或 @所有人 的除外。（应用需要“获取群组中所有消息”权限，否则我只看得到 @我 的消息。）",
		"I answer everything but what mentions others or everybody. (The app needs the permission im:message.group_msg, or I see only what mentions me.)"}
	RuleCommands = Phrase{"以 / 开头的命令不用 @我，其他消息要 @我。（应用需要“获取群组中所有消息”权限。）",
		"Commands, which begin with /, need no mention; all else does. (The app needs the permission im:message.group_msg.)"}

	GreetingMention = Phrase{"大家好，我是 Claude Code 助手。@我 就可以提问，发送 `@我 /help` 查看能做什么。",
		"Hello, I am a Claude Code agent. Mention me to ask something; mention me with `/help` to see what I can do."}
	GreetingAll = Phrase{"大家好，我是 Claude Code 助手。直接说就可以，发送 `/help` 查看能做什么。",
		"Hello, I am a Claude Code agent. Just talk to me; send `/help` to see what I can do."}
	GreetingPrivate = Phrase{"你好，我是 Claude Code 助手。直接把问题发给我就可以，发送 `/help` 查看能做什么。",
		"Hello, I am a Claude Code agent. Just send me your question; `/help` shows what I can do."}
	AddedByStranger = Phrase{"%s 把我加进了群“%s”。那里的人还不能和我对话；要允许的话，在这里发送 `/admin chats allow %s`。",
		"%s has added me to the group “%s”, which may not talk to me yet. To allow it, send `/admin chats allow %s` here."}
)
