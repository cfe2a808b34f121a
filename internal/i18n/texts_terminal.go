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
)
