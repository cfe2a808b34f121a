package i18n

// What is said about what people send.
var (
	Edited       = Phrase{"这条消息改过了。要按新的内容重新回答吗？", "This message was changed. Shall I answer it again as it is now?"}
	EditedButton = Phrase{"重新回答", "Answer again"}
	Recalled     = Phrase{"消息已撤回，不再回答。", "The message was taken back, so it is not answered."}
	Receiving    = Phrase{"正在接收文件…", "Fetching what was sent…"}
	FileMissed   = Phrase{"没有取到：%s", "Could not be fetched: %s"}
	FileTooBig   = Phrase{"超过 %s，没有读取：%s", "Over %s, so it was not read: %s"}

	PictureTooLarge = Phrase{"图片像素太多，助手没有直接看到：%s。缩小后再发一次就可以。",
		"Too many pixels to look at: %s. Please send a smaller version."}
)
