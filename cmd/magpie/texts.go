package main

import (
	"magpie/db/sqlite"
	"magpie/internal/i18n"
)

// Texts for the user who runs the commands.
var (
	textDescription = i18n.Phrase{
		ZH: "鹊桥：在飞书里和自己机器上的 Claude Code 助手对话。",
		EN: "Magpie: chat in Feishu with Claude Code on your own machine.",
	}
	textGroupBegin     = i18n.Phrase{ZH: "开始：", EN: "Begin:"}
	textGroupRun       = i18n.Phrase{ZH: "运行：", EN: "Run:"}
	textGroupData      = i18n.Phrase{ZH: "对话和记忆：", EN: "Conversations and memories:"}
	textGroupAbout     = i18n.Phrase{ZH: "关于这个程序：", EN: "This program:"}
	textSeeHelp        = i18n.Phrase{ZH: "用法见 %s --help。", EN: "See %s --help."}
	textUnknownCommand = i18n.Phrase{ZH: "不认识的命令 %s%s", EN: "unknown command %s%s"}
	textUnknownFlag    = i18n.Phrase{ZH: "没有参数 %s%s", EN: "unknown flag %s%s"}
	textTooMany        = i18n.Phrase{ZH: "多余的参数 %s%s", EN: "unexpected argument %s%s"}
	textDidYouMean     = i18n.Phrase{ZH: "，是不是 %s？", EN: "; did you mean %s?"}
	textUseManager     = i18n.Phrase{
		ZH: "；服务用 systemctl %[1]s magpie（用户自己的服务用 systemctl --user %[1]s magpie），或 pm2 %[1]s feishu",
		EN: "; for the service, use systemctl %[1]s magpie (systemctl --user %[1]s magpie for your own user's), " +
			"or pm2 %[1]s feishu",
	}
	textStartService = i18n.Phrase{
		ZH: "；magpie serve 在这个终端里运行鹊桥；" +
			"服务用 systemctl %[1]s magpie（用户自己的服务用 systemctl --user %[1]s magpie），或 pm2 %[1]s feishu",
		EN: "; magpie serve runs the bridge in this terminal; " +
			"for the service, use systemctl %[1]s magpie (systemctl --user %[1]s magpie for your own user's), " +
			"or pm2 %[1]s feishu",
	}
	textServiceStatus = i18n.Phrase{
		ZH: "；服务的状态用 magpie service %s 查看",
		EN: "; for the service, use magpie service %s",
	}
	textServiceLogs = i18n.Phrase{
		ZH: "；日志用 journalctl -f -u magpie（用户自己的服务用 journalctl --user -f -u magpie）或 pm2 %s feishu 查看",
		EN: "; for the log, use journalctl -f -u magpie (journalctl --user -f -u magpie for your own user's service), " +
			"or pm2 %s feishu",
	}
	textNoValue      = i18n.Phrase{ZH: "%s：缺少值", EN: "%s: a value is missing"}
	textFlagForValue = i18n.Phrase{
		ZH: "%[1]s：缺少值；如果 %[2]s 就是它的值，请写成 %[1]s=%[2]s",
		EN: "%[1]s: a value is missing; if %[2]s is meant as one, write %[1]s=%[2]s",
	}
	textNoNumber    = i18n.Phrase{ZH: "%s：应为整数，而不是 %s", EN: "%s: must be a whole number, not %s"}
	textMissing     = i18n.Phrase{ZH: "缺少参数 %s", EN: "missing: %s"}
	textNoCommand   = i18n.Phrase{ZH: "缺少子命令：%s", EN: "a command is missing: %s"}
	textNotTogether = i18n.Phrase{ZH: "%s 和 %s 不能同时使用", EN: "%s and %s cannot be used together"}
	textNoSwitch    = i18n.Phrase{ZH: "%s：应为 true 或 false，而不是 %s", EN: "%s: must be true or false, not %s"}
	textNoFolder    = i18n.Phrase{ZH: "%s：%s 不是文件夹", EN: "%s: %s is not a folder"}
	textNoFile      = i18n.Phrase{ZH: "%s：%s 是文件夹，不是文件", EN: "%s: %s is a folder, not a file"}
	textNotOneOf    = i18n.Phrase{ZH: "%s 应为 %s 之一，而不是 %s", EN: "%s must be one of %s, not %s"}
	textUnhealthy   = i18n.Phrase{
		ZH: "有检查没有通过，见 fail 开头的几行",
		EN: "some checks failed: see the lines marked \"fail\"",
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
		EN: "lines not imported: %d; correct them and import the file again (known messages are not added twice)",
	}
	textLine        = i18n.Phrase{ZH: "第 %d 行：%s", EN: "line %d: %s"}
	textMoreBad     = i18n.Phrase{ZH: "其余的错误行只计数，不再显示", EN: "further bad lines are only counted"}
	textExported    = i18n.Phrase{ZH: "%s：%d 条消息", EN: "%s: %d message(s)"}
	textImporting   = i18n.Phrase{ZH: "导入", EN: "importing"}
	textExporting   = i18n.Phrase{ZH: "导出", EN: "exporting"}
	textCopying     = i18n.Phrase{ZH: "备份", EN: "backing up"}
	textUpgrading   = i18n.Phrase{ZH: "升级数据库", EN: "upgrading"}
	textIndexing    = i18n.Phrase{ZH: "建立索引", EN: "indexing"}
	textInMessages  = i18n.Phrase{ZH: "%d 条", EN: "%d message(s)"}
	textInMemories  = i18n.Phrase{ZH: "%d 条记忆", EN: "%d memor(y|ies)"}
	textInMB        = i18n.Phrase{ZH: "%d MB", EN: "%d MB"}
	textInSteps     = i18n.Phrase{ZH: "%d 步", EN: "%d step(s)"}
	textRate        = i18n.Phrase{ZH: "，每秒 %.0f", EN: ", %.0f/s"}
	textTimeLeft    = i18n.Phrase{ZH: "，还需 %s", EN: ", %s left"}
	textNoDecisions = i18n.Phrase{ZH: "没有任何决定。", EN: "No decisions."}
	textCopied      = i18n.Phrase{ZH: "%s：%.1f MB，用时 %v", EN: "%s: %.1f MB in %v"}
	textMemoriesOut = i18n.Phrase{ZH: "%s：%d 条记忆", EN: "%s: %d memor(y|ies)"}
	textMemoriesIn  = i18n.Phrase{
		ZH: "%s：新增 %d，更改 %d，已有 %d",
		EN: "%s: %d new, %d changed, %d known already",
	}
	textStarting    = i18n.Phrase{ZH: "鹊桥正在启动：正在连接%v", EN: "Magpie is starting: connecting to %v"}
	textConnectedAs = i18n.Phrase{
		ZH: "已连上%v，机器人是“%s”：去给它发消息吧",
		EN: "Connected to %v as %s: send it a message there",
	}
	textManName     = i18n.Phrase{ZH: "名称", EN: "NAME"}
	textManSynopsis = i18n.Phrase{ZH: "概要", EN: "SYNOPSIS"}
	textManCommand  = i18n.Phrase{ZH: "命令", EN: "command"}
	textManFlags    = i18n.Phrase{ZH: "参数", EN: "flags"}
	textManOptions  = i18n.Phrase{ZH: "选项", EN: "OPTIONS"}
	textManCommands = i18n.Phrase{ZH: "命令", EN: "COMMANDS"}
	textManFiles    = i18n.Phrase{ZH: "文件", EN: "FILES"}
	textManConfig   = i18n.Phrase{
		ZH: "配置。依次在当前文件夹、用户的配置文件夹和 /etc/magpie 里找。",
		EN: "The configuration. Looked for in the working folder, then in the user's configuration folder, then in /etc/magpie.",
	}
	textManExit   = i18n.Phrase{ZH: "退出码", EN: "EXIT STATUS"}
	textManWell   = i18n.Phrase{ZH: "正常。", EN: "Everything went well."}
	textManFailed = i18n.Phrase{
		ZH: "失败，最后一行说明原因。",
		EN: "Something failed; the last line of the output says what.",
	}
	textManMistake = i18n.Phrase{
		ZH: "命令行或配置有错。",
		EN: "The command line or the configuration has a mistake.",
	}
	textManGivenUp = i18n.Phrase{
		ZH: "用 Ctrl-C 或 Ctrl-D 中断了 magpie setup。",
		EN: "magpie setup was interrupted with Ctrl-C or Ctrl-D.",
	}
	textPlayground = i18n.Phrase{ZH: "鹊桥演练场：http://%s/", EN: "Magpie playground: http://%s/"}
	textStranger   = i18n.Phrase{
		ZH: "你还不能使用这个机器人。已经问过它的所有者，要不要让你用。", EN: "You may not use this bot yet. Its owner has been asked whether to let you in.",
	}
	textByProcess = i18n.Phrase{ZH: "（进程 %d）", EN: " (process %d)"}

	textMigrateDry = i18n.Phrase{
		ZH: "还没有写入任何内容。确认后加上 --write。",
		EN: "Nothing was written. If this is what you want, add --write.",
	}
	textMigrateConfig = i18n.Phrase{
		ZH: "%s 已经存在，magpie migrate 不会改动它：用 --config 和 --data 写到别处，或者先把它移走",
		EN: "%s already exists, and magpie migrate does not change it: write elsewhere with --config and --data, or move it away first",
	}
	textMigrateData = i18n.Phrase{
		ZH: "数据库 %s 已经存在：要把对话加进去，就加上 --data %s；否则用 --data 换一个文件夹",
		EN: "the database %s already exists: to add to it, pass --data %s; otherwise choose another folder with --data",
	}
	textMigrateDone = i18n.Phrase{
		ZH: "已写入 %s；%d 条新消息写入 %s。",
		EN: "Wrote %s, and %d new message(s) to %s.",
	}
	textMigrateNext = i18n.Phrase{
		ZH: "先停掉 %[1]s（飞书的每个事件只发给一个程序），再运行 magpie doctor --config %[2]s 和 magpie serve --config %[2]s。",
		EN: "Stop %[1]s first, since Feishu gives each event to one program only. Then run magpie doctor --config %[2]s and magpie serve --config %[2]s.",
	}
)

// The kinds of database work, and their units.
var (
	textsOfWork = map[sqlite.Work]i18n.Phrase{
		sqlite.Copying: textCopying, sqlite.Upgrading: textUpgrading, sqlite.Indexing: textIndexing,
	}
	unitsOfWork = map[sqlite.Work]i18n.Phrase{
		sqlite.Copying: textInMB, sqlite.Upgrading: textInSteps, sqlite.Indexing: textInMessages,
	}
)
