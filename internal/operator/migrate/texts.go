package migrate

import "magpie/internal/i18n"

// Texts about another bridge: what was found, what would be written, and what cannot be imported.
var (
	textNothingThere = i18n.Phrase{
		ZH: "%s 不存在：请用 --from 指出它的配置在哪里",
		EN: "%s does not exist: name the other bridge's configuration with --from",
	}
	textUnreadable = i18n.Phrase{ZH: "%s 无法读取：%v", EN: "%s cannot be read: %v"}
	textNotRegular = i18n.Phrase{ZH: "不是普通文件", EN: "it is not a regular file"}
	textTooLarge   = i18n.Phrase{ZH: "文件太大", EN: "the file is too large"}
	textNoBot      = i18n.Phrase{
		ZH: "%s 里没有配好飞书或 Lark 应用的项目",
		EN: "%s has no project with a Feishu or Lark app",
	}
	textNoSuchName  = i18n.Phrase{ZH: "%s 里没有 %q，有的是：%s", EN: "%s has no %q. It has: %s"}
	textSeveralApps = i18n.Phrase{
		ZH: "%s 里有几个应用，鹊桥的一份配置只用一个：请用 --project 选一个项目：%s",
		EN: "%s has several apps, and a magpie.toml has one: choose a project with --project: %s",
	}

	textFound     = i18n.Phrase{ZH: "找到 %s：%s", EN: "Found %s: %s"}
	textApp       = i18n.Phrase{ZH: "应用：%s（%s），密钥%s", EN: "app: %s (%s), secret: %s"}
	textHas       = i18n.Phrase{ZH: "已读到，不显示", EN: "found, not shown"}
	textHasNot    = i18n.Phrase{ZH: "没有读到", EN: "not found"}
	textTalks     = i18n.Phrase{ZH: "对话：%d 个聊天，%d 条消息，%s 至 %s", EN: "history: %[2]d message(s) in %[1]d chat(s), %[3]s to %[4]s"}
	textNoTalks   = i18n.Phrase{ZH: "对话：没有", EN: "history: none"}
	textTaken     = i18n.Phrase{ZH: "\n写入 %s 的内容：", EN: "\nTo be written to %s:"}
	textNotShown  = i18n.Phrase{ZH: "（不显示）", EN: "(not shown)"}
	textLeft      = i18n.Phrase{ZH: "\n不能带过来的：", EN: "\nNot carried over:"}
	textConfigTop = i18n.Phrase{
		ZH: "# 由 magpie migrate 从 %s 生成。所有选项见 docs/configuration.zh.md。\n\n",
		EN: "# Written by magpie migrate from %s. For all options see docs/configuration.md.\n\n",
	}

	textNoSecret = i18n.Phrase{
		ZH: "应用的密钥没有读到：请用 --app-secret-file 给出",
		EN: "the app's secret was not found: give it with --app-secret-file",
	}
	textSecretUnreadable = i18n.Phrase{ZH: "应用的密钥读不出来：%v", EN: "the app's secret cannot be read: %v"}
	textNoCounterpart    = i18n.Phrase{ZH: "鹊桥没有对应的功能：%s", EN: "Magpie has nothing that corresponds to: %s"}
	textOtherPlatforms   = i18n.Phrase{
		ZH: "其他平台 %s：鹊桥只连飞书和 Lark",
		EN: "other platforms, %s: Magpie connects to Feishu and Lark only",
	}
	textOtherBot = i18n.Phrase{
		ZH: "%q 用的是另一个应用：给它另建一份配置（--config、--data）再迁移一次",
		EN: "%q uses a different app: migrate it separately, with its own --config and --data",
	}
	textOtherAgent = i18n.Phrase{
		ZH: "%q 用的是 %s：鹊桥运行 Claude Code，对话仍然会带过来",
		EN: "%q uses %s; Magpie uses Claude Code. Its conversations are migrated nevertheless",
	}
	textRelative = i18n.Phrase{
		ZH: "文件夹 %q：是相对路径，不知道相对于哪里",
		EN: "the folder %q is a relative path, and its base is unknown",
	}
	textNoProject      = i18n.Phrase{ZH: "文件夹 %q：%v", EN: "the folder %q: %v"}
	textDefaultProject = i18n.Phrase{
		ZH: "没有可用的项目文件夹：助手将在 %s 工作，可以用 [claude] project 改",
		EN: "no usable project folder: the agent will work in %s (change it with [claude] project)",
	}
	textOddIDs = i18n.Phrase{
		ZH: "[access] %s：%s（共 %d 个）不是飞书的 open_id（ou_…）或群 ID（oc_…）",
		EN: "[access] %s: %s (%d in all) are not the open_id of users (ou_…) or IDs of chats (oc_…)",
	}
	textWasOpen = i18n.Phrase{
		ZH: "原来人人可以使用机器人，鹊桥只让所有者用，陌生人来时会问所有者。要对所有人开放，写上 [access] allow = [\"*\"]",
		EN: "everybody could use the bot. With Magpie only the owner can, and is asked about strangers. To let everybody in, set [access] allow = [\"*\"]",
	}
	textUsersOnly = i18n.Phrase{
		ZH: "allow_chat：已经按人限制，所以没有把群放进 [access] allow，否则群里所有人都能用",
		EN: "allow_chat: people are allowed by name, so the groups were not put into [access] allow; that would let all their members in",
	}
	textUsersInGroups = i18n.Phrase{
		ZH: "allowedUsers 原来只管私聊；在鹊桥里，这些人在群里也可以 @ 机器人",
		EN: "allowedUsers were for private chats; with Magpie these people can also mention the bot in groups",
	}
	textAllAdmins = i18n.Phrase{
		ZH: "admin_from = \"*\"：鹊桥的管理员要逐个列出",
		EN: "admin_from = \"*\": in Magpie each admin must be listed",
	}
	textBypass = i18n.Phrase{
		ZH: "权限模式 bypassPermissions（yolo、full）：鹊桥会在聊天里先问再做。要改，见 docs/approvals.zh.md",
		EN: "permission mode bypassPermissions (yolo, full): Magpie asks in the chat first. To change that see docs/approvals.md",
	}
	textOddMode      = i18n.Phrase{ZH: "权限模式 %q：鹊桥没有这种模式", EN: "permission mode %q: Magpie has no such mode"}
	textAllowedTools = i18n.Phrase{
		ZH: "allowed_tools：鹊桥的规则要写明路径或命令，例如 \"Bash(go vet ./...)\"，请写进 [claude] allowed_tools",
		EN: "allowed_tools: rules of Magpie name a path or a command, such as \"Bash(go vet ./...)\"; put them into [claude] allowed_tools",
	}
	textProviders = i18n.Phrase{
		ZH: "模型服务的地址和密钥：写进 [claude.env]（ANTHROPIC_BASE_URL、ANTHROPIC_AUTH_TOKEN），或用 claude auth login 登录",
		EN: "the model provider and its key: put them into [claude.env] (ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN), or log in with claude auth login",
	}
	textRunAsUser = i18n.Phrase{
		ZH: "run_as_user = %q：见 docs/access.zh.md 里的 [claude] user",
		EN: "run_as_user = %q: see [claude] user in docs/access.md",
	}
	textWorkspaces = i18n.Phrase{
		ZH: "mode = %q：聊天与文件夹的对应不会带过来，请把文件夹写进 [projects]，在聊天里用 /cd 切换",
		EN: "mode = %q: which chat works in which folder is not carried over; put the folders into [projects] and use /cd in the chat",
	}
	textShared = i18n.Phrase{
		ZH: "原来群里每个人各有一个对话；在鹊桥里，一个群共用一个对话",
		EN: "each member of a group had a separate conversation; in Magpie a group shares one",
	}
	textUnreadableStore = i18n.Phrase{ZH: "%s 无法读取：%v", EN: "%s cannot be read: %v"}
	textNoTranscript    = i18n.Phrase{
		ZH: "Claude 的会话 %q 里的消息：%v",
		EN: "messages of Claude's session %q: %v",
	}
	textTopics = i18n.Phrase{
		ZH: "%d 个话题的对话：只记了话题的第一条消息，没有记话题的 ID",
		EN: "conversations in topics (%d): the other bridge stored the topic's first message, but not its ID",
	}
	textNoChats     = i18n.Phrase{ZH: "%d 个对话：没有记是哪个聊天", EN: "conversations without a chat (%d): the other bridge did not record where they took place"}
	textSilentChats = i18n.Phrase{
		ZH: "%d 个聊天的设置：没有找到它们的对话，请在聊天里用 /cd 和 /mention 重新设置",
		EN: "settings of chats (%d): their conversations were not found; set them again with /cd and /mention in the chat",
	}
	textSessions = i18n.Phrase{
		ZH: "Claude 的会话本身：鹊桥用自己的数据库继续对话，见 docs/context.zh.md",
		EN: "the Claude sessions themselves: Magpie continues from its own database, see docs/context.md",
	}
)
