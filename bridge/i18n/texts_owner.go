package i18n

// What the owner is told.
var (
	OwnerWelcome = Phrase{"你好！我是 Magpie，让你在这里使用自己电脑上的 Claude Code。这个机器人归你所有。直接写下问题就可以，发送 /help 查看命令。",
		"Hello! I am Magpie. Through me you use the Claude Code on your machine from here. This bot belongs to you. Just ask, or send /help for the commands."}
)
