package i18n

// What the other commands say, and the command line's mistakes.
var (
	CmdDescription = Phrase{
		"鹊桥：在飞书里和自己机器上的 Claude Code 助手对话。",
		"Magpie: chat in Feishu with Claude Code on your own machine.",
	}
	CmdGroupBegin     = Phrase{"开始：", "Begin:"}
	CmdGroupRun       = Phrase{"运行：", "Run:"}
	CmdGroupData      = Phrase{"对话和记忆：", "Conversations and memories:"}
	CmdGroupAbout     = Phrase{"关于这个程序：", "This program:"}
	CmdSeeHelp        = Phrase{"用法见 %s --help。", "See %s --help."}
	CmdUnknownCommand = Phrase{"不认识的命令 %s%s", "unknown command %s%s"}
	CmdUnknownFlag    = Phrase{"没有参数 %s%s", "unknown flag %s%s"}
	CmdTooMany        = Phrase{"多余的参数 %s%s", "unexpected argument %s%s"}
	CmdDidYouMean     = Phrase{"，是不是 %s？", "; did you mean %s?"}
	CmdUseManager     = Phrase{
		"；服务用 systemctl %[1]s magpie（用户自己的服务用 systemctl --user %[1]s magpie），或 pm2 %[1]s feishu",
		"; for the service, use systemctl %[1]s magpie (systemctl --user %[1]s magpie for your own user's), " +
			"or pm2 %[1]s feishu",
	}
	CmdStartService = Phrase{
		"；magpie serve 在这个终端里运行鹊桥；" +
			"服务用 systemctl %[1]s magpie（用户自己的服务用 systemctl --user %[1]s magpie），或 pm2 %[1]s feishu",
		"; magpie serve runs the bridge in this terminal; " +
			"for the service, use systemctl %[1]s magpie (systemctl --user %[1]s magpie for your own user's), " +
			"or pm2 %[1]s feishu",
	}
	CmdServiceStatus = Phrase{
		"；服务的状态用 magpie service %s 查看",
		"; for the service, use magpie service %s",
	}
	CmdServiceLogs = Phrase{
		"；日志用 journalctl -f -u magpie（用户自己的服务用 journalctl --user -f -u magpie）或 pm2 %s feishu 查看",
		"; for the log, use journalctl -f -u magpie (journalctl --user -f -u magpie for your own user's service), " +
			"or pm2 %s feishu",
	}
	CmdNoValue      = Phrase{"%s：缺少值", "%s: a value is missing"}
	CmdFlagForValue = Phrase{
		"%[1]s：缺少值；如果 %[2]s 就是它的值，请写成 %[1]s=%[2]s",
		"%[1]s: a value is missing; if %[2]s is meant as one, write %[1]s=%[2]s",
	}
	CmdNoNumber    = Phrase{"%s：应为整数，而不是 %s", "%s: must be a whole number, not %s"}
	CmdMissing     = Phrase{"缺少参数 %s", "missing: %s"}
	CmdNoCommand   = Phrase{"缺少子命令：%s", "a command is missing: %s"}
	CmdNotTogether = Phrase{"%s 和 %s 不能同时使用", "%s and %s cannot be used together"}
	CmdNoSwitch    = Phrase{"%s：应为 true 或 false，而不是 %s", "%s: must be true or false, not %s"}
	CmdNoFolder    = Phrase{"%s：%s 不是文件夹", "%s: %s is not a folder"}
	CmdNoFile      = Phrase{"%s：%s 是文件夹，不是文件", "%s: %s is a folder, not a file"}
	CmdNotOneOf    = Phrase{"%s 应为 %s 之一，而不是 %s", "%s must be one of %s, not %s"}
	CmdUnhealthy   = Phrase{
		"有检查没有通过，见 fail 开头的几行",
		"some checks failed: see the lines marked \"fail\"",
	}

	CmdInUse = Phrase{
		"鹊桥正在运行，数据库 %s 正被使用%s：先停掉它（systemctl stop magpie 或 pm2 stop feishu），再运行这条命令，然后重新启动",
		"Magpie is running and uses the database %s%s: stop it (systemctl stop magpie, or pm2 stop feishu), run this command again, and start it",
	}
	CmdImported = Phrase{
		"读入 %d 行：新增 %d，已有 %d，错误 %d，用时 %v",
		"%d read: %d new, %d known, %d bad, in %v",
	}
	CmdNotImported = Phrase{
		"有 %d 行没有导入：改正后再导入一次，已有的不会重复添加",
		"lines not imported: %d; correct them and import the file again (known messages are not added twice)",
	}
	CmdLine       = Phrase{"第 %d 行：%s", "line %d: %s"}
	CmdMoreBad    = Phrase{"其余的错误行只计数，不再显示", "further bad lines are only counted"}
	CmdExported   = Phrase{"%s：%d 条消息", "%s: %d message(s)"}
	CmdImporting  = Phrase{"导入", "importing"}
	CmdExporting  = Phrase{"导出", "exporting"}
	CmdCopying    = Phrase{"备份", "backing up"}
	CmdUpgrading  = Phrase{"升级数据库", "upgrading"}
	CmdIndexing   = Phrase{"建立索引", "indexing"}
	CmdMoving     = Phrase{"复制", "copying"}
	CmdComparing  = Phrase{"比对", "comparing"}
	CmdInRows     = Phrase{"%d 行", "%d row(s)"}
	CmdInMessages = Phrase{"%d 条", "%d message(s)"}
	CmdInMemories = Phrase{"%d 条记忆", "%d memor(y|ies)"}
	CmdInMB       = Phrase{"%d MB", "%d MB"}
	CmdInSteps    = Phrase{"%d 步", "%d step(s)"}
	CmdRate       = Phrase{"，每秒 %.0f", ", %.0f/s"}
	CmdTimeLeft   = Phrase{"，还需 %s", ", %s left"}
	CmdOneBridge  = Phrase{
		"SQLite 数据库只由一个鹊桥使用；用 PostgreSQL 时，这里会列出使用它的各台机器。",
		"A database of SQLite has one bridge; with PostgreSQL, the machines that use it are listed here.",
	}
	CmdNoBridges = Phrase{
		"没有鹊桥在使用这个数据库，最近一天也没有。",
		"No bridge uses this database, nor has one within a day.",
	}
	CmdBridgeColumns  = Phrase{"机器\t状态\t开始\t有效期至\t聊天数", "MACHINE\tSTATE\tSINCE\tUNTIL\tCHATS"}
	CmdBridgeLeads    = Phrase{"运行中，也负责日报和清理", "runs, also sends digests and sweeps"}
	CmdBridgeLives    = Phrase{"运行中", "runs"}
	CmdBridgeEnded    = Phrase{"已结束", "has ended"}
	CmdNoSessions     = Phrase{"在各个项目里，没有只用 claude 开始的会话。", "No session was begun with claude alone in any project."}
	CmdSessionColumns = Phrase{"会话\t最近使用\t项目\t第一个问题", "SESSION\tLAST USED\tPROJECT\tFIRST QUESTION"}
	CmdNoTokens       = Phrase{"还没有令牌：magpie token new 新建一个。", "No tokens yet: magpie token new makes one."}
	CmdTokenColumns   = Phrase{"名字\tID\t项目\t触发\t创建\t有效期至", "NAME\tID\tPROJECT\tRUNS\tCREATED\tEXPIRES"}
	CmdTokenTryRuns   = Phrase{"这个令牌只能触发一件事。试一下：", "This token can start one thing only. Try it:"}
	CmdTokenStays     = Phrase{"不过期", "never"}
	CmdTokenOnce      = Phrase{"请保存好：令牌只显示这一次。谁拿到它，谁就能让助手干活。", "Keep it safe: it is shown only this once, and whoever has it can set the agent to work."}
	CmdTokenNoAPI     = Phrase{
		"服务还没有打开 HTTP 接口：在配置里写 [http] listen = \":8787\"，再重启服务。",
		"The service has no HTTP API yet: write [http] listen = \":8787\" into its configuration and restart it.",
	}
	CmdTokenTry    = Phrase{"接口地址（base URL）是 %s，模型是 magpie。试一下：", "The base URL is %s, the model is magpie. Try it:"}
	CmdNoDecisions = Phrase{"没有任何决定。", "No decisions."}
	CmdCopied      = Phrase{"%s：%.1f MB，用时 %v", "%s: %.1f MB in %v"}
	CmdMoved       = Phrase{
		"已复制 %d 行，两边逐表比对一致，用时 %v。把下面几行写进 magpie.toml（网址里的密码这里不显示），然后启动鹊桥：\n\n" +
			"data = %q\n\n[db]\nurl = %q\n\n原来的数据库 %s 没有改动。确认一切正常之后再删掉它。",
		"%d row(s) copied, and equal on both sides, in %v. Write this to magpie.toml (a password in the URL is not shown here), and start Magpie:\n\n" +
			"data = %q\n\n[db]\nurl = %q\n\nThe database %s is as it was. Remove it once you have seen that all is well.",
	}
	CmdMemoriesOut = Phrase{"%s：%d 条记忆", "%s: %d memor(y|ies)"}
	CmdMemoriesIn  = Phrase{
		"%s：新增 %d，更改 %d，已有 %d",
		"%s: %d new, %d changed, %d known already",
	}
	CmdStarting    = Phrase{"鹊桥正在启动：正在连接%v", "Magpie is starting: connecting to %v"}
	CmdConnectedAs = Phrase{
		"已连上%v，机器人是“%s”：去给它发消息吧",
		"Connected to %v as %s: send it a message there",
	}
	ManName     = Phrase{"名称", "NAME"}
	ManSynopsis = Phrase{"概要", "SYNOPSIS"}
	ManCommand  = Phrase{"命令", "command"}
	ManFlags    = Phrase{"参数", "flags"}
	ManOptions  = Phrase{"选项", "OPTIONS"}
	ManCommands = Phrase{"命令", "COMMANDS"}
	ManFiles    = Phrase{"文件", "FILES"}
	ManConfig   = Phrase{
		"配置。依次在当前文件夹、用户的配置文件夹和 /etc/magpie 里找。",
		"The configuration. Looked for in the working folder, then in the user's configuration folder, then in /etc/magpie.",
	}
	ManExit   = Phrase{"退出码", "EXIT STATUS"}
	ManWell   = Phrase{"正常。", "Everything went well."}
	ManFailed = Phrase{
		"失败，最后一行说明原因。",
		"Something failed; the last line of the output says what.",
	}
	ManMistake = Phrase{
		"命令行或配置有错。",
		"The command line or the configuration has a mistake.",
	}
	ManGivenUp = Phrase{
		"用 Ctrl-C 或 Ctrl-D 中断了 magpie setup。",
		"magpie setup was interrupted with Ctrl-C or Ctrl-D.",
	}
	CmdPlayground = Phrase{"鹊桥演练场：http://%s/", "Magpie playground: http://%s/"}
	CmdStranger   = Phrase{
		"你还不能使用这个机器人。已经问过它的所有者，要不要让你用。", "You may not use this bot yet. Its owner has been asked whether to let you in.",
	}
	CmdByProcess = Phrase{"（进程 %d）", " (process %d)"}
)
