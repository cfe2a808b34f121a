package i18n

// The dialog of magpie setup.
var (
	SetupWelcome = Phrase{
		"现在设置鹊桥。按 Enter 采用方括号里的默认值；按 Ctrl-C 退出，不会留下写了一半的文件。",
		"Setting up Magpie. Press Enter to accept the value in brackets, or Ctrl-C to quit; no half-written file is left behind.",
	}
	SetupYesOrNo       = Phrase{"请回答 y 或 n。", "Please answer y or n."}
	SetupNumber        = Phrase{"请选择", "Choose"}
	SetupNoSuchChoice  = Phrase{"请输入 1 到 %d 的数字。", "Please enter a number from 1 to %d."}
	SetupNeedsTerminal = Phrase{
		"没有可以提问的终端：请加上 --yes，并用参数给出需要的内容（见 magpie setup --help）",
		"there is no terminal to ask questions on: add --yes and give the answers as flags (see magpie setup --help)",
	}
	SetupNeedsApp = Phrase{
		"需要 --scan，或同时给出 --app-id 和 --app-secret-file",
		"add --scan, or both --app-id and --app-secret-file",
	}
	SetupNeedsSecret = Phrase{
		"--app-secret-file %s：文件是空的",
		"--app-secret-file %s: the file is empty",
	}
	SetupNoSecretFile = Phrase{
		"--app-secret-file：文件读不出来：%v",
		"--app-secret-file: the file cannot be read: %v",
	}
	SetupNeedsPipe = Phrase{
		"--app-secret-file -：标准输入是终端，请改用文件，或从管道传入密钥",
		"--app-secret-file -: the standard input is a terminal; name a file, or pass the secret through a pipe",
	}
	SetupWrongPlatform = Phrase{
		"%s %q：应为 feishu、lark，或 https://open.feishu.cn 这样的地址",
		"%s %q: must be feishu, lark, or an address such as https://open.feishu.cn",
	}
	SetupWrongOwner = Phrase{
		"--owner %q：应为用户的 ID（ou_…）",
		"--owner %q: must be the ID of a user (ou_…)",
	}
	SetupWrongAppID = Phrase{
		"--app-id %q：应为 cli_ 加字母和数字",
		"--app-id %q: must be cli_ followed by letters and digits",
	}
	SetupNotAppID = Phrase{
		"%q 不是 App ID：App ID 是 cli_ 加字母和数字。",
		"%q is not an App ID: an App ID is cli_ followed by letters and digits.",
	}
	SetupNeedsReplace = Phrase{
		"%s 已经存在：要替换它，请加上 --replace（旧文件会保留为 %s）",
		"%s already exists: add --replace to replace it (the old file is kept as %s)",
	}
	SetupExists  = Phrase{"%s 已经存在。", "%s already exists."}
	SetupKeepOld = Phrase{
		"要替换它吗？旧文件会改名保留",
		"Replace it? The old file is kept under another name",
	}
	SetupKept      = Phrase{"旧的配置保留在 %s", "The old configuration is kept as %s"}
	SetupLeftAlone = Phrase{
		"保留原来的配置，没有写入任何内容。",
		"The existing configuration was left unchanged.",
	}

	SetupCLIHead = Phrase{"\n1. Claude Code", "\n1. Claude Code"}

	SetupLogInHow = Phrase{"Claude 怎样登录？", "How do you log in to Claude?"}
	SetupLogIn    = Phrase{
		"用 Claude 账号登录：会打开浏览器，或显示一个链接",
		"with a Claude account: it opens a browser, or shows a link",
	}
	SetupAPIKey     = Phrase{"用 API key", "with an API key"}
	SetupOwnAddress = Phrase{
		"用自己的接口地址（公司网关、中转服务、兼容的模型）",
		"at an address of your own (a company's gateway, a relay, a compatible model)",
	}
	SetupLogInLater = Phrase{"以后再登录", "later"}
	SetupKeyAsk     = Phrase{"API key（不显示）", "API key (not shown)"}
	SetupAddressAsk = Phrase{"接口地址，以 https:// 开头", "Address, beginning with https://"}
	SetupNoAddress  = Phrase{"%q 不是网址", "%q is not an address"}
	SetupLookAgain  = Phrase{
		"可以现在在另一个终端里安装。装好了，再检查一次吗？n 表示先不装，继续设置",
		"You can install it now, in another terminal. Check again? (n: go on without it)",
	}
	SetupWithoutCLI = Phrase{
		"先继续设置；启动鹊桥之前要装好 Claude Code。",
		"Going on without it. Install Claude Code before you start Magpie.",
	}
	SetupLogInFirst = Phrase{
		"启动前还要登录 Claude Code：执行 claude auth login；或者在这个文件里加上 [claude.env] 和 ANTHROPIC_API_KEY = \"…\"。",
		"Before you start, log Claude Code in with claude auth login, or add [claude.env] with ANTHROPIC_API_KEY = \"…\" to that file.",
	}
	SetupLogInFailed = Phrase{
		"没有登录成功：%v",
		"The login did not succeed: %v",
	}
	SetupProjectHead = Phrase{
		"\n2. 项目文件夹：助手在这里工作，可以读写里面的文件",
		"\n2. Project folder: the agent works here and can read and change its files",
	}
	SetupProjectAsk  = Phrase{"项目文件夹", "Project folder"}
	SetupProjectMake = Phrase{
		"%s 还不存在，将会创建。",
		"%s does not exist yet and will be created.",
	}
	SetupProjectRelative = Phrase{"%s：请写绝对路径", "%s: please enter an absolute path"}
	SetupProjectNotThis  = Phrase{
		"%s：不能用根目录、主目录，或存放配置和数据的文件夹，请换一个",
		"%s: please choose another folder. The root, home folders and folders that hold the configuration or the data are not allowed",
	}
	SetupProjectNoFolder = Phrase{"%s：不是文件夹", "%s: not a folder"}

	SetupAppHead = Phrase{"\n3. 飞书或 Lark 应用", "\n3. Feishu or Lark app"}
	SetupAppHow  = Phrase{"用哪个应用？", "Which app do you want to use?"}
	SetupAppScan = Phrase{
		"用手机扫码创建新应用（推荐）",
		"a new one: scan a QR code with your phone (recommended)",
	}
	SetupAppEnter = Phrase{
		"已有的应用：输入 App ID 和 App Secret",
		"an existing one: enter its App ID and App Secret",
	}
	SetupScan = Phrase{
		"用飞书或 Lark 扫描二维码，或者在浏览器里打开这个链接：",
		"Scan the QR code with Feishu or Lark, or open this link in a browser:",
	}
	SetupScanSmall = Phrase{
		"窗口太小，显示不下二维码：需要 %d 列、%d 行，现在是 %d 列、%d 行。上面的链接用任何浏览器都能打开，也可以发到手机上打开。",
		"This window is too small for the QR code: that needs %d column(s) and %d row(s), and here are %d and %d. " +
			"The link above works in any browser, also on your phone.",
	}
	SetupEnlarge = Phrase{
		"也可以放大窗口（或缩小字号），再按 Enter 显示二维码；用链接的话，按 Enter 继续",
		"Or enlarge the window (or shrink its text) and press Enter to see the code; with the link, press Enter to go on",
	}
	SetupOpenLink = Phrase{
		"现在就在这台电脑的浏览器里打开链接吗？",
		"Open the link in a browser on this computer?",
	}
	SetupOpening = Phrase{
		"正在打开浏览器。没有反应的话，请自己打开上面的链接。",
		"Opening the browser. If nothing happens, open the link above yourself.",
	}
	SetupNotOpened = Phrase{
		"打不开浏览器（%v），请自己打开上面的链接。",
		"The browser could not be opened (%v). Please open the link above yourself.",
	}
	SetupWaiting = Phrase{
		"等待你确认，%d 分钟内有效…",
		"Waiting for you to confirm (valid for %d minute(s))…",
	}
	SetupCreated      = Phrase{"已创建应用 %s。", "Created the app %s."}
	SetupDeclined     = Phrase{"已在手机上取消。", "Canceled on the phone."}
	SetupExpired      = Phrase{"二维码已过期。", "The QR code has expired."}
	SetupAgain        = Phrase{"再试一次吗？", "Try again?"}
	SetupUnregistered = Phrase{"创建应用失败：%v", "The app could not be created: %v"}
	SetupAppName      = Phrase{"鹊桥", "Magpie"}
	SetupMaybeCreated = Phrase{
		"等待期间网络中断过，应用可能已经创建。在应用列表里找“%s”：%s 。它的“凭证与基础信息”页有 App ID 和 App Secret；找到后重新运行 magpie setup，使用已有的应用。",
		`The connection was lost while waiting, so the app may exist anyway. Look for %s in your list of apps: %s . Its page "Credentials & Basic Info" shows the App ID and App Secret; if it is there, run magpie setup again with the existing app.`,
	}
	SetupEnterFrom = Phrase{
		"在 %s 或 %s 的“凭证与基础信息”页复制（直接按 Enter 返回上一步）：",
		`Copy them from the app's page "Credentials & Basic Info" at %s or %s (press Enter alone to go back):`,
	}
	SetupAppID     = Phrase{"App ID", "App ID"}
	SetupAppSecret = Phrase{"App Secret（不显示）", "App Secret (not shown)"}
	SetupNoSecret  = Phrase{"App Secret 不能为空。", "The App Secret cannot be empty."}
	SetupAsking    = Phrase{"正在核对…", "Checking…"}
	SetupTryAgain  = Phrase{"请重新输入。", "Please enter them again."}
	SetupGoOn      = Phrase{"仍然写入配置吗？", "Save the configuration anyway?"}
	SetupNotTaken  = Phrase{
		"应用没有通过上面的核对，没有写入任何内容",
		"the app did not pass the check above; nothing was saved",
	}
	SetupNoApp = Phrase{
		"没有创建应用，没有写入任何内容",
		"no app was created; nothing was saved",
	}

	SetupOwnerIs = Phrase{
		"机器人归 %s 所有。在 [access] 里允许别人之前，只有所有者可以使用。",
		"The bot belongs to %s. Nobody else can use it until you allow them in [access].",
	}
	SetupOwnerLater = Phrase{
		"机器人还没有所有者。启动后日志里会有一次性口令（MAGPIE-…），把它私聊发给机器人的人就是所有者。",
		"The bot has no owner yet. When it starts, its log shows a one-time code (MAGPIE-…). Whoever sends it to the bot in a private chat becomes the owner.",
	}
	SetupWrote = Phrase{"已写入 %s（只有你能读）。", "Saved %s (only you can read it)."}
	SetupLost  = Phrase{
		"应用 %s 已经创建，但没有写入配置。它的密钥在 %s",
		"The app %s was created, but no configuration was saved. Find its secret at %s",
	}
	SetupConsoleAfter = Phrase{
		"处理好上面的 warn 和 fail 之后，可以用 magpie doctor 再检查。",
		"Once you have dealt with the warn and fail lines above, check again with magpie doctor.",
	}

	SetupStartHow     = Phrase{"\n4. 怎样运行？", "\n4. How should it run?"}
	SetupStartService = Phrase{
		"作为系统服务，自动启动",
		"as a service that starts automatically",
	}
	SetupStartHere     = Phrase{"现在就在这个终端里启动", "now, in this terminal"}
	SetupStartNot      = Phrase{"先不启动", "not yet"}
	SetupStartYourself = Phrase{"启动：magpie serve --config %s", "Start it with: magpie serve --config %s"}
	SetupInstallFirst  = Phrase{
		"先安装 Claude Code（见第 1 步），再启动：magpie serve --config %s",
		"Install Claude Code first (see step 1), then start Magpie with: magpie serve --config %s",
	}
	SetupServiceFailed = Phrase{"服务安装失败：%v", "the service could not be installed: %v"}
	SetupFirstMessage  = Phrase{
		"鹊桥在后台运行了。现在打开%v，给机器人发一条消息；等它回答（按 Ctrl-C 不再等待）…",
		"Magpie is running in the background. Now open %v and send the bot a message; waiting for its answer (Ctrl-C to stop waiting)…",
	}
	SetupFirstAnswer = Phrase{
		"机器人已经回答了第一条消息，设置完成。",
		"The bot has answered its first message. Setup is complete.",
	}
	SetupNotAwaited = Phrase{
		"鹊桥仍在运行。机器人没有回答的话，运行 magpie doctor 检查。",
		"Magpie keeps running. If the bot does not answer, check with magpie doctor.",
	}
	SetupStarting = Phrase{
		"正在启动，按 Ctrl-C 停止。现在打开%v，给机器人发消息吧。",
		"Starting; press Ctrl-C to stop. Now open %v and message the bot.",
	}
	SetupHeader = Phrase{
		"# 由 magpie setup 生成。所有选项见 docs/configuration.zh.md。\n\n",
		"# Written by magpie setup. For all options see docs/configuration.md.\n\n",
	}
	SetupGivenUp = Phrase{"\n已取消。", "\nCanceled."}
)
