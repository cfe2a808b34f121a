package i18n

// Texts of a conversation at a terminal.
var (
	TerminalWaits = Phrase{
		ZH: "服务没有回应，等它恢复。",
		EN: "The service does not answer; waiting for it.",
	}
	TerminalElsewhere = Phrase{
		ZH: "这句话并入了正在写的另一个回答，这里没有单独的回答。",
		EN: "This became part of a question that is answered elsewhere; it has no answer of its own here.",
	}
	TerminalNobodyDecides = Phrase{
		ZH: "这里没有人可以决定，所以拒绝了。要自己决定，请在终端里运行 magpie chat。",
		EN: "Nobody can decide here, so it was refused. To decide yourself, run magpie chat at a terminal.",
	}
	TerminalFileSaved  = Phrase{ZH: "收到文件：%s", EN: "File received: %s"}
	TerminalFileFailed = Phrase{ZH: "文件 %s 没有存下来：%v", EN: "The file %s was not saved: %v"}

	HandoffReady = Phrase{
		ZH: "这个对话可以到终端里继续了。请以用户 %s 的身份，在机器 %s 上运行：\n\n`magpie attach %s`\n\n在收回之前，这里的新问题会先等着。",
		EN: "This conversation is ready for a terminal. As the user %s on the machine %s, run:\n\n`magpie attach %s`\n\nUntil it is taken back, new questions here wait.",
	}
	HandoffTaken = Phrase{
		ZH: "这个对话已经在机器 %s 的终端里了。在收回之前，这里的新问题会先等着。",
		EN: "This conversation is in a terminal of the machine %s already. Until it is taken back, new questions here wait.",
	}
	HandoffByHand = Phrase{
		ZH: "有人在机器 %[2]s 的终端里直接打开了这个对话的会话（进程 %[1]d），请在那里退出 Claude Code；这里的问题会先等着。",
		EN: "Somebody has opened the session of this conversation in a terminal of the machine %[2]s (process %[1]d). Leave Claude Code there; questions here wait until then.",
	}
	// Of the same, for chats whose admins are not to know the machine.
	HandoffReadyElsewhere = Phrase{
		ZH: "这个对话可以到终端里继续了。请运行机器人的人在终端里运行：\n\n`magpie attach %s`\n\n在收回之前，这里的新问题会先等着。",
		EN: "This conversation is ready for a terminal. Whoever runs the bot goes on with:\n\n`magpie attach %s`\n\nUntil it is taken back, new questions here wait.",
	}
	HandoffTakenElsewhere = Phrase{
		ZH: "这个对话已经在终端里了。在收回之前，这里的新问题会先等着。",
		EN: "This conversation is in a terminal already. Until it is taken back, new questions here wait.",
	}
	HandoffByHandElsewhere = Phrase{
		ZH: "运行机器人的人在终端里直接打开了这个对话的会话，要在那里退出 Claude Code；这里的问题会先等着。",
		EN: "Whoever runs the bot has opened the session of this conversation in a terminal, and is to leave Claude Code there; questions here wait until then.",
	}
	HandoffWaits = Phrase{
		ZH: "这个对话正在终端里继续，收回之后再回答这个问题。",
		EN: "This conversation goes on in a terminal. The question will be answered when it is back.",
	}
	HandoffHolds = Phrase{
		ZH: "这个对话正在终端里继续，请先在那里退出。用 /handoff 交出去的，也可以发送 /handoff 收回。",
		EN: "This conversation goes on in a terminal: leave it there first. If it was handed over, /handoff back takes it back, too.",
	}
	HandoffRecalled   = Phrase{ZH: "正在收回：终端里的 Claude Code 会退出。", EN: "Taking it back: Claude Code in the terminal ends."}
	HandoffOver       = Phrase{ZH: "对话从终端回到了这里。", EN: "The conversation is back from the terminal."}
	HandoffNone       = Phrase{ZH: "这个对话不在终端里。", EN: "This conversation is in no terminal."}
	HandoffUsage      = Phrase{ZH: "用法：/handoff 把对话交给终端，/handoff 收回 把它收回来。", EN: "Usage: /handoff hands the conversation to a terminal, /handoff back takes it back."}
	HandoffNoTerminal = Phrase{ZH: "这台机器没有开放终端入口，对话不能到终端里继续。", EN: "The terminal is off on this machine, so no conversation can go on there."}
	HandoffLost       = Phrase{ZH: "这个对话的会话接不上（%s），不能到终端里继续。先在这里问一句，再发送 /handoff。", EN: "The session of this conversation cannot be resumed (%s), so it cannot go on in a terminal. Ask something here first, then send /handoff."}
	HandoffFailed     = Phrase{ZH: "没能把对话交给终端：%s", EN: "The conversation could not be handed to a terminal: %s"}
	HandoffSeeLog     = Phrase{ZH: "原因在日志里。", EN: "the reason is in the log."}
	TakeBackButton    = Phrase{ZH: "收回", EN: "Take it back"}
)
