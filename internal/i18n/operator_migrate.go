package i18n

// What magpie migrate reports.
var (
	MigrateNothingThere = Phrase{
		"%s 不存在：请用 --from 指出它的配置在哪里",
		"%s does not exist: name the other bridge's configuration with --from",
	}
	MigrateUnreadable = Phrase{"%s 无法读取：%v", "%s cannot be read: %v"}
	MigrateNotRegular = Phrase{"不是普通文件", "it is not a regular file"}
	MigrateTooLarge   = Phrase{"文件太大", "the file is too large"}
	MigrateNoBot      = Phrase{
		"%s 里没有配好飞书或 Lark 应用的项目",
		"%s has no project with a Feishu or Lark app",
	}
	MigrateNoSuchName  = Phrase{"%s 里没有 %q，有的是：%s", "%s has no %q. It has: %s"}
	MigrateSeveralApps = Phrase{
		"%s 里有几个应用，鹊桥的一份配置只用一个：请用 --project 选一个项目：%s",
		"%s has several apps, and a magpie.toml has one: choose a project with --project: %s",
	}

	MigrateFound     = Phrase{"找到 %s：%s", "Found %s: %s"}
	MigrateApp       = Phrase{"应用：%s（%s），密钥%s", "app: %s (%s), secret: %s"}
	MigrateHas       = Phrase{"已读到，不显示", "found, not shown"}
	MigrateHasNot    = Phrase{"没有读到", "not found"}
	MigrateTalks     = Phrase{"对话：%d 个聊天，%d 条消息，%s 至 %s", "history: %[2]d message(s) in %[1]d chat(s), %[3]s to %[4]s"}
	MigrateNoTalks   = Phrase{"对话：没有", "history: none"}
	MigrateTaken     = Phrase{"\n写入 %s 的内容：", "\nTo be written to %s:"}
	MigrateNotShown  = Phrase{"（不显示）", "(not shown)"}
	MigrateLeft      = Phrase{"\n不能带过来的：", "\nNot carried over:"}
	MigrateConfigTop = Phrase{
		"# 由 magpie migrate 从 %s 生成。所有选项见 docs/configuration.zh.md。\n\n",
		"# Written by magpie migrate from %s. For all options see docs/configuration.md.\n\n",
	}

	MigrateNoSecret = Phrase{
		"应用的密钥没有读到：请用 --app-secret-file 给出",
		"the app's secret was not found: give it with --app-secret-file",
	}
	MigrateSecretUnreadable = Phrase{"应用的密钥读不出来：%v", "the app's secret cannot be read: %v"}
	MigrateNoCounterpart    = Phrase{"鹊桥没有对应的功能：%s", "Magpie has nothing that corresponds to: %s"}
	MigrateOtherPlatforms   = Phrase{
		"其他平台 %s：鹊桥只连飞书和 Lark",
		"other platforms, %s: Magpie connects to Feishu and Lark only",
	}
	MigrateOtherBot = Phrase{
		"%q 用的是另一个应用：给它另建一份配置（--config、--data）再迁移一次",
		"%q uses a different app: migrate it separately, with its own --config and --data",
	}
	MigrateOtherAgent = Phrase{
		"%q 用的是 %s：鹊桥运行 Claude Code，对话仍然会带过来",
		"%q uses %s; Magpie uses Claude Code. Its conversations are migrated nevertheless",
	}
	MigrateRelative = Phrase{
		"文件夹 %q：是相对路径，不知道相对于哪里",
		"the folder %q is a relative path, and its base is unknown",
	}
	MigrateNoProject      = Phrase{"文件夹 %q：%v", "the folder %q: %v"}
	MigrateDefaultProject = Phrase{
		"没有可用的项目文件夹：助手将在 %s 工作，可以用 [claude] project 改",
		"no usable project folder: the agent will work in %s (change it with [claude] project)",
	}
	MigrateOddIDs = Phrase{
		"[access] %s：%s（共 %d 个）不是飞书的 open_id（ou_…）或群 ID（oc_…）",
		"[access] %s: %s (%d in all) are not the open_id of users (ou_…) or IDs of chats (oc_…)",
	}
	MigrateWasOpen = Phrase{
		"原来人人可以使用机器人，鹊桥只让所有者用，陌生人来时会问所有者。要对所有人开放，写上 [access] allow = [\"*\"]",
		"everybody could use the bot. With Magpie only the owner can, and is asked about strangers. To let everybody in, set [access] allow = [\"*\"]",
	}
	MigrateUsersOnly = Phrase{
		"allow_chat：已经按人限制，所以没有把群放进 [access] allow，否则群里所有人都能用",
		"allow_chat: people are allowed by name, so the groups were not put into [access] allow; that would let all their members in",
	}
	MigrateUsersInGroups = Phrase{
		"allowedUsers 原来只管私聊；在鹊桥里，这些人在群里也可以 @ 机器人",
		"allowedUsers were for private chats; with Magpie these people can also mention the bot in groups",
	}
	MigrateAllAdmins = Phrase{
		"admin_from = \"*\"：鹊桥的管理员要逐个列出",
		"admin_from = \"*\": in Magpie each admin must be listed",
	}
	MigrateBypass = Phrase{
		"权限模式 bypassPermissions（yolo、full）：鹊桥会在聊天里先问再做。要改，见 docs/approvals.zh.md",
		"permission mode bypassPermissions (yolo, full): Magpie asks in the chat first. To change that see docs/approvals.md",
	}
	MigrateOddMode      = Phrase{"权限模式 %q：鹊桥没有这种模式", "permission mode %q: Magpie has no such mode"}
	MigrateAllowedTools = Phrase{
		"allowed_tools：鹊桥的规则要写明路径或命令，例如 \"Bash(go vet ./...)\"，请写进 [claude] allowed_tools",
		"allowed_tools: rules of Magpie name a path or a command, such as \"Bash(go vet ./...)\"; put them into [claude] allowed_tools",
	}
	MigrateProviders = Phrase{
		"模型服务的地址和密钥：写进 [claude.env]（ANTHROPIC_BASE_URL、ANTHROPIC_AUTH_TOKEN），或用 claude auth login 登录",
		"the model provider and its key: put them into [claude.env] (ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN), or log in with claude auth login",
	}
	MigrateRunAsUser = Phrase{
		"run_as_user = %q：见 docs/access.zh.md 里的 [claude] user",
		"run_as_user = %q: see [claude] user in docs/access.md",
	}
	MigrateWorkspaces = Phrase{
		"mode = %q：聊天与文件夹的对应不会带过来，请把文件夹写进 [projects]，在聊天里用 /cd 切换",
		"mode = %q: which chat works in which folder is not carried over; put the folders into [projects] and use /cd in the chat",
	}
	MigrateShared = Phrase{
		"原来群里每个人各有一个对话；在鹊桥里，一个群共用一个对话",
		"each member of a group had a separate conversation; in Magpie a group shares one",
	}
	MigrateUnreadableStore = Phrase{"%s 无法读取：%v", "%s cannot be read: %v"}
	MigrateNoTranscript    = Phrase{
		"Claude 的会话 %q 里的消息：%v",
		"messages of Claude's session %q: %v",
	}
	MigrateTopics = Phrase{
		"%d 个话题的对话：只记了话题的第一条消息，没有记话题的 ID",
		"conversations in topics (%d): the other bridge stored the topic's first message, but not its ID",
	}
	MigrateNoChats     = Phrase{"%d 个对话：没有记是哪个聊天", "conversations without a chat (%d): the other bridge did not record where they took place"}
	MigrateSilentChats = Phrase{
		"%d 个聊天的设置：没有找到它们的对话，请在聊天里用 /cd 和 /mention 重新设置",
		"settings of chats (%d): their conversations were not found; set them again with /cd and /mention in the chat",
	}
	MigrateSessions = Phrase{
		"Claude 的会话本身：鹊桥用自己的数据库继续对话，见 docs/context.zh.md",
		"the Claude sessions themselves: Magpie continues from its own database, see docs/context.md",
	}
)

// What magpie migrate says at the end.
var (
	MigrateDry = Phrase{
		"还没有写入任何内容。确认后加上 --write。",
		"Nothing was written. If this is what you want, add --write.",
	}
	MigrateConfig = Phrase{
		"%s 已经存在，magpie migrate 不会改动它：用 --config 和 --data 写到别处，或者先把它移走",
		"%s already exists, and magpie migrate does not change it: write elsewhere with --config and --data, or move it away first",
	}
	MigrateData = Phrase{
		"数据库 %s 已经存在：要把对话加进去，就加上 --data %s；否则用 --data 换一个文件夹",
		"the database %s already exists: to add to it, pass --data %s; otherwise choose another folder with --data",
	}
	MigrateDone = Phrase{
		"已写入 %s；%d 条新消息写入 %s。",
		"Wrote %s, and %d new message(s) to %s.",
	}
	MigrateNext = Phrase{
		"先停掉 %[1]s（飞书的每个事件只发给一个程序），再运行 magpie doctor --config %[2]s 和 magpie serve --config %[2]s。",
		"Stop %[1]s first, since Feishu gives each event to one program only. Then run magpie doctor --config %[2]s and magpie serve --config %[2]s.",
	}
)
