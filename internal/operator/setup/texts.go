package setup

import "magpie/internal/i18n"

// Texts of the dialog.
var (
	textWelcome = i18n.Phrase{
		ZH: "现在设置鹊桥。按 Enter 采用方括号里的默认值；按 Ctrl-C 退出，不会留下写了一半的文件。",
		EN: "Setting up Magpie. Press Enter to accept the value in brackets, or Ctrl-C to quit; no half-written file is left behind.",
	}
	textYesOrNo       = i18n.Phrase{ZH: "请回答 y 或 n。", EN: "Please answer y or n."}
	textNumber        = i18n.Phrase{ZH: "请选择", EN: "Choose"}
	textNoSuchChoice  = i18n.Phrase{ZH: "请输入 1 到 %d 的数字。", EN: "Please enter a number from 1 to %d."}
	textNeedsTerminal = i18n.Phrase{
		ZH: "没有可以提问的终端：请加上 --yes，并用参数给出需要的内容（见 magpie setup --help）",
		EN: "there is no terminal to ask questions on: add --yes and give the answers as flags (see magpie setup --help)",
	}
	textNeedsApp = i18n.Phrase{
		ZH: "需要 --scan，或同时给出 --app-id 和 --app-secret-file",
		EN: "add --scan, or both --app-id and --app-secret-file",
	}
	textNeedsSecret = i18n.Phrase{
		ZH: "--app-secret-file %s：文件是空的",
		EN: "--app-secret-file %s: the file is empty",
	}
	textNoSecretFile = i18n.Phrase{
		ZH: "--app-secret-file：文件读不出来：%v",
		EN: "--app-secret-file: the file cannot be read: %v",
	}
	textNeedsPipe = i18n.Phrase{
		ZH: "--app-secret-file -：标准输入是终端，请改用文件，或从管道传入密钥",
		EN: "--app-secret-file -: the standard input is a terminal; name a file, or pass the secret through a pipe",
	}
	textWrongPlatform = i18n.Phrase{
		ZH: "%s %q：应为 feishu、lark，或 https://open.feishu.cn 这样的地址",
		EN: "%s %q: must be feishu, lark, or an address such as https://open.feishu.cn",
	}
	textWrongOwner = i18n.Phrase{
		ZH: "--owner %q：应为用户的 ID（ou_…）",
		EN: "--owner %q: must be the ID of a user (ou_…)",
	}
	textWrongAppID = i18n.Phrase{
		ZH: "--app-id %q：应为 cli_ 加字母和数字",
		EN: "--app-id %q: must be cli_ followed by letters and digits",
	}
	textNotAppID = i18n.Phrase{
		ZH: "%q 不是 App ID：App ID 是 cli_ 加字母和数字。",
		EN: "%q is not an App ID: an App ID is cli_ followed by letters and digits.",
	}
	textNeedsReplace = i18n.Phrase{
		ZH: "%s 已经存在：要替换它，请加上 --replace（旧文件会保留为 %s）",
		EN: "%s already exists: add --replace to replace it (the old file is kept as %s)",
	}
	textExists  = i18n.Phrase{ZH: "%s 已经存在。", EN: "%s already exists."}
	textKeepOld = i18n.Phrase{
		ZH: "要替换它吗？旧文件会改名保留",
		EN: "Replace it? The old file is kept under another name",
	}
	textKept      = i18n.Phrase{ZH: "旧的配置保留在 %s", EN: "The old configuration is kept as %s"}
	textLeftAlone = i18n.Phrase{
		ZH: "保留原来的配置，没有写入任何内容。",
		EN: "The existing configuration was left unchanged.",
	}

	textCLIHead = i18n.Phrase{ZH: "\n1. Claude Code", EN: "\n1. Claude Code"}

	textLogInHow = i18n.Phrase{ZH: "Claude 怎样登录？", EN: "How do you log in to Claude?"}
	textLogIn    = i18n.Phrase{
		ZH: "用 Claude 账号登录：会打开浏览器，或显示一个链接",
		EN: "with a Claude account: it opens a browser, or shows a link",
	}
	textAPIKey     = i18n.Phrase{ZH: "用 API key", EN: "with an API key"}
	textOwnAddress = i18n.Phrase{
		ZH: "用自己的接口地址（公司网关、中转服务、兼容的模型）",
		EN: "at an address of your own (a company's gateway, a relay, a compatible model)",
	}
	textLogInLater = i18n.Phrase{ZH: "以后再登录", EN: "later"}
	textKeyAsk     = i18n.Phrase{ZH: "API key（不显示）", EN: "API key (not shown)"}
	textAddressAsk = i18n.Phrase{ZH: "接口地址，以 https:// 开头", EN: "Address, beginning with https://"}
	textNoAddress  = i18n.Phrase{ZH: "%q 不是网址", EN: "%q is not an address"}
	textLookAgain  = i18n.Phrase{
		ZH: "可以现在在另一个终端里安装。装好了，再检查一次吗？n 表示先不装，继续设置",
		EN: "You can install it now, in another terminal. Check again? (n: go on without it)",
	}
	textWithoutCLI = i18n.Phrase{
		ZH: "先继续设置；启动鹊桥之前要装好 Claude Code。",
		EN: "Going on without it. Install Claude Code before you start Magpie.",
	}
	textLogInFirst = i18n.Phrase{
		ZH: "启动前还要登录 Claude Code：执行 claude auth login；或者在这个文件里加上 [claude.env] 和 ANTHROPIC_API_KEY = \"…\"。",
		EN: "Before you start, log Claude Code in with claude auth login, or add [claude.env] with ANTHROPIC_API_KEY = \"…\" to that file.",
	}
	textLogInFailed = i18n.Phrase{
		ZH: "没有登录成功：%v",
		EN: "The login did not succeed: %v",
	}
	textProjectHead = i18n.Phrase{
		ZH: "\n2. 项目文件夹：助手在这里工作，可以读写里面的文件",
		EN: "\n2. Project folder: the agent works here and can read and change its files",
	}
	textProjectAsk  = i18n.Phrase{ZH: "项目文件夹", EN: "Project folder"}
	textProjectMake = i18n.Phrase{
		ZH: "%s 还不存在，将会创建。",
		EN: "%s does not exist yet and will be created.",
	}
	textProjectRelative = i18n.Phrase{ZH: "%s：请写绝对路径", EN: "%s: please enter an absolute path"}
	textProjectNotThis  = i18n.Phrase{
		ZH: "%s：不能用根目录、主目录，或存放配置和数据的文件夹，请换一个",
		EN: "%s: please choose another folder. The root, home folders and folders that hold the configuration or the data are not allowed",
	}
	textProjectNoFolder = i18n.Phrase{ZH: "%s：不是文件夹", EN: "%s: not a folder"}

	textAppHead = i18n.Phrase{ZH: "\n3. 飞书或 Lark 应用", EN: "\n3. Feishu or Lark app"}
	textAppHow  = i18n.Phrase{ZH: "用哪个应用？", EN: "Which app do you want to use?"}
	textAppScan = i18n.Phrase{
		ZH: "用手机扫码创建新应用（推荐）",
		EN: "a new one: scan a QR code with your phone (recommended)",
	}
	textAppEnter = i18n.Phrase{
		ZH: "已有的应用：输入 App ID 和 App Secret",
		EN: "an existing one: enter its App ID and App Secret",
	}
	textScan = i18n.Phrase{
		ZH: "用飞书或 Lark 扫描二维码，或者在浏览器里打开这个链接：",
		EN: "Scan the QR code with Feishu or Lark, or open this link in a browser:",
	}
	textScanSmall = i18n.Phrase{
		ZH: "窗口太小，显示不下二维码：需要 %d 列、%d 行，现在是 %d 列、%d 行。上面的链接用任何浏览器都能打开，也可以发到手机上打开。",
		EN: "This window is too small for the QR code: that needs %d column(s) and %d row(s), and here are %d and %d. " +
			"The link above works in any browser, also on your phone.",
	}
	textEnlarge = i18n.Phrase{
		ZH: "也可以放大窗口（或缩小字号），再按 Enter 显示二维码；用链接的话，按 Enter 继续",
		EN: "Or enlarge the window (or shrink its text) and press Enter to see the code; with the link, press Enter to go on",
	}
	textOpenLink = i18n.Phrase{
		ZH: "现在就在这台电脑的浏览器里打开链接吗？",
		EN: "Open the link in a browser on this computer?",
	}
	textOpening = i18n.Phrase{
		ZH: "正在打开浏览器。没有反应的话，请自己打开上面的链接。",
		EN: "Opening the browser. If nothing happens, open the link above yourself.",
	}
	textNotOpened = i18n.Phrase{
		ZH: "打不开浏览器（%v），请自己打开上面的链接。",
		EN: "The browser could not be opened (%v). Please open the link above yourself.",
	}
	textWaiting = i18n.Phrase{
		ZH: "等待你确认，%d 分钟内有效…",
		EN: "Waiting for you to confirm (valid for %d minute(s))…",
	}
	textCreated      = i18n.Phrase{ZH: "已创建应用 %s。", EN: "Created the app %s."}
	textDeclined     = i18n.Phrase{ZH: "已在手机上取消。", EN: "Canceled on the phone."}
	textExpired      = i18n.Phrase{ZH: "二维码已过期。", EN: "The QR code has expired."}
	textAgain        = i18n.Phrase{ZH: "再试一次吗？", EN: "Try again?"}
	textUnregistered = i18n.Phrase{ZH: "创建应用失败：%v", EN: "The app could not be created: %v"}
	textAppName      = i18n.Phrase{ZH: "鹊桥", EN: "Magpie"}
	textMaybeCreated = i18n.Phrase{
		ZH: "等待期间网络中断过，应用可能已经创建。在应用列表里找“%s”：%s 。它的“凭证与基础信息”页有 App ID 和 App Secret；找到后重新运行 magpie setup，使用已有的应用。",
		EN: `The connection was lost while waiting, so the app may exist anyway. Look for %s in your list of apps: %s . Its page "Credentials & Basic Info" shows the App ID and App Secret; if it is there, run magpie setup again with the existing app.`,
	}
	textEnterFrom = i18n.Phrase{
		ZH: "在 %s 或 %s 的“凭证与基础信息”页复制（直接按 Enter 返回上一步）：",
		EN: `Copy them from the app's page "Credentials & Basic Info" at %s or %s (press Enter alone to go back):`,
	}
	textAppID     = i18n.Phrase{ZH: "App ID", EN: "App ID"}
	textAppSecret = i18n.Phrase{ZH: "App Secret（不显示）", EN: "App Secret (not shown)"}
	textNoSecret  = i18n.Phrase{ZH: "App Secret 不能为空。", EN: "The App Secret cannot be empty."}
	textAsking    = i18n.Phrase{ZH: "正在核对…", EN: "Checking…"}
	textTryAgain  = i18n.Phrase{ZH: "请重新输入。", EN: "Please enter them again."}
	textGoOn      = i18n.Phrase{ZH: "仍然写入配置吗？", EN: "Save the configuration anyway?"}
	textNotTaken  = i18n.Phrase{
		ZH: "应用没有通过上面的核对，没有写入任何内容",
		EN: "the app did not pass the check above; nothing was saved",
	}
	textNoApp = i18n.Phrase{
		ZH: "没有创建应用，没有写入任何内容",
		EN: "no app was created; nothing was saved",
	}

	textOwnerIs = i18n.Phrase{
		ZH: "机器人归 %s 所有。在 [access] 里允许别人之前，只有所有者可以使用。",
		EN: "The bot belongs to %s. Nobody else can use it until you allow them in [access].",
	}
	textOwnerLater = i18n.Phrase{
		ZH: "机器人还没有所有者。启动后日志里会有一次性口令（MAGPIE-…），把它私聊发给机器人的人就是所有者。",
		EN: "The bot has no owner yet. When it starts, its log shows a one-time code (MAGPIE-…). Whoever sends it to the bot in a private chat becomes the owner.",
	}
	textWrote = i18n.Phrase{ZH: "已写入 %s（只有你能读）。", EN: "Saved %s (only you can read it)."}
	textLost  = i18n.Phrase{
		ZH: "应用 %s 已经创建，但没有写入配置。它的密钥在 %s",
		EN: "The app %s was created, but no configuration was saved. Find its secret at %s",
	}
	textConsoleAfter = i18n.Phrase{
		ZH: "处理好上面的 warn 和 fail 之后，可以用 magpie doctor 再检查。",
		EN: "Once you have dealt with the warn and fail lines above, check again with magpie doctor.",
	}

	textStartHow     = i18n.Phrase{ZH: "\n4. 怎样运行？", EN: "\n4. How should it run?"}
	textStartService = i18n.Phrase{
		ZH: "作为系统服务，自动启动",
		EN: "as a service that starts automatically",
	}
	textStartHere     = i18n.Phrase{ZH: "现在就在这个终端里启动", EN: "now, in this terminal"}
	textStartNot      = i18n.Phrase{ZH: "先不启动", EN: "not yet"}
	textStartYourself = i18n.Phrase{ZH: "启动：magpie serve --config %s", EN: "Start it with: magpie serve --config %s"}
	textInstallFirst  = i18n.Phrase{
		ZH: "先安装 Claude Code（见第 1 步），再启动：magpie serve --config %s",
		EN: "Install Claude Code first (see step 1), then start Magpie with: magpie serve --config %s",
	}
	textServiceFailed = i18n.Phrase{ZH: "服务安装失败：%v", EN: "the service could not be installed: %v"}
	textFirstMessage  = i18n.Phrase{
		ZH: "鹊桥在后台运行了。现在打开%v，给机器人发一条消息；等它回答（按 Ctrl-C 不再等待）…",
		EN: "Magpie is running in the background. Now open %v and send the bot a message; waiting for its answer (Ctrl-C to stop waiting)…",
	}
	textFirstAnswer = i18n.Phrase{
		ZH: "机器人已经回答了第一条消息，设置完成。",
		EN: "The bot has answered its first message. Setup is complete.",
	}
	textNotAwaited = i18n.Phrase{
		ZH: "鹊桥仍在运行。机器人没有回答的话，运行 magpie doctor 检查。",
		EN: "Magpie keeps running. If the bot does not answer, check with magpie doctor.",
	}
	textStarting = i18n.Phrase{
		ZH: "正在启动，按 Ctrl-C 停止。现在打开%v，给机器人发消息吧。",
		EN: "Starting; press Ctrl-C to stop. Now open %v and message the bot.",
	}
	textHeader = i18n.Phrase{
		ZH: "# 由 magpie setup 生成。所有选项见 docs/configuration.zh.md。\n\n",
		EN: "# Written by magpie setup. For all options see docs/configuration.md.\n\n",
	}
	textGivenUp = i18n.Phrase{ZH: "\n已取消。", EN: "\nCanceled."}
)
