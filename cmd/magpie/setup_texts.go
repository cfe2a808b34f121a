package main

// setupTexts is what is said while a bridge is set up.
var setupTexts = struct {
	Welcome, YesOrNo, Number, NeedsTerminal, NeedsApp, NeedsReplace, NeedsSecret   phrase
	Exists, KeepOld, Kept, LeftAlone                                               phrase
	CLIHead, ProjectHead, ProjectAsk, ProjectMake, ProjectRelative, ProjectNotThis phrase
	ProjectNoFolder                                                                phrase
	AppHead, AppHow, AppScan, AppEnter, Scan, ScanWide, Waiting, Created, Declined phrase
	Expired, Again, Unregistered, AppID, AppSecret, EnterFrom, Asking, TryAgain    phrase
	GoOn, NotTaken                                                                 phrase
	OwnerIs, OwnerLater, Wrote, Lost, StartHow, StartService, StartHere, StartNot  phrase
	StartYourself, ServiceFailed, Starting, ConsoleAfter, Header, GivenUp          phrase
}{
	Welcome:       phrase{"设置 Magpie。方括号里是默认值，按 Enter 采用；随时可以按 Ctrl-C 放弃，不会留下写了一半的文件。", "Setting up Magpie. Enter takes what is in brackets; Ctrl-C gives up at any time and leaves nothing half-written."},
	YesOrNo:       phrase{"请回答 y 或 n。", "Please answer y or n."},
	Number:        phrase{"编号", "Number"},
	NeedsTerminal: phrase{"没有终端可以提问：加上 --yes，并用参数给出需要的内容（magpie setup --help）", "there is no terminal to ask on: add --yes, and give what is needed by flags (magpie setup --help)"},
	NeedsApp:      phrase{"需要 --scan，或者 --app-id 和 --app-secret-file", "--scan is needed, or --app-id and --app-secret-file"},
	NeedsSecret:   phrase{"--app-secret-file %s：是空的", "--app-secret-file %s: it is empty"},
	NeedsReplace:  phrase{"%s 已经存在：要替换它就加上 --replace（旧文件会保留为 %s）", "%s exists: add --replace to replace it (it is kept as %s)"},
	Exists:        phrase{"%s 已经存在。", "%s exists."},
	KeepOld:       phrase{"替换它吗？旧文件会改名保留", "Replace it? The old file is kept under another name"},
	Kept:          phrase{"旧的配置保留在 %s", "the old configuration is kept as %s"},
	LeftAlone:     phrase{"保留了原来的配置，什么也没有写。", "The configuration was left alone; nothing was written."},

	CLIHead:         phrase{"\n1. Claude Code 命令行", "\n1. The Claude Code CLI"},
	ProjectHead:     phrase{"\n2. 项目文件夹：智能体在这里工作，可以读写里面的文件", "\n2. The project folder, in which the agent works and whose files it may read and change"},
	ProjectAsk:      phrase{"项目文件夹", "Project folder"},
	ProjectMake:     phrase{"%s 还不存在，会创建它。", "%s does not exist yet and will be made."},
	ProjectRelative: phrase{"%s：请写绝对路径", "%s: write an absolute path"},
	ProjectNotThis:  phrase{"%s：不能用根目录、主目录，或存放配置和数据的文件夹", "%s: neither the root, nor a home folder, nor a folder with the configuration or the data will do"},
	ProjectNoFolder: phrase{"%s：不是文件夹", "%s: not a folder"},

	AppHead:      phrase{"\n3. 飞书应用", "\n3. The Feishu or Lark app"},
	AppHow:       phrase{"用哪个应用？", "Which app is it?"},
	AppScan:      phrase{"用手机扫码创建一个新的（推荐）", "a new one, created by scanning a code with the phone (recommended)"},
	AppEnter:     phrase{"已有的应用：输入 App ID 和 App Secret", "one that is there: enter its App ID and App Secret"},
	Scan:         phrase{"用飞书或 Lark 扫描二维码，或者在浏览器里打开：", "Scan this with Feishu or Lark, or open it in a browser:"},
	ScanWide:     phrase{"（终端不够宽，显示不了二维码）", "(the terminal is too narrow for the code)"},
	Waiting:      phrase{"等待确认，%d 分钟内有效…", "Waiting for you to confirm it, for %d minutes …"},
	Created:      phrase{"应用 %s 已创建。", "The app %s was created."},
	Declined:     phrase{"手机上取消了。", "It was declined on the phone."},
	Expired:      phrase{"二维码过期了。", "The code has expired."},
	Again:        phrase{"再来一次吗？", "Once more?"},
	Unregistered: phrase{"没有创建应用：%v", "no app was created: %v"},
	EnterFrom:    phrase{"在 %s 或 %s 的“凭证与基础信息”页复制：", "Copy them from the app's page \"Credentials & Basic Info\" at %s or %s :"},
	AppID:        phrase{"App ID", "App ID"},
	AppSecret:    phrase{"App Secret（不显示）", "App Secret (not shown)"},
	Asking:       phrase{"正在向平台核对…", "Asking the platform …"},
	TryAgain:     phrase{"请重新输入。", "Please enter them again."},
	GoOn:         phrase{"仍然写下配置吗？", "Write the configuration anyway?"},
	NotTaken:     phrase{"平台没有接受这个应用，什么也没有写", "the platform did not take the app; nothing was written"},

	OwnerIs:      phrase{"机器人归 %s 所有：只有这个人可以和它说话，直到 [access] 里允许别人。", "The bot belongs to %s: nobody else may talk to it until [access] allows it."},
	OwnerLater:   phrase{"还不知道机器人归谁所有：启动后日志里有一个一次性口令，把它私聊发给机器人的人就是所有者。", "It is not known yet to whom the bot belongs: at its start there is a one-time code in the log, and who sends it to the bot in a private chat becomes the owner."},
	Wrote:        phrase{"已写入 %s（只有你能读）。", "Wrote %s (only you can read it)."},
	Lost:         phrase{"应用 %s 已经创建，但没有写入配置。它的密钥在 %s", "The app %s was created, but no configuration was written. Its secret is at %s"},
	ConsoleAfter: phrase{"上面的 warn 和 fail 之后可以用 magpie doctor 再检查。", "What is marked warn or fail above is checked again by magpie doctor."},

	StartHow:      phrase{"\n4. 怎样运行？", "\n4. How should it run?"},
	StartService:  phrase{"作为 systemd 服务，开机自动启动", "as a service of systemd, also after a restart of the machine"},
	StartHere:     phrase{"现在就在这个终端里启动", "now, in this terminal"},
	StartNot:      phrase{"先不启动", "not yet"},
	StartYourself: phrase{"启动：magpie serve --config %s", "Start it with: magpie serve --config %s"},
	ServiceFailed: phrase{"没有装好服务：%v", "the service was not installed: %v"},
	Starting:      phrase{"启动中；Ctrl-C 停止。在飞书里给机器人发消息吧。", "Starting; Ctrl-C stops it. Now write to the bot."},
	Header:        phrase{"# 由 magpie setup 生成。所有选项见 README.zh.md。\n\n", "# Written by magpie setup. README.md lists all keys.\n\n"},
	GivenUp:       phrase{"\n已放弃。", "\nGiven up."},
}
