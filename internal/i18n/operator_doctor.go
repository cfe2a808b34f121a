package i18n

// What magpie doctor says. A finding about a problem is followed by what to do.
var (
	DoctorNoConfig        = Phrase{"配置：没有 magpie.toml", "configuration: there is no magpie.toml"}
	DoctorWriteConfig     = Phrase{"运行 magpie setup 创建", "make one with magpie setup"}
	DoctorFromEnvironment = Phrase{"配置：只来自环境变量", "configuration: environment variables only"}
	DoctorConfigAt        = Phrase{"配置：%s", "configuration: %s"}
	DoctorConfigWrong     = Phrase{"配置：%v", "configuration: %v"}
	DoctorCorrectIn       = Phrase{"在 %s 中改正", "correct it in %s"}
	DoctorOldKeys         = Phrase{
		"配置：%s 还写在 [feishu] 里，现在属于 [chat]；旧位置仍然有效",
		"configuration: still in [feishu], and now of [chat]: %s; the old place works as well",
	}
	DoctorMoveKeys     = Phrase{"移到 %s 的 [chat] 里", "move them to [chat] in %s"}
	DoctorOldVariables = Phrase{
		"配置：环境变量 %s 现在以 MAGPIE_CHAT_ 开头；旧名字仍然有效",
		"configuration: variables that now begin with MAGPIE_CHAT_: %s; the old names work as well",
	}
	DoctorRenameVariables = Phrase{"改用新名字", "rename them"}
	DoctorNoFeishu        = Phrase{"飞书：没有配置，只在终端里聊天", "Feishu: not configured, chats are in the terminal only"}
	DoctorTheEnvironment  = Phrase{"环境变量", "the environment"}
	DoctorRunAsOwner      = Phrase{
		"它属于用户 %[1]s：用 sudo -u %[1]s 运行，或者让当前用户可以读取它",
		"it belongs to the user %[1]s: run this with sudo -u %[1]s, or let your user read it",
	}
	DoctorRunAsAnother = Phrase{
		"以可以读取它的用户运行",
		"run this as a user who may read it",
	}
	DoctorNameFile = Phrase{
		"用 --config 指定 magpie.toml 文件",
		"name the file magpie.toml with --config",
	}
	DoctorNobody    = Phrase{"访问：机器人还没有所有者", "access: the bot has no owner yet"}
	DoctorMakeOwner = Phrase{
		"启动后会查询应用的所有者；查不到时，把日志里的一次性口令（MAGPIE-…）私聊发给机器人",
		"when it starts, Magpie looks up the app's owner; if that fails, send the bot the one-time code (MAGPIE-…) from the log in a private chat",
	}
	DoctorOwnerUnknown = Phrase{
		"访问：找不到所有者 %s（每个应用里的 ID 都不同）",
		"access: the owner %s was not found (each app has its own IDs)",
	}
	DoctorCorrectOwner = Phrase{
		"删掉 [access] owner，机器人就归应用的所有者；私聊机器人发送 /whoami 可以看到自己的 ID",
		"remove [access] owner, and the bot belongs to the app's owner; /whoami in a private chat with the bot shows a person's ID",
	}
	DoctorIDUnknown = Phrase{
		"访问：找不到 [access] %[2]s 里的 %[1]s（每个应用里的 ID 都不同）",
		"access: %[1]s in [access] %[2]s was not found (each app has its own IDs)",
	}
	DoctorCorrectID = Phrase{
		"换成对机器人发送 /whoami 看到的用户或聊天的 ID，或者删掉",
		"replace it with the ID of the person or chat that /whoami shows in a chat with the bot, or remove it",
	}
	DoctorOwnedBy    = Phrase{"访问：机器人归 %s 所有", "access: the bot belongs to %s"}
	DoctorOthersRead = Phrase{
		"权限：其他用户能读到 %s 里的密钥（权限 %04o）",
		"permissions: other users can read the secrets in %s (mode %04o)",
	}
	DoctorMode = Phrase{"权限：%s 的权限是 %04o", "permissions: %s has mode %04o"}

	DoctorRulesBare = Phrase{
		"工具规则：%s 没有限定范围，助手可以不经询问用在整台机器上",
		"tool rules: no limits on %s: the agent may use them anywhere on this machine without asking",
	}
	DoctorRulesNarrow = Phrase{
		`在 [claude] allowed_tools 里限定路径或命令，例如 "Read(./**)"、"Bash(git status)"`,
		`limit it to paths or commands in [claude] allowed_tools, for example "Read(./**)" and "Bash(git status)"`,
	}

	DoctorDBRescued = Phrase{
		"数据库：%s 丢失，丢失前的内容保存在 %s",
		"database: %s was lost; its contents are saved in %s",
	}
	DoctorPutBack = Phrase{
		"停止鹊桥；如果还有 %[1]s-wal 和 %[1]s-shm，先移走；把 %[2]s 移到 %[1]s；再启动鹊桥",
		"stop Magpie, move %[1]s-wal and %[1]s-shm away if they exist, move %[2]s to %[1]s, and start Magpie again",
	}
	DoctorDBLost = Phrase{
		"数据库：%s 丢失，而进程 %d 还在使用它",
		"database: %s was lost while process %d is using it",
	}
	DoctorSeeLog = Phrase{
		"先不要停止鹊桥，按日志里的说明处理",
		"do not stop Magpie yet; follow the instructions in its log",
	}

	DoctorSilenced = Phrase{
		"聊天“%s”：从 %s 起不让机器人发言，三天内不再尝试：%s",
		`chat "%s": the bot has not been allowed to write there since %s; no retry for three days: %s`,
	}
	DoctorLetSpeak = Phrase{
		"取消禁言，或在群设置里允许机器人发言；私聊要由对方重新接收机器人的消息。那里再有人对机器人说话时会重新尝试",
		"unmute the group, or let the bot write in the group's settings; in a private chat the person has to accept the bot's messages again. The next message to the bot there triggers a retry",
	}
	DoctorSilencedUnread = Phrase{
		"数据库：读不到被禁言的聊天：%v",
		"database: muted chats could not be read: %v",
	}
	DoctorUndelivered = Phrase{
		"发送：有 %d 条消息从 %s 起一直没能发出：%s",
		"sending: %d message(s) waiting since %s: %s",
	}
	DoctorUndeliveredUnread = Phrase{
		"数据库：读不到等待发出的消息：%v",
		"database: waiting messages could not be read: %v",
	}
	DoctorRowsUnread = Phrase{
		"数据库：%d 行数据无法读取，已跳过：%s",
		"database: rows that cannot be read and were skipped: %d: %s",
	}
	DoctorCorrectRows = Phrase{
		"先用 magpie backup 备份并停止鹊桥，再用 sqlite3 %s 改正这些行，或按 rowid 删除",
		"make a backup with magpie backup, stop Magpie, then correct these rows or delete them by rowid with sqlite3 %s",
	}
	DoctorCorrectInServer = Phrase{
		"先用 pg_dump 备份并停止鹊桥，再用 psql %s 改正或删除这些行",
		"make a backup with pg_dump, stop Magpie, then correct or delete these rows with psql %s",
	}
	DoctorDBOpen = Phrase{
		"数据库：%s 不用密码就能登录，助手也可以，能读写所有聊天",
		"database: %s takes no password, so agents can log in as well, and read and change every chat",
	}
	DoctorDemandPassword = Phrase{
		"让 PostgreSQL 要求密码（pg_hba.conf 里用 scram-sha-256），写进 [db] url",
		"have PostgreSQL demand a password (scram-sha-256 in pg_hba.conf), and write it into [db] url",
	}
	DoctorReachDB = Phrase{"照提示处理；连接方式在 [db] url 里", "do what it says; [db] url says how to connect"}
	DoctorDBLater = Phrase{
		"数据库：%s 会在第一次启动时创建",
		"database: %s will be created at the first start",
	}
	DoctorDBUncreated = Phrase{"数据库：%s 无法创建：%v", "database: %s cannot be created: %v"}
	DoctorMayWrite    = Phrase{
		"让运行鹊桥的用户可以写入这个文件夹，或在 [db] url 里换一个",
		"let the user running Magpie write to that folder, or name another one in [db] url",
	}
	DoctorDBBroken = Phrase{"数据库：%v", "database: %v"}
	DoctorRestore  = Phrase{
		"恢复 magpie backup 生成的最新备份（见 docs/operation.zh.md）",
		"restore the latest backup made by magpie backup (see docs/operation.md)",
	}
	DoctorDBEmpty   = Phrase{"数据库：%s 是空的", "database: %s is empty"}
	DoctorFillEmpty = Phrase{
		"如果里面有过对话，恢复 magpie backup 生成的最新备份（见 docs/operation.zh.md）；新的鹊桥下次启动时会建好它",
		"if there were conversations in it, restore the latest backup made by magpie backup (see docs/operation.md); for a new Magpie, its next start sets it up",
	}
	DoctorOtherDB   = Phrase{"在 [db] url 里换一个文件", "name another file in [db] url"}
	DoctorDBSlow    = Phrase{"数据库：%s 在 %v内没有读完", "database: %s could not be read within %v"}
	DoctorCheckCopy = Phrase{
		"用 magpie backup 生成一份副本，再运行 sqlite3 副本 'PRAGMA integrity_check'",
		"make a copy with magpie backup and run sqlite3 COPY 'PRAGMA integrity_check' on it",
	}
	DoctorDBUnread = Phrase{"数据库：%s：%v", "database: %s: %v"}
	DoctorMayRead  = Phrase{
		"请确认运行鹊桥的用户可以读取它，并且鹊桥的版本不比数据旧",
		"check that the user running Magpie may read it, and that this version of Magpie is not older than the data",
	}
	DoctorBridges  = Phrase{"数据库：正在使用它的鹊桥 %d 个（%s）", "database: bridges that use it: %d (%s)"}
	DoctorHostName = Phrase{
		"node：没有设置，现在用的是这台机器的名字 %s，它可能会变，也可能和别的机器重名",
		"node: not set, and the host name %s in its place may change, or be that of another machine, too",
	}
	DoctorSetNode        = Phrase{"在 magpie.toml 里用 node 给这台机器起一个名字", "give this machine a name with node in magpie.toml"}
	DoctorDataUnwritable = Phrase{"data 文件夹：%s：%v", "data: %s: %v"}
	DoctorNodeTaken      = Phrase{
		"node：一个叫 %s 的鹊桥正在运行，用的却不是这里的数据文件夹 %s；这里的鹊桥不能再用这个名字启动",
		"node: a bridge named %s runs, but not with the data folder %s; the bridge of this folder cannot start with that name",
	}
	DoctorOtherNode = Phrase{
		"如果那是另一台机器，在 magpie.toml 里用 node 给这台起一个不同的名字；如果它刚刚异常退出，15 秒后再试",
		"if that is another machine, give this one another name with node in magpie.toml; if the bridge has just crashed, try again in 15 seconds",
	}
	DoctorNodeMissing = Phrase{
		"node：数据文件夹 %s 正在使用中（进程 %d），但数据库里没有叫 %s 的鹊桥在运行",
		"node: the data folder %s is in use (process %d), but no bridge named %s runs with the database",
	}
	DoctorStartAgain   = Phrase{"改过 node 或 [db] url 之后要重新启动鹊桥", "after a change of node or [db] url, Magpie must be started again"}
	DoctorMayWriteData = Phrase{
		"让运行鹊桥的用户可以写入这个文件夹，或用 data 换一个",
		"let the user running Magpie write to that folder, or name another one in data",
	}
	DoctorDBServed = Phrase{
		"数据库：%s 完好，进程 %d 正在使用",
		"database: %s is intact; process %d is using it",
	}
	DoctorDBWhole = Phrase{
		"数据库：%s 完好，没有进程在使用",
		"database: %s is intact; no process is using it",
	}
	DoctorDBWholeHere = Phrase{
		"数据库：%s 完好，这台机器上没有进程在使用",
		"database: %s is intact; no process of this machine is using it",
	}

	DoctorCLIFails     = Phrase{"claude：%s --version：%v", "claude: %s --version: %v"}
	DoctorCLIReinstall = Phrase{
		"重新安装：npm install -g @anthropic-ai/claude-code",
		"reinstall it: npm install -g @anthropic-ai/claude-code",
	}
	DoctorCLIVersion = Phrase{"claude：%s 的版本是 %s", "claude: %s is version %s"}
	DoctorCLIOld     = Phrase{
		"claude：%s 的版本是 %s；鹊桥用 %s 至 %s 测试过",
		"claude: %s is version %s; Magpie is tested with %s to %s",
	}
	DoctorCLIOpen = Phrase{
		"claude：%s 的版本是 %s。%s 之前的版本可以用 cat < 文件 读取任何文件，所以鹊桥会对每条命令都要求确认；" +
			"如果 CLI 由脚本启动，则认不出版本，不会额外确认",
		`claude: %s is version %s. Before %s, "cat < FILE" can read any file, so Magpie asks before every command - ` +
			"but not if a script starts the CLI, since its version is then unknown",
	}
	DoctorCLINew = Phrase{
		"claude：%s 的版本是 %s；鹊桥用 %s 至 %s 测试过",
		"claude: %s is version %s; Magpie is tested with %s to %s",
	}
	DoctorCLIStay = Phrase{
		"一般没有问题；如有异常，请升级鹊桥",
		"it will probably work; if something looks wrong, update Magpie",
	}
	DoctorCLIStart     = Phrase{"claude：无法启动：%s", "claude: does not start: %s"}
	DoctorCLIStartMend = Phrase{
		"按它说的改 magpie.toml 的 [claude]、[claude.env] 或 [projects]，或者改 Claude Code 自己的设置",
		"correct what it names: [claude], [claude.env] or [projects] in magpie.toml, or Claude Code's own settings",
	}
	DoctorCLINoLogin = Phrase{"claude：没有登录", "claude: not logged in"}
	DoctorCLILogin   = Phrase{
		"以运行鹊桥的用户执行 claude auth login，或在 [claude.env] 里设置 ANTHROPIC_API_KEY",
		"as the user running Magpie, run claude auth login, or set ANTHROPIC_API_KEY in [claude.env]",
	}
	DoctorCLILoginFirst = Phrase{
		"执行 claude auth login；用 API key 的话，配置写好以后再加进去",
		"run claude auth login; an API key can be added once the configuration is saved",
	}
	DoctorCLILoggedIn      = Phrase{"claude：已登录", "claude: logged in"}
	DoctorCLINone          = Phrase{"claude：找不到 %s", "claude: %s not found"}
	DoctorCLINotExecutable = Phrase{"claude：%s 没有执行权限", "claude: %s is not executable"}
	DoctorCLIInstall       = Phrase{
		"安装：npm install -g @anthropic-ai/claude-code",
		"install it: npm install -g @anthropic-ai/claude-code",
	}
	DoctorNodeInstall = Phrase{
		"先安装带 npm 的 Node.js %d 或更新的版本（https://nodejs.org），再执行：npm install -g @anthropic-ai/claude-code",
		"install Node.js %d or later, with npm (https://nodejs.org), then: npm install -g @anthropic-ai/claude-code",
	}

	DoctorServers = Phrase{
		"claude：助手可用的 MCP 服务器：%s",
		"claude: MCP servers available to the agent: %s",
	}
	DoctorServerMissing = Phrase{
		"claude：找不到 MCP 服务器 %s 的程序，助手用不了它",
		"claude: the program of the MCP server %s was not found, so the agent can't use it",
	}
	DoctorServerInstall = Phrase{
		"安装它，或用 claude mcp remove 去掉，或在 [claude] mcp 里列出要用的",
		"install it, remove it with claude mcp remove, or list only the others in [claude] mcp",
	}
	DoctorServerFails = Phrase{
		"claude：MCP 服务器 %s 用不了：%v",
		"claude: the MCP server %s does not work: %v",
	}
	DoctorServerRepair = Phrase{
		"修好它，或用 claude mcp remove 去掉，或在 [claude] mcp 里列出要用的",
		"repair it, remove it with claude mcp remove, or list only the others in [claude] mcp",
	}
	DoctorServerLogin = Phrase{
		"claude：MCP 服务器 %s 需要登录；还没登录的话，运行 claude，用 /mcp 登录",
		"claude: the MCP server %s asks for a login; if that is still to be done, run claude and use /mcp",
	}
	DoctorServerSlow = Phrase{
		"claude：MCP 服务器 %s 启动慢；进程的第一个回答不等它",
		"claude: the MCP server %s starts slowly; the first answer of a process does not wait for it",
	}
	DoctorServersUnapproved = Phrase{
		"claude：项目 .mcp.json 里的 MCP 服务器还没有批准，助手用不了：%s",
		"claude: MCP servers in the project's .mcp.json are not approved yet, so the agent can't use them: %s",
	}
	DoctorServersApprove = Phrase{
		"在 %s 里运行 claude，同意或拒绝使用它们，或写进 [claude] mcp",
		"run claude in %s and approve or reject them, or name them in [claude] mcp",
	}
	DoctorServersUnread = Phrase{
		"claude：MCP 服务器的配置读取失败：%v",
		"claude: the MCP server configuration could not be read: %v",
	}

	DoctorWall = Phrase{
		"claude：内核让助手看不到配置、数据库和其他聊天的文件；代价是 sudo、su 等 setuid 程序在里面不能用",
		"claude: the kernel hides the configuration, the database and other chats' files from agents; " +
			"in return, setuid programs such as sudo and su do not work there",
	}
	DoctorWallOff = Phrase{
		`claude：[claude] wall = "off"：助手的命令能读到鹊桥自己的文件，只靠询问来拦`,
		`claude: [claude] wall = "off": only approvals keep the agents' commands from reading Magpie's own files`,
	}
	DoctorWallOn = Phrase{
		`写 [claude] wall = "auto"`,
		`set [claude] wall = "auto"`,
	}
	DoctorWallMissing = Phrase{
		"claude：内核不能让助手看不到鹊桥自己的文件（%v）；能读到它们的命令都会先问人",
		"claude: the kernel cannot hide Magpie's own files from agents here (%v); " +
			"every command that could read them is asked for",
	}
	DoctorWallGet = Phrase{
		"需要 Linux 和用户命名空间：容器、AppArmor 和 sysctl 都可能禁止，见 docs/security.zh.md",
		"it needs Linux with user namespaces, which containers, AppArmor and sysctl may forbid: see docs/security.md",
	}

	DoctorLimits = Phrase{
		"claude：最多同时回答 %d 个问题（%s），%d 个进程（%s）；%s",
		"claude: up to %d answer(s) at once (%s) and %d process(|es) (%s); %s",
	}

	DoctorRefused   = Phrase{"%v：应用被拒绝：%v", "%v: the app was rejected: %v"}
	DoctorCopyAgain = Phrase{
		"从“凭证与基础信息”页重新复制 App ID 和 App Secret：%s",
		`copy the App ID and App Secret again from the app's page "Credentials & Basic Info": %s`,
	}
	DoctorUnreached    = Phrase{"%v：连接不上：%v", "%v: could not connect: %v"}
	DoctorCheckNetwork = Phrase{
		"检查网络和代理",
		"check the network and the proxy",
	}
	DoctorCheckAddress = Phrase{
		"检查网络、代理和 [feishu] base_url",
		"check the network, the proxy and [feishu] base_url",
	}
	DoctorTaken    = Phrase{"%v：App ID 和 App Secret 有效", "%v: the App ID and App Secret are valid"}
	DoctorClock    = Phrase{"时钟：相差 %v", "clock: off by %v"}
	DoctorKeepTime = Phrase{
		"开启系统自动校时：timedatectl set-ntp true",
		"turn on time synchronization: timedatectl set-ntp true",
	}
	DoctorClockRight = Phrase{"时钟：准确", "clock: correct"}

	DoctorBotNone = Phrase{"机器人：%v", "bot: %v"}
	DoctorAddBot  = Phrase{
		"在 %s 添加“机器人”能力，然后在 %s （版本管理与发布）创建并发布新版本",
		"add the Bot capability at %s , then publish a new version at %s (Version Management & Release)",
	}
	DoctorBot           = Phrase{"机器人：已启用", "bot: enabled"}
	DoctorScopesRefused = Phrase{"应用权限：缺少 %s", "app permissions: missing %s"}
	DoctorScopesAny     = Phrase{" 或 ", " or "}
	DoctorScopesLack    = Phrase{"应用权限：缺少 %s", "app permissions: missing %s"}
	DoctorAddScopes     = Phrase{
		"在 %s 开通，然后在 %s （版本管理与发布）创建并发布新版本",
		"add them at %s , then publish a new version at %s (Version Management & Release)",
	}
	DoctorScopesUseful = Phrase{
		"应用权限：还可以开通 %s（打开私聊时的问候）：%s",
		"app permissions: you can also add %s (a greeting in new private chats) at %s",
	}
	DoctorScopesUnknown = Phrase{"应用权限：%v", "app permissions: %v"}
	DoctorSeeList       = Phrase{
		"对照 docs/feishu-app.zh.md 里的权限列表",
		"see the list of permissions in docs/feishu-app.md",
	}
	DoctorScopes = Phrase{"应用权限：齐全", "app permissions: complete"}
	DoctorDeaf   = Phrase{
		"事件：没有订阅 %s，收不到消息",
		"events: not subscribed to %s, so no messages arrive",
	}
	DoctorEventsLack = Phrase{"事件和回调：缺少 %s", "events and callbacks: missing %s"}
	DoctorAddEvents  = Phrase{
		"在鹊桥运行时到 %s 选择“使用长连接接收”并添加，然后在 %s （版本管理与发布）创建并发布新版本",
		`while Magpie is running, choose "Receive events through persistent connection" and add them at %s , then publish a new version at %s (Version Management & Release)`,
	}
	DoctorEventsUseful = Phrase{
		"事件：还可以订阅 %s（打开私聊时的问候，已读回答后提前准备）：%s",
		"events: you can also subscribe to %s (a greeting in new private chats, a quicker start once an answer is read) at %s",
	}
	DoctorEvents = Phrase{"事件和回调：齐全", "events and callbacks: complete"}

	DoctorDiskUnread = Phrase{"磁盘（%s）：%s：%v", "disk (%s): %s: %v"}
	DoctorDiskLook   = Phrase{"用 df 查看", "check it with df"}
	DoctorDiskTight  = Phrase{"磁盘（%[1]s）：%[3]s 只剩 %[2]d MB", "disk (%s): only %d MB free at %s"}
	DoctorDiskFree   = Phrase{"清理一些空间", "free up some space"}
	DoctorDiskRoomy  = Phrase{"磁盘（%[1]s）：%[3]s 剩余 %[2]d GB", "disk (%s): %d GB free at %s"}
	DoctorDatabase   = Phrase{"数据库", "database"}
	DoctorData       = Phrase{"数据", "data"}
	DoctorProject    = Phrase{"项目", "project"}

	DoctorListenFree   = Phrase{"[http] listen：%s 可用", "[http] listen: %s is free"}
	DoctorListenServed = Phrase{
		"[http] listen：%s 由进程 %d 提供",
		"[http] listen: %s is served by process %d",
	}
	DoctorListenBusy      = Phrase{"[http] listen：%s 已被占用%v", "[http] listen: %s is in use%v"}
	DoctorListenFails     = Phrase{"[http] listen：%v", "[http] listen: %v"}
	DoctorListenElsewhere = Phrase{
		"停掉占用它的程序，或在 [http] listen 里换一个地址",
		"stop the program that has it, or choose another address in [http] listen",
	}

	DoctorNoManager = Phrase{
		"服务管理：没有 systemd，也没有 pm2",
		"service manager: neither systemd nor pm2 found",
	}
	DoctorInstallManager = Phrase{
		"安装 pm2，或者自己保证 magpie serve 退出后会重新启动",
		"install pm2, or make sure yourself that magpie serve is restarted when it exits",
	}
	DoctorManagers = Phrase{"服务管理：%s", "service manager: %s"}
)
