package main

// doctorTexts is what the doctor says. A line that finds something wrong is followed by what to do.
var doctorTexts = struct {
	NoConfig, WriteConfig, FromEnvironment, ConfigAt, ConfigWrong, CorrectIn, TheEnvironment                phrase
	Nobody, MakeOwner, OwnedBy, OthersRead, Mode                                                            phrase
	DBRescued, PutBack, DBLost, SeeLog, RowsUnread, CorrectRows                                             phrase
	DBLater, DBBroken, Restore, DBSlow, CheckCopy, DBUnread, MayRead, DBServed, DBWhole                     phrase
	CLIFails, CLIReinstall, CLIVersion, CLIOld, CLIOpen, CLINew, CLIStay, CLINoLogin, CLILogin, CLILoggedIn phrase
	CLINone, CLIInstall, Limits, Configured, ByCores, ByMemory                                              phrase
	Refused, CopyAnew, Unreached, CheckNetwork, Taken, Clock, KeepTime, ClockRight                          phrase
	BotNone, AddBot, Bot, ScopesRefused, ScopesAny, ScopesLack, AddScopes, ScopesUnknown                    phrase
	SeeList, Scopes, Deaf, EventsLack, AddEvents, Events, EventsUseful                                      phrase
	DiskUnread, DiskLook, DiskTight, DiskFree, DiskRoomy, Database, Project                                 phrase
	NoManager, InstallManager, Managers                                                                     phrase
	RulesBare, RulesNarrow                                                                                  phrase
}{
	NoConfig:        phrase{"配置：没有 magpie.toml", "configuration: there is no magpie.toml"},
	WriteConfig:     phrase{"运行 magpie setup 创建", "make one with magpie setup"},
	FromEnvironment: phrase{"配置：只来自环境变量", "configuration: from the environment only"},
	ConfigAt:        phrase{"配置：%s", "configuration: %s"},
	ConfigWrong:     phrase{"配置：%v", "configuration: %v"},
	CorrectIn:       phrase{"在 %s 中改正", "correct it in %s"},
	TheEnvironment:  phrase{"环境变量", "the environment"},
	Nobody:          phrase{"访问：不知道机器人归谁所有", "access: it is not known to whom the bot belongs"},
	MakeOwner: phrase{"启动后会向飞书查询应用的所有者；查不到时，把日志里的一次性口令私聊发给机器人",
		"at its start magpie asks the platform for the app's owner; if it is not told, send the bot the one-time code of the log in a private chat"},
	OwnedBy:    phrase{"访问：机器人归 %s 所有", "access: the bot belongs to %s"},
	OthersRead: phrase{"权限：其他用户能读到 %s 里的密钥（权限 %04o）", "permissions: others can read the secrets in %s (mode %04o)"},
	Mode:       phrase{"权限：%s 的权限是 %04o", "permissions: %s has mode %04o"},

	RulesBare: phrase{"工具规则：%s 没有限定范围，智能体可以不经询问用在整台机器上", "rules of tools: %s: agents may do that anywhere on this machine, unasked"},
	RulesNarrow: phrase{`在 [claude] allowed_tools 里限定路径或命令，如 "Read(./**)"、"Bash(git status)"`,
		`name paths or commands in [claude] allowed_tools, such as "Read(./**)" and "Bash(git status)"`},

	DBRescued: phrase{"数据库：%s 丢失；丢失时的内容保存在 %s", "database: %s was lost; what it held is saved in %s"},
	PutBack: phrase{"停止 magpie；如果还有 %[1]s-wal 和 %[1]s-shm，先移走；把 %[2]s 移到 %[1]s；再启动 magpie",
		"stop magpie, move %[1]s-wal and %[1]s-shm aside if they exist, move %[2]s to %[1]s, and start magpie again"},
	DBLost: phrase{"数据库：%s 丢失，而进程 %d 还在使用它", "database: %s was lost while process %d uses it"},
	SeeLog: phrase{"先不要停止 magpie，按它的日志处理", "do not stop magpie yet, and do what its log says"},

	RowsUnread: phrase{"数据库：%d 行数据无法读取，已跳过：%s", "database: %d rows cannot be read and are left out: %s"},
	CorrectRows: phrase{"先用 magpie backup 备份并停止 magpie，再用 sqlite3 %s 改正或按 rowid 删除这些行",
		"make a copy with magpie backup, stop magpie, and correct these rows, or delete them by their rowid, with sqlite3 %s"},
	DBLater:   phrase{"数据库：%s 将在第一次启动时创建", "database: %s will be made at the first start"},
	DBBroken:  phrase{"数据库：%v", "database: %v"},
	Restore:   phrase{"按提示恢复 magpie backup 生成的最新备份", "restore the latest file made by magpie backup, as said"},
	DBSlow:    phrase{"数据库：%s 在 %v 内没有读完", "database: %s was not read within %v"},
	CheckCopy: phrase{"用 magpie backup 生成一份副本，再运行 sqlite3 副本 'PRAGMA integrity_check'", "check a copy that magpie backup makes, with sqlite3 COPY 'PRAGMA integrity_check'"},
	DBUnread:  phrase{"数据库：%s：%v", "database: %s: %v"},
	MayRead: phrase{"确认运行 magpie 的用户可以读取它，并且 magpie 的版本不比数据旧",
		"see that the user that runs magpie may read it, and that this magpie is not older than its data"},
	DBServed: phrase{"数据库：%s 完好；进程 %d 正在使用", "database: %s is whole; process %d serves it"},
	DBWhole:  phrase{"数据库：%s 完好；没有进程在使用", "database: %s is whole; no process serves it"},

	CLIFails:     phrase{"claude：%s --version：%v", "claude: %s --version: %v"},
	CLIReinstall: phrase{"重新安装：npm install -g @anthropic-ai/claude-code", "install it anew: npm install -g @anthropic-ai/claude-code"},
	CLIVersion:   phrase{"claude：%s 的版本是 %s", "claude: %s is version %s"},
	CLIOld:       phrase{"claude：%s 的版本是 %s；magpie 用 %s 至 %s 测试过", "claude: %s is version %s; magpie is tested with %s to %s"},
	CLIOpen: phrase{"claude：%s 的版本是 %s；%s 之前的版本用 cat < 文件 能读取任何文件，所以每条命令都要确认；由脚本启动的 CLI 认不出版本，不会多问",
		"claude: %s is version %s; before %s, \"cat < FILE\" reads any file, so each command is asked for, unless a script starts the CLI"},
	CLINew:     phrase{"claude：%s 的版本是 %s；magpie 用 %s 至 %s 测试过", "claude: %s is version %s; magpie is tested with %s to %s"},
	CLIStay:    phrase{"多半没有问题；若有异常，请升级 magpie", "it will probably work; if something is odd, update magpie"},
	CLINoLogin: phrase{"claude：没有登录", "claude: not logged in"},
	CLILogin: phrase{"以运行 magpie 的用户执行 claude auth login，或在 [claude.env] 里设置 ANTHROPIC_API_KEY",
		"as the user that runs magpie: claude auth login, or set ANTHROPIC_API_KEY in [claude.env]"},
	CLILoggedIn: phrase{"claude：已登录", "claude: logged in"},
	CLINone:     phrase{"claude：找不到 %s", "claude: there is no %s"},
	CLIInstall:  phrase{"安装：npm install -g @anthropic-ai/claude-code", "install it: npm install -g @anthropic-ai/claude-code"},

	Limits: phrase{"claude：最多同时运行 %d 轮（%s），保留 %d 个进程（%s）",
		"claude: at most %d turns at a time (%s) and %d processes (%s)"},
	Configured: phrase{"由配置或另一项限制决定", "by the configuration, or the other limit"},
	ByCores:    phrase{"按 %d 个核心", "by %d cores"},
	ByMemory:   phrase{"按 %d MB 空闲内存", "by %d MB of free memory"},

	Refused:      phrase{"平台：应用被拒绝：%v", "platform: the app is refused: %v"},
	CopyAnew:     phrase{"从“凭证与基础信息”页重新复制 App ID 和 App Secret：%s", "copy id and secret anew from the app's page \"Credentials & Basic Info\": %s"},
	Unreached:    phrase{"平台：连接不上：%v", "platform: not reached: %v"},
	CheckNetwork: phrase{"检查网络、代理和 [feishu] base_url", "check the network, its proxy, and [feishu] base_url"},
	Taken:        phrase{"平台：应用的 App ID 和 App Secret 有效", "platform: it takes the app's id and secret"},
	Clock:        phrase{"时钟：与平台相差 %v", "clock: %v from the platform's"},
	KeepTime:     phrase{"让系统校时：timedatectl set-ntp true", "let the system keep the time: timedatectl set-ntp true"},
	ClockRight:   phrase{"时钟：准确", "clock: right"},

	BotNone: phrase{"机器人：%v", "bot: %v"},
	AddBot: phrase{"在 %s 添加“机器人”能力，然后在 %s 创建并发布新版本",
		"add the Bot capability: %s , and publish a new version: %s"},
	Bot:           phrase{"机器人：已启用", "bot: there is one"},
	ScopesRefused: phrase{"应用权限：缺少 %s", "permissions of the app: missing %s"},
	ScopesAny:     phrase{" 或 ", " or "},
	ScopesLack:    phrase{"应用权限：缺少 %s", "permissions of the app: missing %s"},
	AddScopes:     phrase{"在 %s 开通，然后在 %s 创建并发布新版本", "add them: %s , and publish a new version: %s"},
	ScopesUnknown: phrase{"应用权限：%v", "permissions of the app: %v"},
	SeeList:       phrase{"对照 README.md 里的权限列表", "see the list of permissions in README.md"},
	Scopes:        phrase{"应用权限：齐全", "permissions of the app: all that are needed"},
	Deaf:          phrase{"事件：没有订阅 %s，收不到消息", "events: no subscription to %s, so no message arrives"},
	EventsLack:    phrase{"事件和回调：缺少 %s", "events and callbacks: missing %s"},
	AddEvents: phrase{"在 magpie 运行时到 %s 选择“使用长连接接收”并添加，然后在 %s 创建并发布新版本",
		"while magpie runs, choose the long connection and add them: %s , and publish a new version: %s"},
	EventsUseful: phrase{"事件：还可以订阅 %s（编辑过的消息、打开私聊时的问候）：%s",
		"events: %s can be subscribed to as well (edited messages, a greeting in new private chats): %s"},
	Events: phrase{"事件和回调：齐全", "events and callbacks: all that are needed"},

	DiskUnread: phrase{"磁盘（%s）：%s：%v", "disk of the %s: %s: %v"},
	DiskLook:   phrase{"用 df 查看", "look at it with df"},
	DiskTight:  phrase{"磁盘（%s）：%[3]s 只剩 %[2]d MB", "disk of the %s: only %d MB are free at %s"},
	DiskFree:   phrase{"清理一些空间", "free some space"},
	DiskRoomy:  phrase{"磁盘（%s）：%[3]s 剩余 %[2]d GB", "disk of the %s: %d GB are free at %s"},
	Database:   phrase{"数据库", "database"},
	Project:    phrase{"项目", "project"},

	NoManager:      phrase{"服务管理：既没有 systemd，也没有 pm2", "service manager: there is neither systemd nor pm2"},
	InstallManager: phrase{"安装 pm2，或者自己保证 magpie serve 退出后会被重新启动", "install pm2, or see to it yourself that magpie serve is started again"},
	Managers:       phrase{"服务管理：%s", "service manager: %s"},
}
