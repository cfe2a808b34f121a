package main

import (
	"magpie/bridge/i18n"
	"magpie/db/sqlite"
)

// What the commands say to whoever runs them.
var (
	textDescription = i18n.Phrase{
		ZH: "鹊桥：在飞书里和自己机器上的 Claude Code 助手对话。",
		EN: "鹊桥: chat in Feishu with the Claude Code agent on your own machine.",
	}
	textSeeHelp   = i18n.Phrase{ZH: "用法见 %s --help。", EN: "See %s --help."}
	textUnhealthy = i18n.Phrase{
		ZH: "有需要处理的问题，见 fail 开头的几行",
		EN: "something has to be done, see the lines with \"fail\"",
	}

	textInUse = i18n.Phrase{
		ZH: "鹊桥正在运行，数据库 %s 正被使用%s：先停掉它（systemctl stop magpie 或 pm2 stop feishu），再运行这条命令，然后重新启动",
		EN: "Magpie is running and uses the database %s%s: stop it (systemctl stop magpie, or pm2 stop feishu), run this command again, and start it",
	}
	textImported = i18n.Phrase{
		ZH: "读入 %d 行：新增 %d，已有 %d，错误 %d，用时 %v",
		EN: "%d read: %d new, %d known, %d bad, in %v",
	}
	textNotImported = i18n.Phrase{
		ZH: "有 %d 行没有导入：改正后再导入一次，已有的不会重复添加",
		EN: "lines that were not imported: %d; correct them and import the file again, what is known is not added twice",
	}
	textLine       = i18n.Phrase{ZH: "第 %d 行：%s", EN: "line %d: %s"}
	textMoreBad    = i18n.Phrase{ZH: "其余的错误行只计数，不再显示", EN: "further bad lines are only counted"}
	textExported   = i18n.Phrase{ZH: "%s：%d 条消息", EN: "%s: %d messages"}
	textImporting  = i18n.Phrase{ZH: "导入", EN: "importing"}
	textExporting  = i18n.Phrase{ZH: "导出", EN: "exporting"}
	textCopying    = i18n.Phrase{ZH: "备份", EN: "copying"}
	textUpgrading  = i18n.Phrase{ZH: "升级数据库", EN: "upgrading"}
	textIndexing   = i18n.Phrase{ZH: "建立索引", EN: "indexing"}
	textInMessages = i18n.Phrase{ZH: "%d 条", EN: "%d messages"}
	textInMB       = i18n.Phrase{ZH: "%d MB", EN: "%d MB"}
	textInSteps    = i18n.Phrase{ZH: "%d 步", EN: "%d steps"}
	textRate       = i18n.Phrase{ZH: "，每秒 %.0f", EN: ", %.0f/s"}
	textTimeLeft   = i18n.Phrase{ZH: "，还需 %s", EN: ", %s left"}
	textByProcess  = i18n.Phrase{ZH: "（进程 %d）", EN: " (process %d)"}

	textMigrateDry = i18n.Phrase{
		ZH: "还没有写入任何内容。确认后加上 --write。",
		EN: "Nothing was written. If this is what you want, add --write.",
	}
	textMigrateConfig = i18n.Phrase{
		ZH: "已经有配置 %s，magpie migrate 不会合并或覆盖它：用 --config 和 --data 写到别处，或者先把它移走",
		EN: "there is a configuration already, %s, and magpie migrate neither changes nor replaces it: write to other places with --config and --data, or move it away first",
	}
	textMigrateData = i18n.Phrase{
		ZH: "已经有数据库 %s：要把对话加进去，用 --data %s 说明；否则用 --data 换一个文件夹",
		EN: "there is a database already, %s: to add to it, say so with --data %s; else name another folder with --data",
	}
	textMigrateDone = i18n.Phrase{
		ZH: "已写入 %s；%d 条新消息写入 %s。",
		EN: "Wrote %s, and %d new messages to %s.",
	}
	textMigrateNext = i18n.Phrase{
		ZH: "先停掉 %[1]s（飞书的每个事件只发给一个程序），再运行 magpie doctor --config %[2]s 和 magpie serve --config %[2]s。",
		EN: "Stop %[1]s first, since Feishu gives each event to one program only. Then run magpie doctor --config %[2]s and magpie serve --config %[2]s.",
	}
)

// What a database is doing, and in what that is counted.
var (
	textsOfWork = map[sqlite.Work]i18n.Phrase{
		sqlite.Copying: textCopying, sqlite.Upgrading: textUpgrading, sqlite.Indexing: textIndexing,
	}
	unitsOfWork = map[sqlite.Work]i18n.Phrase{
		sqlite.Copying: textInMB, sqlite.Upgrading: textInSteps, sqlite.Indexing: textInMessages,
	}
)
