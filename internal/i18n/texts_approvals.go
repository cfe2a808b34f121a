package i18n

// Texts about approvals of the agent's requests.
var (
	ApprovalOver          = Phrase{"这个请求已经处理过，或已失效。", "This request has been handled or has expired."}
	ApprovalNotYours      = Phrase{"只有提问的人或管理员可以决定。", "Only the person who asked or an admin can decide this."}
	ApprovalNoted         = Phrase{"收到，正在处理…", "Got it, one moment…"}
	ApprovalAllowed       = Phrase{"已允许", "Allowed"}
	ApprovalAnswered      = Phrase{"已提交", "Submitted"}
	ApprovalRefused       = Phrase{"已拒绝", "Denied"}
	ApprovalKeepsPlanning = Phrase{"好的，继续规划", "Back to planning"}
	ApprovalNotAnswered   = Phrase{"已跳过", "Skipped"}
	ApprovalWhyBelow      = Phrase{"请在卡片最下面填写", "Fill in the field at the bottom of the card"}
	ApprovalUnanswered    = Phrase{"请先回答：%s", "Please answer this first: %s"}

	ApprovalAsks         = Phrase{"助手想%s", "The agent wants to %s"}
	ApprovalAsksPlan     = Phrase{"助手提出了计划，批准后才会动手", "The agent has a plan and will start once you approve it"}
	ApprovalAsksQuestion = Phrase{"助手有问题要问你", "The agent needs your input"}
	FormAsks             = Phrase{"MCP 服务器 %s 需要你填写", "The MCP server %s needs your input"}
	FormOptional         = Phrase{"（选填）", " (optional)"}
	FormDoneButton       = Phrase{"完成", "Done"}
	FormLink             = Phrase{"请打开这个页面，弄完后点“完成”：", "Open this page, and press “Done” when you have finished:"}
	FormWrong            = Phrase{"“%s”要填%s", "“%s” takes %s"} // a kind of value
	FormText             = Phrase{"文字", "a text"}
	FormNumber           = Phrase{"数字", "a number"}
	FormInteger          = Phrase{"整数", "a whole number"}
	FormEmail            = Phrase{"邮箱地址", "an email address"}
	FormAddress          = Phrase{"网址", "a web address"}
	FormDate             = Phrase{"日期，例如 2026-05-04", "a date, for example 2026-05-04"}
	FormTime             = Phrase{"日期和时间，例如 2026-05-04T15:00:00+08:00", "a date and time, for example 2026-05-04T15:00:00+08:00"}
	FormLeast            = Phrase{"，至少 %s", ", at least %s"}
	FormMost             = Phrase{"，至多 %s", ", at most %s"}
	FormLeastLong        = Phrase{"，至少 %s 个字", ", at least %s characters"}
	FormMostLong         = Phrase{"，至多 %s 个字", ", at most %s characters"}
	FormYes              = Phrase{"是", "Yes"}
	FormNo               = Phrase{"否", "No"}
	ApprovalBounds       = Phrase{"%s内有效。", "Expires in %s."}
	ApprovalBoundsAlways = Phrase{"“总是允许”仅限本聊天、本项目里的%s。", " “Always” covers %s, in this chat and project."}

	ApprovalAllowButton        = Phrase{"允许一次", "Allow once"}
	ApprovalAlwaysButton       = Phrase{"本聊天总是允许", "Always in this chat"}
	ApprovalRefuseButton       = Phrase{"拒绝", "Deny"}
	ApprovalExplainButton      = Phrase{"拒绝并说明…", "Deny with a reason…"}
	ApprovalRefuseSayingButton = Phrase{"拒绝并附上原因", "Deny with this reason"}
	ApprovalWhy                = Phrase{"拒绝的原因", "Reason for denying"}
	ApprovalWhyHint            = Phrase{"例如：先跑测试", "For example: run the tests first"}
	ApprovalApproveButton      = Phrase{"批准计划", "Approve plan"}
	ApprovalKeepPlanningButton = Phrase{"继续规划", "Keep planning"}
	ApprovalChangeButton       = Phrase{"提出修改…", "Ask for changes…"}
	ApprovalChangeSayingButton = Phrase{"按意见继续规划", "Keep planning with these changes"}
	ApprovalBetter             = Phrase{"希望怎么改", "What to change"}
	ApprovalBetterHint         = Phrase{"例如：先不要改配置文件", "For example: leave the configuration alone"}
	ApprovalSubmitButton       = Phrase{"提交", "Submit"}
	ApprovalSkipButton         = Phrase{"跳过", "Skip"}
	ApprovalOther              = Phrase{"其他（%s）", "Other (%s)"}
	ApprovalOwnAnswer          = Phrase{"其他回答", "Another answer"}
	ApprovalOtherHint          = Phrase{"用自己的话回答", "Answer in your own words"}

	ApprovalWasAllowed     = Phrase{"✅ %s 已允许", "✅ Allowed by %s"}
	ApprovalFromNowOn      = Phrase{"以后在本聊天总是允许：%s", "From now on always allowed in this chat: %s"}
	ApprovalWasRefused     = Phrase{"🚫 %s 已拒绝，没有执行", "🚫 Denied by %s; not run"}
	ApprovalWasExpired     = Phrase{"⌛ 超时无人处理，没有执行", "⌛ Expired without a decision; not run"}
	ApprovalWasWithdrawn   = Phrase{"⏹ 回答已结束，没有执行", "⏹ The answer has ended; not run"}
	PlanWasExpired         = Phrase{"⌛ 没有人及时批准计划", "⌛ The plan was not approved in time"}
	QuestionWasExpired     = Phrase{"⌛ 没有人及时回答", "⌛ Not answered in time"}
	QuestionWasWithdrawn   = Phrase{"⏹ 这次回答已结束，不用再答", "⏹ The answer has ended; this needs no reply any more"}
	ApprovalWasApproved    = Phrase{"✅ %s 已批准计划", "✅ Plan approved by %s"}
	ApprovalWasNotApproved = Phrase{"✏️ %s 要求继续规划", "✏️ %s asked for more planning"}
	ApprovalWasAnswered    = Phrase{"✅ %s 已回答", "✅ Answered by %s"}
	ApprovalWasSkipped     = Phrase{"🚫 %s 跳过了问题", "🚫 Skipped by %s"}
	ApprovalGoesOnBelow    = Phrase{"助手的回复会出现在下面。", "The agent's answer will appear below."}
	ApprovalNotPassedOn    = Phrase{
		"你的决定没能交给助手：每次接着做，服务都中断了。这个决定已作废，什么也没有执行。" +
			"请让管理员查看日志，之后在卡片上点“继续”；需要时助手会再问一次。",
		"Your decision couldn't be passed on to the agent: the service stopped each time the answer went on. The decision " +
			"is void, and nothing was run. Ask an admin to check the log, then press “Continue” on the card; the agent asks " +
			"again if it needs to.",
	}
	ApprovalAllowIt  = Phrase{"允许", "allow it"}
	ApprovalSomebody = Phrase{"有人", "someone"}
	ApprovalSaid     = Phrase{"说明：%s", "Note: %s"}

	ApprovalRuns             = Phrase{"运行命令", "run a command"}
	ApprovalRunsInBackground = Phrase{"在后台运行命令", "run a command in the background"}
	ApprovalWrites           = Phrase{"写入文件（覆盖原有内容）", "write a file (replacing its contents)"}
	ApprovalEdits            = Phrase{"修改文件", "edit a file"}
	ApprovalEditsAll         = Phrase{"修改文件（替换所有匹配的内容）", "edit a file (replacing every match)"}
	ApprovalEditsNotebook    = Phrase{"修改 Notebook 文件", "edit a notebook"}
	ApprovalReads            = Phrase{"读取文件", "read a file"}
	ApprovalFetches          = Phrase{"访问网页", "open a web page"}
	ApprovalSearches         = Phrase{"搜索网页", "search the web"}
	ApprovalUses             = Phrase{"使用工具 %s", "use the tool %s"}
	ApprovalUsesOf           = Phrase{"使用 MCP 服务器 %[1]s 的工具 %[2]s", "use the tool %[2]s from the MCP server %[1]s"}
	ApprovalSeveral          = Phrase{"（可多选）", " (choose one or more)"}

	AgentSays          = Phrase{"助手的说明", "The agent's explanation"}
	ApprovalFetchesFor = Phrase{"助手想了解：%s", "The agent wants to know: %s"}

	AdminsAllow = Phrase{"只有管理员可以允许。", "Only an admin can allow this."}
	AboutOwn    = Phrase{"只有管理员可以允许：这涉及鹊桥自己的文件，或包含这些文件的文件夹。",
		"Only an admin can allow this: it involves Magpie's own files or a folder that contains them."}
	AboutChat = Phrase{"只有管理员可以允许：这涉及另一个聊天（%s）的文件。",
		"Only an admin can allow this: it involves files of another chat (%s)."}
	AboutOther = Phrase{"只有管理员可以允许：这涉及另一个聊天的文件。",
		"Only an admin can allow this: it involves files of another chat."}
	NoAdmins = Phrase{"🚫 没有执行：只有管理员可以允许，而这个机器人还没有管理员",
		"🚫 Not run: only an admin can allow this, and this bot has no admin yet"}
	AdminsAway = Phrase{"🚫 没有执行：只有管理员可以允许。请让管理员来发送这个请求。",
		"🚫 Not run: only an admin can allow this. Please have an admin send the request."}

	ScopeExact  = Phrase{"这一条命令", "this exact command"}
	ScopePrefix = Phrase{"单条命令（以 %s 开头，只带常用选项）", "single commands that start with %s and use common options only"}
	ScopePath   = Phrase{"文件操作（%s，%s）", "%s for the file %s"}
	ScopeInside = Phrase{"文件操作（%s，限项目内的文件）", "%s for files in the project"}
	ScopeHost   = Phrase{"网页访问（%s）", "pages on %s"}
	ScopeTool   = Phrase{"工具调用（%s）", "the tool %s"}

	HelpAllow        = Phrase{"查看或撤销本聊天总是允许的操作", "show or revoke the actions always allowed in this chat"}
	ArgsAllow        = Phrase{"[revoke 编号]", "[revoke NUMBER]"}
	HelpApprovals    = Phrase{"查看最近允许和拒绝的操作", "show recent decisions"}
	ArgsApprovals    = Phrase{"[天数]", "[days]"}
	DecisionsHead    = Phrase{"**最近 %d 天的审批**", "**Decisions in the last %d day(s)**"}
	DecisionsDay     = Phrase{"**最近一天的审批**", "**Decisions in the last day**"}
	DecisionsMore    = Phrase{"（更早的 %d 条没有列出）", "(%d earlier, not shown)"}
	DecisionsNone    = Phrase{"最近 %d 天没有审批。", "No decisions in the last %d day(s)."}
	DecisionsNoneDay = Phrase{"最近一天没有审批。", "No decisions in the last day."}
	DecisionsUsage   = Phrase{"用法：/approvals [天数]，例如 /approvals 30",
		"Usage: /approvals [days], for example /approvals 30"}

	DecidedAlwaysRule = Phrase{"✅ %s 选择了总是允许（规则 %d：%s）", "✅ %s chose “Always” (rule %d: %s)"} // what it allows
	DecidedByRuleOf   = Phrase{"✅ 规则 %d 允许（%s，%s 添加）", "✅ allowed by rule %d (%s, added by %s)"}

	DecidedAllowed  = Phrase{"✅ %s 允许一次", "✅ %s allowed once"}
	DecidedAlways   = Phrase{"✅ %s 选择了总是允许", "✅ %s chose “Always”"}
	DecidedByRule   = Phrase{"✅ 规则 %d 允许", "✅ allowed by rule %d"}
	DecidedDenied   = Phrase{"🚫 %s 拒绝", "🚫 %s denied"}
	DecidedUnasked  = Phrase{"🚫 未询问，直接拒绝", "🚫 denied without asking"}
	DecidedByNobody = Phrase{"⌛ 超时无人处理", "⌛ expired"}
	DecidedTooLate  = Phrase{"⏹ 回答已结束，不再需要", "⏹ no longer needed"}

	Colon = Phrase{"：", ": "}

	AllowNone = Phrase{"本聊天没有“总是允许”的操作，助手每次都会先问。",
		"Nothing is always allowed in this chat, so the agent asks every time."}
	AllowHead  = Phrase{"**本聊天总是允许的操作**", "**Always allowed in this chat**"}
	AllowLine  = Phrase{"%d. %s · 项目 %s · %s%s", "%d. %s · project %s · %s%s"}
	AllowFoot  = Phrase{"发送 /allow revoke 编号 撤销。", "Send /allow revoke NUMBER to revoke one."}
	AllowUsage = Phrase{"用法：/allow 查看，/allow revoke 编号 撤销",
		"Usage: /allow to see them, /allow revoke NUMBER to revoke one"}
	AllowUnknown = Phrase{"没有第 %d 条，发送 /allow 查看全部。", "There is no rule %d. Send /allow to see them all."}
	AllowRevoked = Phrase{"已撤销第 %d 条：%s。下次会先问你。", "Revoked no. %d: %s. The agent will ask you next time."}

	AskedForProgram = Phrase{"程序 %s 的助手在问。", "Asked by the agent of the program %s."}
)
