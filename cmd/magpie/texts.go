package main

import "magpie/bridge/i18n"

// What the commands say to whoever runs them.
var (
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
