package services

import (
	"cmp"
	"os"

	"magpie/internal/i18n"
)

// Texts about installing or removing a service, except systemd's.
var (
	textWrote   = i18n.Phrase{ZH: "已写入 %s", EN: "wrote %s"}
	textStarted = i18n.Phrase{
		ZH: "%s 已启动，以后每次登录时也会启动\n日志：tail -f %s",
		EN: "%s is started, now and at every login\nits log: tail -f %s",
	}
	textNothingToDo = i18n.Phrase{ZH: "没有 %s，不需要做什么", EN: "nothing to do: there is no %s"}
	textRemoved     = i18n.Phrase{ZH: "已删除 %s", EN: "removed %s"}
	textTaskStarted = i18n.Phrase{
		ZH: "任务 %s 已启动，以后每次登录时也会启动；它的窗口显示日志",
		EN: "the task %s is started, now and at every login; its window shows the log",
	}
	textTaskRemoved = i18n.Phrase{ZH: "已删除任务 %s", EN: "removed the task %s"}
)

// say is a line of text in a language; empty = the language of the user who runs the program.
func say(l i18n.Lang, p i18n.Phrase, args ...any) string {
	return p.Sprintf(cmp.Or(l, i18n.OfLocale(os.Environ())), args...) + "\n"
}
