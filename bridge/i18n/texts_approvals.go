package i18n

// What is said about what an agent wants to do.
var (
	ApprovalOver          = Phrase{"这个请求已经处理过，或已失效。", "This request is settled or no longer valid."}
	ApprovalNotYours      = Phrase{"只有提问的人或管理员可以决定。", "Only the person who asked, or an admin, can decide this."}
	ApprovalNoted         = Phrase{"收到，正在处理…", "Got it, one moment…"}
	ApprovalAllowed       = Phrase{"已允许", "Allowed"}
	ApprovalAnswered      = Phrase{"已提交", "Sent"}
	ApprovalRefused       = Phrase{"已拒绝", "Refused"}
	ApprovalKeepsPlanning = Phrase{"好的，继续规划", "It keeps planning"}
	ApprovalNotAnswered   = Phrase{"好的，不回答", "Not answered"}
	ApprovalUnanswered    = Phrase{"还没有回答：%s", "Not answered yet: %s"}

	ApprovalAsks         = Phrase{"**助手想%s**", "**The agent wants to %s**"}
	ApprovalAsksPlan     = Phrase{"**助手提出了计划，批准后才会动手**", "**The agent has a plan, and begins once it is approved**"}
	ApprovalAsksQuestion = Phrase{"**助手有问题要问你**", "**The agent has questions for you**"}
	ApprovalBounds       = Phrase{"%s内没有人决定就视为拒绝。", "It is refused when nobody decides within %s."}
	ApprovalBoundsAlways = Phrase{"“总是允许”只在本聊天、本项目有效：%s。", " “Always” counts in this chat and project only: %s."}

	ApprovalAllowButton        = Phrase{"允许一次", "Allow once"}
	ApprovalAlwaysButton       = Phrase{"本聊天总是允许", "Always in this chat"}
	ApprovalRefuseButton       = Phrase{"拒绝", "Deny"}
	ApprovalRefuseSayingButton = Phrase{"拒绝并说明", "Deny and say why"}
	ApprovalWhy                = Phrase{"如果拒绝，可以告诉助手原因", "If you deny it, you can tell the agent why"}
	ApprovalWhyHint            = Phrase{"例如：先跑测试", "For example: run the tests first"}
	ApprovalApproveButton      = Phrase{"批准计划", "Approve"}
	ApprovalKeepPlanningButton = Phrase{"继续规划", "Keep planning"}
	ApprovalBetter             = Phrase{"要继续规划的话，可以说说哪里要改", "If it is to keep planning, you can say what to change"}
	ApprovalBetterHint         = Phrase{"例如：先不要改配置文件", "For example: leave the configuration alone"}
	ApprovalSubmitButton       = Phrase{"提交", "Submit"}
	ApprovalSkipButton         = Phrase{"不回答", "Do not answer"}
	ApprovalOther              = Phrase{"其他（%s）", "Other (%s)"}
	ApprovalOtherHint          = Phrase{"用自己的话回答", "In your own words"}

	ApprovalWasAllowed     = Phrase{"✅ %s 已允许", "✅ Allowed by %s"}
	ApprovalFromNowOn      = Phrase{"从此在本聊天总是允许：%s", "Always allowed in this chat from now on: %s"}
	ApprovalWasRefused     = Phrase{"🚫 %s 已拒绝，没有执行", "🚫 Denied by %s; it was not done"}
	ApprovalWasExpired     = Phrase{"⌛ 没有人在时限内决定，没有执行", "⌛ Nobody decided in time; it was not done"}
	ApprovalWasWithdrawn   = Phrase{"⏹ 这一轮已经结束，没有执行", "⏹ The turn is over; it was not done"}
	ApprovalWasApproved    = Phrase{"✅ %s 已批准计划", "✅ Approved by %s"}
	ApprovalWasNotApproved = Phrase{"✏️ %s 要求继续规划", "✏️ %s wants it to keep planning"}
	ApprovalWasAnswered    = Phrase{"✅ %s 已回答", "✅ Answered by %s"}
	ApprovalWasSkipped     = Phrase{"🚫 %s 没有回答", "🚫 %s did not answer"}
	WishAllow              = Phrase{"允许", "allow it"}
	ApprovalSomebody       = Phrase{"有人", "somebody"}
	ApprovalSaid           = Phrase{"说明：%s", "Said: %s"}

	ApprovalRuns             = Phrase{"运行命令", "run a command"}
	ApprovalRunsInBackground = Phrase{"在后台运行命令", "run a command in the background"}
	ApprovalWrites           = Phrase{"写入文件（原有内容会被替换）", "write a file (what it holds is replaced)"}
	ApprovalEdits            = Phrase{"修改文件", "edit a file"}
	ApprovalEditsAll         = Phrase{"修改文件（替换所有相同的地方）", "edit a file (every place that says so)"}
	ApprovalEditsNotebook    = Phrase{"修改 Notebook 文件", "edit a notebook"}
	ApprovalReads            = Phrase{"读取文件", "read a file"}
	ApprovalFetches          = Phrase{"访问网页", "fetch a page"}
	ApprovalSearches         = Phrase{"搜索网页", "search the web"}
	ApprovalUses             = Phrase{"使用工具 %s", "use the tool %s"}
	ApprovalUsesOf           = Phrase{"使用 MCP 服务器 %[1]s 的工具 %[2]s", "use the tool %[2]s of the MCP server %[1]s"}
	ApprovalSeveral          = Phrase{"（可多选）", " (several may be chosen)"}

	AgentSays          = Phrase{"助手的说明：%s", "The agent says: %s"}
	ApprovalFetchesFor = Phrase{"助手想从网页了解：%s", "The agent wants to know: %s"}

	AdminsAllow = Phrase{"只有管理员可以允许。", "Only an admin can allow this."}
	AboutOwn    = Phrase{"只有管理员可以允许：这涉及鹊桥自己的文件，或包含它们的文件夹。",
		"Only an admin can allow this: it is about Magpie's own files, or a folder that holds them."}
	AboutChat = Phrase{"只有管理员可以允许：这涉及另一个聊天（%s）的文件。",
		"Only an admin can allow this: it is about files of another chat: %s."}
	AboutOther = Phrase{"只有管理员可以允许：这涉及另一个聊天的文件。",
		"Only an admin can allow this: it is about files of another chat."}
	NoAdmins = Phrase{"🚫 没有执行：只有管理员可以允许，而这个机器人还没有管理员",
		"🚫 It was not done: only an admin can allow it, and this bot has no admin yet"}
	AdminsAway = Phrase{"🚫 没有执行：只有管理员可以允许，请管理员来提问",
		"🚫 It was not done: only an admin can allow it; please have an admin ask for it"}

	ScopeExact  = Phrase{"仅这一条命令", "this very command only"}
	ScopePrefix = Phrase{"以 %s 开头、只带常用选项的单条命令", "single commands that begin with %s and have usual options only"}
	ScopePath   = Phrase{"%s 文件 %s", "%s of the file %s"}
	ScopeInside = Phrase{"%s 项目内的文件", "%s of files in the project"}
	ScopeHost   = Phrase{"访问 %s 的网页", "pages of %s"}
	ScopeTool   = Phrase{"工具 %s", "the tool %s"}

	HelpAllow      = Phrase{"查看或撤销本聊天总是允许的操作", "list or revoke what is always allowed in this chat"}
	ArgsAllow      = Phrase{"[revoke 编号]", "[revoke number]"}
	HelpApprovals  = Phrase{"最近允许、拒绝过哪些操作", "what was allowed and denied lately"}
	ArgsApprovals  = Phrase{"[天数]", "[days]"}
	DecisionsHead  = Phrase{"**最近 %d 天的决定**", "**Decisions of the last %d days**"}
	DecisionsMore  = Phrase{"（更早的 %d 条没有列出）", "(%d earlier ones are left out)"}
	DecisionsNone  = Phrase{"最近 %d 天里没有需要决定的操作。", "There was nothing to decide in the last %d days."}
	DecisionsUsage = Phrase{"用法：/approvals 天数，例如 /approvals 30", "Usage: /approvals and a number of days, such as /approvals 30"}

	DecidedAllowed  = Phrase{"✅ %s 允许一次", "✅ %s allowed once"}
	DecidedAlways   = Phrase{"✅ %s 从此总是允许", "✅ %s allowed from then on"}
	DecidedByRule   = Phrase{"✅ 规则 %d 允许", "✅ rule %d allowed"}
	DecidedDenied   = Phrase{"🚫 %s 拒绝", "🚫 %s denied"}
	DecidedUnasked  = Phrase{"🚫 不询问，直接拒绝", "🚫 denied without asking"}
	DecidedByNobody = Phrase{"⌛ 没有人决定", "⌛ nobody decided"}
	DecidedTooLate  = Phrase{"⏹ 那一轮结束了，不再需要", "⏹ not needed after its turn ended"}

	Colon = Phrase{"：", ": "}

	AllowNone = Phrase{"这个聊天里没有“总是允许”的操作，助手每次都会先问。",
		"Nothing is always allowed in this chat; the agent asks each time."}
	AllowHead  = Phrase{"**本聊天总是允许的操作**", "**Always allowed in this chat**"}
	AllowLine  = Phrase{"%d. %s（项目 %s，%s%s）", "%d. %s (project %s, %s%s)"}
	AllowFoot  = Phrase{"撤销：/allow revoke 编号", "To revoke one: /allow revoke and its number"}
	AllowUsage = Phrase{"用法：/allow 查看，/allow revoke N 撤销第 N 条",
		"Usage: /allow lists them, /allow revoke N revokes one"}
	AllowUnknown = Phrase{"没有第 %d 条，/allow 查看全部。", "There is no number %d; /allow lists them all."}
	AllowRevoked = Phrase{"已撤销 %d：%s。下次会先问你。", "Revoked %d: %s. You will be asked again."}
)
