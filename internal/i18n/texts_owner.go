package i18n

// Texts for the owner.
var (
	OwnerWelcome = Phrase{"你好！我是鹊桥，让你在这里使用自己电脑上的 Claude Code。这个机器人归你所有。直接提问就可以，发送 /help 查看命令。",
		"Hello! I'm Magpie. I connect this chat to Claude Code on your machine, and you own this bot. Just ask me something, or send /help for the commands."}
)
