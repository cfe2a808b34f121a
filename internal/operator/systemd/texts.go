package systemd

import (
	"cmp"
	"os"

	"magpie/internal/i18n"
)

// Texts about installing or removing a service.
var (
	textWrote   = i18n.Phrase{ZH: "已写入 %s", EN: "wrote %s"}
	textStarted = i18n.Phrase{ZH: "%s 已启用并启动", EN: "%s is enabled and started"}
	textItsLog  = i18n.Phrase{ZH: "日志：journalctl -f -u %s", EN: "its log: journalctl -f -u %s"}
	textUserLog = i18n.Phrase{
		ZH: "日志：journalctl --user -f -u %s\n要在没有登录时也运行：loginctl enable-linger",
		EN: "its log: journalctl --user -f -u %s\nto keep it running while you are not logged in: loginctl enable-linger",
	}
	textNothingToDo = i18n.Phrase{ZH: "没有 %s，不需要做什么", EN: "nothing to do: there is no %s"}
	textRemoved     = i18n.Phrase{ZH: "已删除 %s", EN: "removed %s"}

	textSameUser = i18n.Phrase{
		ZH: "助手和服务一样以 %s 运行：它能读到服务的密钥和数据。让另一个用户运行助手：--agents NAME",
		EN: "agents run as %s, like the service: they can read its secret and its data. Another user for them: --agents NAME",
	}
	textOtherUser = i18n.Phrase{
		ZH: "助手以 %s 运行，读不到服务的密钥和数据",
		EN: "agents run as %s, who can read neither the secret nor the data of the service",
	}
	textGiving      = i18n.Phrase{ZH: "把 %s 交给 %s", EN: "giving %s to %s"}
	textWarning     = i18n.Phrase{ZH: "注意：%s", EN: "warning: %s"}
	textCannotWrite = i18n.Phrase{
		ZH: "注意：%[1]s 不能写入 %[2]s：chown -R %[1]s %[2]s",
		EN: "warning: %[1]s cannot write to %[2]s: chown -R %[1]s %[2]s",
	}
	textHardLinks = i18n.Phrase{
		ZH: "注意：没有交给 %[1]s：%[2]s 里的 %[3]d 个文件有别的硬链接，可能是服务自己的文件",
		EN: "warning: files in %[2]s with other hard links were not given to %[1]s, since they may be the service's own: %[3]d",
	}
	textCannotEnter = i18n.Phrase{
		ZH: "注意：%s 进不去 %s：它上面的某个文件夹不对这个用户开放",
		EN: "warning: %s cannot get into %s: a folder above it is closed to that user",
	}
	textCannotRead = i18n.Phrase{
		ZH: "注意：%[1]s 读不了 %[2]s：chown %[1]s %[2]s",
		EN: "warning: %[1]s cannot read %[2]s: chown %[1]s %[2]s",
	}
)

// say is a line of text in a language; empty = the language of the user who runs the program.
func say(l i18n.Lang, p i18n.Phrase, args ...any) string {
	return p.Sprintf(cmp.Or(l, i18n.OfLocale(os.Environ())), args...) + "\n"
}
