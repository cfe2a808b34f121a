package doctor

import "magpie/internal/i18n"

// Texts of the doctor. A finding about a problem is followed by what to do.
var (
	textNoConfig        = i18n.Phrase{ZH: "配置：没有 magpie.toml", EN: "configuration: there is no magpie.toml"}
	textWriteConfig     = i18n.Phrase{ZH: "运行 magpie setup 创建", EN: "make one with magpie setup"}
	textFromEnvironment = i18n.Phrase{ZH: "配置：只来自环境变量", EN: "configuration: environment variables only"}
	textConfigAt        = i18n.Phrase{ZH: "配置：%s", EN: "configuration: %s"}
	textConfigWrong     = i18n.Phrase{ZH: "配置：%v", EN: "configuration: %v"}
	textCorrectIn       = i18n.Phrase{ZH: "在 %s 中改正", EN: "correct it in %s"}
	textTheEnvironment  = i18n.Phrase{ZH: "环境变量", EN: "the environment"}
	textRunAsOwner      = i18n.Phrase{
		ZH: "它属于用户 %[1]s：用 sudo -u %[1]s 运行，或者让当前用户可以读取它",
		EN: "it belongs to the user %[1]s: run this with sudo -u %[1]s, or let your user read it",
	}
	textRunAsAnother = i18n.Phrase{
		ZH: "以可以读取它的用户运行",
		EN: "run this as a user who may read it",
	}
	textNameFile = i18n.Phrase{
		ZH: "用 --config 指定 magpie.toml 文件",
		EN: "name the file magpie.toml with --config",
	}
	textNobody    = i18n.Phrase{ZH: "访问：机器人还没有所有者", EN: "access: the bot has no owner yet"}
	textMakeOwner = i18n.Phrase{
		ZH: "启动后会查询应用的所有者；查不到时，把日志里的一次性口令（MAGPIE-…）私聊发给机器人",
		EN: "when it starts, Magpie looks up the app's owner; if that fails, send the bot the one-time code (MAGPIE-…) from the log in a private chat",
	}
	textOwnerUnknown = i18n.Phrase{
		ZH: "访问：找不到所有者 %s（每个应用里的 ID 都不同）",
		EN: "access: the owner %s was not found (each app has its own IDs)",
	}
	textCorrectOwner = i18n.Phrase{
		ZH: "删掉 [access] owner，机器人就归应用的所有者；私聊机器人发送 /whoami 可以看到自己的 ID",
		EN: "remove [access] owner, and the bot belongs to the app's owner; /whoami in a private chat with the bot shows a person's ID",
	}
	textIDUnknown = i18n.Phrase{
		ZH: "访问：找不到 [access] %[2]s 里的 %[1]s（每个应用里的 ID 都不同）",
		EN: "access: %[1]s in [access] %[2]s was not found (each app has its own IDs)",
	}
	textCorrectID = i18n.Phrase{
		ZH: "换成对机器人发送 /whoami 看到的用户或聊天的 ID，或者删掉",
		EN: "replace it with the ID of the person or chat that /whoami shows in a chat with the bot, or remove it",
	}
	textOwnedBy    = i18n.Phrase{ZH: "访问：机器人归 %s 所有", EN: "access: the bot belongs to %s"}
	textOthersRead = i18n.Phrase{
		ZH: "权限：其他用户能读到 %s 里的密钥（权限 %04o）",
		EN: "permissions: other users can read the secrets in %s (mode %04o)",
	}
	textMode = i18n.Phrase{ZH: "权限：%s 的权限是 %04o", EN: "permissions: %s has mode %04o"}

	textRulesBare = i18n.Phrase{
		ZH: "工具规则：%s 没有限定范围，助手可以不经询问用在整台机器上",
		EN: "tool rules: no limits on %s: the agent may use them anywhere on this machine without asking",
	}
	textRulesNarrow = i18n.Phrase{
		ZH: `在 [claude] allowed_tools 里限定路径或命令，例如 "Read(./**)"、"Bash(git status)"`,
		EN: `limit it to paths or commands in [claude] allowed_tools, for example "Read(./**)" and "Bash(git status)"`,
	}

	textDBRescued = i18n.Phrase{
		ZH: "数据库：%s 丢失，丢失前的内容保存在 %s",
		EN: "database: %s was lost; its contents are saved in %s",
	}
	textPutBack = i18n.Phrase{
		ZH: "停止鹊桥；如果还有 %[1]s-wal 和 %[1]s-shm，先移走；把 %[2]s 移到 %[1]s；再启动鹊桥",
		EN: "stop Magpie, move %[1]s-wal and %[1]s-shm away if they exist, move %[2]s to %[1]s, and start Magpie again",
	}
	textDBLost = i18n.Phrase{
		ZH: "数据库：%s 丢失，而进程 %d 还在使用它",
		EN: "database: %s was lost while process %d is using it",
	}
	textSeeLog = i18n.Phrase{
		ZH: "先不要停止鹊桥，按日志里的说明处理",
		EN: "do not stop Magpie yet; follow the instructions in its log",
	}

	textSilenced = i18n.Phrase{
		ZH: "聊天“%s”：从 %s 起不让机器人发言，三天内不再尝试：%s",
		EN: `chat "%s": the bot has not been allowed to write there since %s; no retry for three days: %s`,
	}
	textLetSpeak = i18n.Phrase{
		ZH: "取消禁言，或在群设置里允许机器人发言；私聊要由对方重新接收机器人的消息。那里再有人对机器人说话时会重新尝试",
		EN: "unmute the group, or let the bot write in the group's settings; in a private chat the person has to accept the bot's messages again. The next message to the bot there triggers a retry",
	}
	textSilencedUnread = i18n.Phrase{
		ZH: "数据库：读不到被禁言的聊天：%v",
		EN: "database: muted chats could not be read: %v",
	}
	textUndelivered = i18n.Phrase{
		ZH: "发送：有 %d 条消息从 %s 起一直没能发出：%s",
		EN: "sending: %d message(s) waiting since %s: %s",
	}
	textUndeliveredUnread = i18n.Phrase{
		ZH: "数据库：读不到等待发出的消息：%v",
		EN: "database: waiting messages could not be read: %v",
	}
	textRowsUnread = i18n.Phrase{
		ZH: "数据库：%d 行数据无法读取，已跳过：%s",
		EN: "database: rows that cannot be read and were skipped: %d: %s",
	}
	textCorrectRows = i18n.Phrase{
		ZH: "先用 magpie backup 备份并停止鹊桥，再用 sqlite3 %s 改正这些行，或按 rowid 删除",
		EN: "make a backup with magpie backup, stop Magpie, then correct these rows or delete them by rowid with sqlite3 %s",
	}
	textDBLater = i18n.Phrase{
		ZH: "数据库：%s 会在第一次启动时创建",
		EN: "database: %s will be created at the first start",
	}
	textDBUncreated = i18n.Phrase{ZH: "数据库：%s 无法创建：%v", EN: "database: %s cannot be created: %v"}
	textMayWrite    = i18n.Phrase{
		ZH: "让运行鹊桥的用户可以写入这个文件夹，或在 [db] url 里换一个",
		EN: "let the user running Magpie write to that folder, or name another one in [db] url",
	}
	textDBBroken = i18n.Phrase{ZH: "数据库：%v", EN: "database: %v"}
	textRestore  = i18n.Phrase{
		ZH: "恢复 magpie backup 生成的最新备份（见 docs/operation.zh.md）",
		EN: "restore the latest backup made by magpie backup (see docs/operation.md)",
	}
	textDBEmpty   = i18n.Phrase{ZH: "数据库：%s 是空的", EN: "database: %s is empty"}
	textFillEmpty = i18n.Phrase{
		ZH: "如果里面有过对话，恢复 magpie backup 生成的最新备份（见 docs/operation.zh.md）；新的鹊桥下次启动时会建好它",
		EN: "if there were conversations in it, restore the latest backup made by magpie backup (see docs/operation.md); for a new Magpie, its next start sets it up",
	}
	textOtherDB   = i18n.Phrase{ZH: "在 [db] url 里换一个文件", EN: "name another file in [db] url"}
	textDBSlow    = i18n.Phrase{ZH: "数据库：%s 在 %v内没有读完", EN: "database: %s could not be read within %v"}
	textCheckCopy = i18n.Phrase{
		ZH: "用 magpie backup 生成一份副本，再运行 sqlite3 副本 'PRAGMA integrity_check'",
		EN: "make a copy with magpie backup and run sqlite3 COPY 'PRAGMA integrity_check' on it",
	}
	textDBUnread = i18n.Phrase{ZH: "数据库：%s：%v", EN: "database: %s: %v"}
	textMayRead  = i18n.Phrase{
		ZH: "请确认运行鹊桥的用户可以读取它，并且鹊桥的版本不比数据旧",
		EN: "check that the user running Magpie may read it, and that this version of Magpie is not older than the data",
	}
	textDBServed = i18n.Phrase{
		ZH: "数据库：%s 完好，进程 %d 正在使用",
		EN: "database: %s is intact; process %d is using it",
	}
	textDBWhole = i18n.Phrase{
		ZH: "数据库：%s 完好，没有进程在使用",
		EN: "database: %s is intact; no process is using it",
	}

	textCLIFails     = i18n.Phrase{ZH: "claude：%s --version：%v", EN: "claude: %s --version: %v"}
	textCLIReinstall = i18n.Phrase{
		ZH: "重新安装：npm install -g @anthropic-ai/claude-code",
		EN: "reinstall it: npm install -g @anthropic-ai/claude-code",
	}
	textCLIVersion = i18n.Phrase{ZH: "claude：%s 的版本是 %s", EN: "claude: %s is version %s"}
	textCLIOld     = i18n.Phrase{
		ZH: "claude：%s 的版本是 %s；鹊桥用 %s 至 %s 测试过",
		EN: "claude: %s is version %s; Magpie is tested with %s to %s",
	}
	textCLIOpen = i18n.Phrase{
		ZH: "claude：%s 的版本是 %s。%s 之前的版本可以用 cat < 文件 读取任何文件，所以鹊桥会对每条命令都要求确认；" +
			"如果 CLI 由脚本启动，则认不出版本，不会额外确认",
		EN: `claude: %s is version %s. Before %s, "cat < FILE" can read any file, so Magpie asks before every command - ` +
			"but not if a script starts the CLI, since its version is then unknown",
	}
	textCLINew = i18n.Phrase{
		ZH: "claude：%s 的版本是 %s；鹊桥用 %s 至 %s 测试过",
		EN: "claude: %s is version %s; Magpie is tested with %s to %s",
	}
	textCLIStay = i18n.Phrase{
		ZH: "一般没有问题；如有异常，请升级鹊桥",
		EN: "it will probably work; if something looks wrong, update Magpie",
	}
	textCLIStart     = i18n.Phrase{ZH: "claude：无法启动：%s", EN: "claude: does not start: %s"}
	textCLIStartMend = i18n.Phrase{
		ZH: "按它说的改 magpie.toml 的 [claude]、[claude.env] 或 [projects]，或者改 Claude Code 自己的设置",
		EN: "correct what it names: [claude], [claude.env] or [projects] in magpie.toml, or Claude Code's own settings",
	}
	textCLINoLogin = i18n.Phrase{ZH: "claude：没有登录", EN: "claude: not logged in"}
	textCLILogin   = i18n.Phrase{
		ZH: "以运行鹊桥的用户执行 claude auth login，或在 [claude.env] 里设置 ANTHROPIC_API_KEY",
		EN: "as the user running Magpie, run claude auth login, or set ANTHROPIC_API_KEY in [claude.env]",
	}
	textCLILoginFirst = i18n.Phrase{
		ZH: "执行 claude auth login；用 API key 的话，配置写好以后再加进去",
		EN: "run claude auth login; an API key can be added once the configuration is saved",
	}
	textCLILoggedIn      = i18n.Phrase{ZH: "claude：已登录", EN: "claude: logged in"}
	textCLINone          = i18n.Phrase{ZH: "claude：找不到 %s", EN: "claude: %s not found"}
	textCLINotExecutable = i18n.Phrase{ZH: "claude：%s 没有执行权限", EN: "claude: %s is not executable"}
	textCLIInstall       = i18n.Phrase{
		ZH: "安装：npm install -g @anthropic-ai/claude-code",
		EN: "install it: npm install -g @anthropic-ai/claude-code",
	}
	textNodeInstall = i18n.Phrase{
		ZH: "先安装带 npm 的 Node.js %d 或更新的版本（https://nodejs.org），再执行：npm install -g @anthropic-ai/claude-code",
		EN: "install Node.js %d or later, with npm (https://nodejs.org), then: npm install -g @anthropic-ai/claude-code",
	}

	textServers = i18n.Phrase{
		ZH: "claude：助手可用的 MCP 服务器：%s",
		EN: "claude: MCP servers available to the agent: %s",
	}
	textServerMissing = i18n.Phrase{
		ZH: "claude：找不到 MCP 服务器 %s 的程序，助手用不了它",
		EN: "claude: the program of the MCP server %s was not found, so the agent can't use it",
	}
	textServerInstall = i18n.Phrase{
		ZH: "安装它，或用 claude mcp remove 去掉，或在 [claude] mcp 里列出要用的",
		EN: "install it, remove it with claude mcp remove, or list only the others in [claude] mcp",
	}
	textServerFails = i18n.Phrase{
		ZH: "claude：MCP 服务器 %s 用不了：%v",
		EN: "claude: the MCP server %s does not work: %v",
	}
	textServerRepair = i18n.Phrase{
		ZH: "修好它，或用 claude mcp remove 去掉，或在 [claude] mcp 里列出要用的",
		EN: "repair it, remove it with claude mcp remove, or list only the others in [claude] mcp",
	}
	textServerLogin = i18n.Phrase{
		ZH: "claude：MCP 服务器 %s 需要登录；还没登录的话，运行 claude，用 /mcp 登录",
		EN: "claude: the MCP server %s asks for a login; if that is still to be done, run claude and use /mcp",
	}
	textServerSlow = i18n.Phrase{
		ZH: "claude：MCP 服务器 %s 启动慢；进程的第一个回答不等它",
		EN: "claude: the MCP server %s starts slowly; the first answer of a process does not wait for it",
	}
	textServersUnapproved = i18n.Phrase{
		ZH: "claude：项目 .mcp.json 里的 MCP 服务器还没有批准，助手用不了：%s",
		EN: "claude: MCP servers in the project's .mcp.json are not approved yet, so the agent can't use them: %s",
	}
	textServersApprove = i18n.Phrase{
		ZH: "在 %s 里运行 claude，同意或拒绝使用它们，或写进 [claude] mcp",
		EN: "run claude in %s and approve or reject them, or name them in [claude] mcp",
	}
	textServersUnread = i18n.Phrase{
		ZH: "claude：MCP 服务器的配置读取失败：%v",
		EN: "claude: the MCP server configuration could not be read: %v",
	}

	textWall = i18n.Phrase{
		ZH: "claude：内核让助手看不到配置、数据库和其他聊天的文件；代价是 sudo、su 等 setuid 程序在里面不能用",
		EN: "claude: the kernel hides the configuration, the database and other chats' files from agents; " +
			"in return, setuid programs such as sudo and su do not work there",
	}
	textWallOff = i18n.Phrase{
		ZH: `claude：[claude] wall = "off"：助手的命令能读到鹊桥自己的文件，只靠询问来拦`,
		EN: `claude: [claude] wall = "off": only approvals keep the agents' commands from reading Magpie's own files`,
	}
	textWallOn = i18n.Phrase{
		ZH: `写 [claude] wall = "auto"`,
		EN: `set [claude] wall = "auto"`,
	}
	textWallMissing = i18n.Phrase{
		ZH: "claude：内核不能让助手看不到鹊桥自己的文件（%v）；能读到它们的命令都会先问人",
		EN: "claude: the kernel cannot hide Magpie's own files from agents here (%v); " +
			"every command that could read them is asked for",
	}
	textWallGet = i18n.Phrase{
		ZH: "需要 Linux 和用户命名空间：容器、AppArmor 和 sysctl 都可能禁止，见 docs/security.zh.md",
		EN: "it needs Linux with user namespaces, which containers, AppArmor and sysctl may forbid: see docs/security.md",
	}

	textLimits = i18n.Phrase{
		ZH: "claude：最多同时回答 %d 个问题（%s），%d 个进程（%s）；%s",
		EN: "claude: up to %d answer(s) at once (%s) and %d process(|es) (%s); %s",
	}

	textRefused   = i18n.Phrase{ZH: "%v：应用被拒绝：%v", EN: "%v: the app was rejected: %v"}
	textCopyAgain = i18n.Phrase{
		ZH: "从“凭证与基础信息”页重新复制 App ID 和 App Secret：%s",
		EN: `copy the App ID and App Secret again from the app's page "Credentials & Basic Info": %s`,
	}
	textUnreached    = i18n.Phrase{ZH: "%v：连接不上：%v", EN: "%v: could not connect: %v"}
	textCheckNetwork = i18n.Phrase{
		ZH: "检查网络和代理",
		EN: "check the network and the proxy",
	}
	textCheckAddress = i18n.Phrase{
		ZH: "检查网络、代理和 [feishu] base_url",
		EN: "check the network, the proxy and [feishu] base_url",
	}
	textTaken    = i18n.Phrase{ZH: "%v：App ID 和 App Secret 有效", EN: "%v: the App ID and App Secret are valid"}
	textClock    = i18n.Phrase{ZH: "时钟：相差 %v", EN: "clock: off by %v"}
	textKeepTime = i18n.Phrase{
		ZH: "开启系统自动校时：timedatectl set-ntp true",
		EN: "turn on time synchronization: timedatectl set-ntp true",
	}
	textClockRight = i18n.Phrase{ZH: "时钟：准确", EN: "clock: correct"}

	textBotNone = i18n.Phrase{ZH: "机器人：%v", EN: "bot: %v"}
	textAddBot  = i18n.Phrase{
		ZH: "在 %s 添加“机器人”能力，然后在 %s （版本管理与发布）创建并发布新版本",
		EN: "add the Bot capability at %s , then publish a new version at %s (Version Management & Release)",
	}
	textBot           = i18n.Phrase{ZH: "机器人：已启用", EN: "bot: enabled"}
	textScopesRefused = i18n.Phrase{ZH: "应用权限：缺少 %s", EN: "app permissions: missing %s"}
	textScopesAny     = i18n.Phrase{ZH: " 或 ", EN: " or "}
	textScopesLack    = i18n.Phrase{ZH: "应用权限：缺少 %s", EN: "app permissions: missing %s"}
	textAddScopes     = i18n.Phrase{
		ZH: "在 %s 开通，然后在 %s （版本管理与发布）创建并发布新版本",
		EN: "add them at %s , then publish a new version at %s (Version Management & Release)",
	}
	textScopesUseful = i18n.Phrase{
		ZH: "应用权限：还可以开通 %s（打开私聊时的问候）：%s",
		EN: "app permissions: you can also add %s (a greeting in new private chats) at %s",
	}
	textScopesUnknown = i18n.Phrase{ZH: "应用权限：%v", EN: "app permissions: %v"}
	textSeeList       = i18n.Phrase{
		ZH: "对照 docs/feishu-app.zh.md 里的权限列表",
		EN: "see the list of permissions in docs/feishu-app.md",
	}
	textScopes = i18n.Phrase{ZH: "应用权限：齐全", EN: "app permissions: complete"}
	textDeaf   = i18n.Phrase{
		ZH: "事件：没有订阅 %s，收不到消息",
		EN: "events: not subscribed to %s, so no messages arrive",
	}
	textEventsLack = i18n.Phrase{ZH: "事件和回调：缺少 %s", EN: "events and callbacks: missing %s"}
	textAddEvents  = i18n.Phrase{
		ZH: "在鹊桥运行时到 %s 选择“使用长连接接收”并添加，然后在 %s （版本管理与发布）创建并发布新版本",
		EN: `while Magpie is running, choose "Receive events through persistent connection" and add them at %s , then publish a new version at %s (Version Management & Release)`,
	}
	textEventsUseful = i18n.Phrase{
		ZH: "事件：还可以订阅 %s（打开私聊时的问候，已读回答后提前准备）：%s",
		EN: "events: you can also subscribe to %s (a greeting in new private chats, a quicker start once an answer is read) at %s",
	}
	textEvents = i18n.Phrase{ZH: "事件和回调：齐全", EN: "events and callbacks: complete"}

	textDiskUnread = i18n.Phrase{ZH: "磁盘（%s）：%s：%v", EN: "disk (%s): %s: %v"}
	textDiskLook   = i18n.Phrase{ZH: "用 df 查看", EN: "check it with df"}
	textDiskTight  = i18n.Phrase{ZH: "磁盘（%[1]s）：%[3]s 只剩 %[2]d MB", EN: "disk (%s): only %d MB free at %s"}
	textDiskFree   = i18n.Phrase{ZH: "清理一些空间", EN: "free up some space"}
	textDiskRoomy  = i18n.Phrase{ZH: "磁盘（%[1]s）：%[3]s 剩余 %[2]d GB", EN: "disk (%s): %d GB free at %s"}
	textDatabase   = i18n.Phrase{ZH: "数据库", EN: "database"}
	textProject    = i18n.Phrase{ZH: "项目", EN: "project"}

	textListenFree   = i18n.Phrase{ZH: "[http] listen：%s 可用", EN: "[http] listen: %s is free"}
	textListenServed = i18n.Phrase{
		ZH: "[http] listen：%s 由进程 %d 提供",
		EN: "[http] listen: %s is served by process %d",
	}
	textListenBusy      = i18n.Phrase{ZH: "[http] listen：%s 已被占用%v", EN: "[http] listen: %s is in use%v"}
	textListenFails     = i18n.Phrase{ZH: "[http] listen：%v", EN: "[http] listen: %v"}
	textListenElsewhere = i18n.Phrase{
		ZH: "停掉占用它的程序，或在 [http] listen 里换一个地址",
		EN: "stop the program that has it, or choose another address in [http] listen",
	}

	textNoManager = i18n.Phrase{
		ZH: "服务管理：没有 systemd，也没有 pm2",
		EN: "service manager: neither systemd nor pm2 found",
	}
	textInstallManager = i18n.Phrase{
		ZH: "安装 pm2，或者自己保证 magpie serve 退出后会重新启动",
		EN: "install pm2, or make sure yourself that magpie serve is restarted when it exits",
	}
	textManagers = i18n.Phrase{ZH: "服务管理：%s", EN: "service manager: %s"}
)
