package i18n

// Texts about users' messages.
var (
	SaidElsewhere = Phrase{"%s（%s）：%s", "%s (%s): %s"} // a person, the door, what was said
	Edited        = Phrase{"这条消息已编辑。要按新的内容重新回答吗？", "This message was edited. Do you want me to answer it again?"}
	EditedButton  = Phrase{"重新回答", "Answer again"}
	Recalled      = Phrase{"消息已撤回，不再回答。", "The message was recalled, so I won't answer it."}
	Receiving     = Phrase{"正在接收文件…", "Receiving files…"}
	FileMissed    = Phrase{"接收失败：%s", "Couldn't be received: %s"}
	FileTooBig    = Phrase{"超过 %s，没有读取：%s", "Larger than %s, so not read: %s"}

	FileForbidden = Phrase{"接收失败：%s。应用缺少“获取单聊、群组消息”权限，请让管理员在开发者后台开通，再发布新版本。",
		"Couldn't be received: %s. The app lacks the permission im:message:readonly. " +
			"An admin can add it in the developer console, then publish a new version."}
)
