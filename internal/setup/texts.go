package setup

import "magpie/bridge/i18n"

// What is said while a bridge is set up.
var (
	textWelcome = i18n.Phrase{
		ZH: "设置 Magpie。方括号里是默认值，按 Enter 采用；随时可以按 Ctrl-C 放弃，不会留下写了一半的文件。",
		EN: "Setting up Magpie. Enter takes what is in brackets; Ctrl-C gives up at any time and leaves nothing " +
			"half-written.",
	}
	textYesOrNo       = i18n.Phrase{ZH: "请回答 y 或 n。", EN: "Please answer y or n."}
	textNumber        = i18n.Phrase{ZH: "编号", EN: "Number"}
	textNeedsTerminal = i18n.Phrase{
		ZH: "没有终端可以提问：加上 --yes，并用参数给出需要的内容（magpie setup --help）",
		EN: "there is no terminal to ask on: add --yes, and give what is needed by flags (magpie setup --help)",
	}
	textNeedsApp = i18n.Phrase{
		ZH: "需要 --scan，或者 --app-id 和 --app-secret-file",
		EN: "--scan is needed, or --app-id and --app-secret-file",
	}
	textNeedsSecret  = i18n.Phrase{ZH: "--app-secret-file %s：是空的", EN: "--app-secret-file %s: it is empty"}
	textNeedsReplace = i18n.Phrase{
		ZH: "%s 已经存在：要替换它就加上 --replace（旧文件会保留为 %s）",
		EN: "%s exists: add --replace to replace it (it is kept as %s)",
	}
	textExists  = i18n.Phrase{ZH: "%s 已经存在。", EN: "%s exists."}
	textKeepOld = i18n.Phrase{
		ZH: "替换它吗？旧文件会改名保留",
		EN: "Replace it? The old file is kept under another name",
	}
	textKept      = i18n.Phrase{ZH: "旧的配置保留在 %s", EN: "the old configuration is kept as %s"}
	textLeftAlone = i18n.Phrase{
		ZH: "保留了原来的配置，什么也没有写。",
		EN: "The configuration was left alone; nothing was written.",
	}

	textCLIHead     = i18n.Phrase{ZH: "\n1. Claude Code 命令行", EN: "\n1. The Claude Code CLI"}
	textProjectHead = i18n.Phrase{
		ZH: "\n2. 项目文件夹：智能体在这里工作，可以读写里面的文件",
		EN: "\n2. The project folder, in which the agent works and whose files it may read and change",
	}
	textProjectAsk      = i18n.Phrase{ZH: "项目文件夹", EN: "Project folder"}
	textProjectMake     = i18n.Phrase{ZH: "%s 还不存在，会创建它。", EN: "%s does not exist yet and will be made."}
	textProjectRelative = i18n.Phrase{ZH: "%s：请写绝对路径", EN: "%s: write an absolute path"}
	textProjectNotThis  = i18n.Phrase{
		ZH: "%s：不能用根目录、主目录，或存放配置和数据的文件夹",
		EN: "%s: neither the root, nor a home folder, nor a folder with the configuration or the data will do",
	}
	textProjectNoFolder = i18n.Phrase{ZH: "%s：不是文件夹", EN: "%s: not a folder"}

	textAppHead = i18n.Phrase{ZH: "\n3. 飞书应用", EN: "\n3. The Feishu or Lark app"}
	textAppHow  = i18n.Phrase{ZH: "用哪个应用？", EN: "Which app is it?"}
	textAppScan = i18n.Phrase{
		ZH: "用手机扫码创建一个新的（推荐）",
		EN: "a new one, created by scanning a code with the phone (recommended)",
	}
	textAppEnter = i18n.Phrase{
		ZH: "已有的应用：输入 App ID 和 App Secret",
		EN: "one that is there: enter its App ID and App Secret",
	}
	textScan = i18n.Phrase{
		ZH: "用飞书或 Lark 扫描二维码，或者在浏览器里打开：",
		EN: "Scan this with Feishu or Lark, or open it in a browser:",
	}
	textScanWide = i18n.Phrase{
		ZH: "（终端不够宽，显示不了二维码）",
		EN: "(the terminal is too narrow for the code)",
	}
	textWaiting = i18n.Phrase{
		ZH: "等待确认，%d 分钟内有效…",
		EN: "Waiting for you to confirm it, for %d minutes …",
	}
	textCreated      = i18n.Phrase{ZH: "应用 %s 已创建。", EN: "The app %s was created."}
	textDeclined     = i18n.Phrase{ZH: "手机上取消了。", EN: "It was declined on the phone."}
	textExpired      = i18n.Phrase{ZH: "二维码过期了。", EN: "The code has expired."}
	textAgain        = i18n.Phrase{ZH: "再来一次吗？", EN: "Once more?"}
	textUnregistered = i18n.Phrase{ZH: "没有创建应用：%v", EN: "no app was created: %v"}
	textEnterFrom    = i18n.Phrase{
		ZH: "在 %s 或 %s 的“凭证与基础信息”页复制：",
		EN: "Copy them from the app's page \"Credentials & Basic Info\" at %s or %s :",
	}
	textAppID     = i18n.Phrase{ZH: "App ID", EN: "App ID"}
	textAppSecret = i18n.Phrase{ZH: "App Secret（不显示）", EN: "App Secret (not shown)"}
	textAsking    = i18n.Phrase{ZH: "正在向平台核对…", EN: "Asking the platform …"}
	textTryAgain  = i18n.Phrase{ZH: "请重新输入。", EN: "Please enter them again."}
	textGoOn      = i18n.Phrase{ZH: "仍然写下配置吗？", EN: "Write the configuration anyway?"}
	textNotTaken  = i18n.Phrase{
		ZH: "平台没有接受这个应用，什么也没有写",
		EN: "the platform did not take the app; nothing was written",
	}

	textOwnerIs = i18n.Phrase{
		ZH: "机器人归 %s 所有：只有这个人可以和它说话，直到 [access] 里允许别人。",
		EN: "The bot belongs to %s: nobody else may talk to it until [access] allows it.",
	}
	textOwnerLater = i18n.Phrase{
		ZH: "还不知道机器人归谁所有：启动后日志里有一个一次性口令，把它私聊发给机器人的人就是所有者。",
		EN: "It is not known yet to whom the bot belongs: at its start there is a one-time code in the log, and who " +
			"sends it to the bot in a private chat becomes the owner.",
	}
	textWrote = i18n.Phrase{ZH: "已写入 %s（只有你能读）。", EN: "Wrote %s (only you can read it)."}
	textLost  = i18n.Phrase{
		ZH: "应用 %s 已经创建，但没有写入配置。它的密钥在 %s",
		EN: "The app %s was created, but no configuration was written. Its secret is at %s",
	}
	textConsoleAfter = i18n.Phrase{
		ZH: "上面的 warn 和 fail 之后可以用 magpie doctor 再检查。",
		EN: "What is marked warn or fail above is checked again by magpie doctor.",
	}

	textStartHow     = i18n.Phrase{ZH: "\n4. 怎样运行？", EN: "\n4. How should it run?"}
	textStartService = i18n.Phrase{
		ZH: "作为 systemd 服务，开机自动启动",
		EN: "as a service of systemd, also after a restart of the machine",
	}
	textStartHere     = i18n.Phrase{ZH: "现在就在这个终端里启动", EN: "now, in this terminal"}
	textStartNot      = i18n.Phrase{ZH: "先不启动", EN: "not yet"}
	textStartYourself = i18n.Phrase{ZH: "启动：magpie serve --config %s", EN: "Start it with: magpie serve --config %s"}
	textServiceFailed = i18n.Phrase{ZH: "没有装好服务：%v", EN: "the service was not installed: %v"}
	textStarting      = i18n.Phrase{
		ZH: "启动中；Ctrl-C 停止。在飞书里给机器人发消息吧。",
		EN: "Starting; Ctrl-C stops it. Now write to the bot.",
	}
	textHeader = i18n.Phrase{
		ZH: "# 由 magpie setup 生成。所有选项见 README.zh.md。\n\n",
		EN: "# Written by magpie setup. README.md lists all keys.\n\n",
	}
	textGivenUp = i18n.Phrase{ZH: "\n已放弃。", EN: "\nGiven up."}
)
