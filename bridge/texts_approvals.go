package bridge

// approvalTexts is what users are told about what an agent wants to do.
var approvalTexts = struct {
	Over, NotYours, Noted, Allowed, Answered, Refused, KeepsPlanning, NotAnswered, Unanswered                phrase
	Asks, AsksPlan, AsksQuestion, Bounds, BoundsAlways                                                       phrase
	AllowButton, AlwaysButton, RefuseButton, RefuseSayingButton, Why, WhyHint                                phrase
	ApproveButton, KeepPlanningButton, Better, BetterHint, SubmitButton, SkipButton, Other, OtherHint        phrase
	WasAllowed, FromNowOn, WasRefused, WasExpired, WasWithdrawn, WasLost, WasApproved, WasNotApproved        phrase
	WasAnswered, WasSkipped, Somebody, Said                                                                  phrase
	Runs, RunsInBackground, Writes, Edits, EditsAll, EditsNotebook, Reads, Fetches, Searches, Uses           phrase
	Several                                                                                                  phrase
	AgentSays, FetchesFor                                                                                    phrase
	AdminsAllow, AboutOwn, AboutChat, AboutOther, NoAdmins, AdminsAway                                       phrase
	ScopeExact, ScopePrefix, ScopePath, ScopeInside, ScopeHost, ScopeTool                                    phrase
	HelpAllow, ArgsAllow, AllowNone, AllowHead, AllowLine, AllowFoot, AllowUsage, AllowUnknown, AllowRevoked phrase
}{
	Over:          phrase{"这个请求已经处理过，或已失效。", "This request is settled or no longer valid."},
	NotYours:      phrase{"只有提问的人或管理员可以决定。", "Only the person who asked, or an admin, can decide this."},
	Noted:         phrase{"收到，正在处理…", "Got it, one moment…"},
	Allowed:       phrase{"已允许", "Allowed"},
	Answered:      phrase{"已提交", "Sent"},
	Refused:       phrase{"已拒绝", "Refused"},
	KeepsPlanning: phrase{"好的，继续规划", "It keeps planning"},
	NotAnswered:   phrase{"好的，不回答", "Not answered"},
	Unanswered:    phrase{"还没有回答：%s", "Not answered yet: %s"},

	Asks:         phrase{"**助手想%s**", "**The agent wants to %s**"},
	AsksPlan:     phrase{"**助手提出了计划，批准后才会动手**", "**The agent has a plan, and begins once it is approved**"},
	AsksQuestion: phrase{"**助手有问题要问你**", "**The agent has questions for you**"},
	Bounds:       phrase{"%s内没有人决定就视为拒绝。", "It is refused when nobody decides within %s."},
	BoundsAlways: phrase{"“总是允许”只在本聊天、本项目有效：%s。", " “Always” counts in this chat and project only: %s."},

	AllowButton:        phrase{"允许一次", "Allow once"},
	AlwaysButton:       phrase{"本聊天总是允许", "Always in this chat"},
	RefuseButton:       phrase{"拒绝", "Deny"},
	RefuseSayingButton: phrase{"拒绝并说明", "Deny and say why"},
	Why:                phrase{"如果拒绝，可以告诉助手原因", "If you deny it, you can tell the agent why"},
	WhyHint:            phrase{"例如：先跑测试", "For example: run the tests first"},
	ApproveButton:      phrase{"批准计划", "Approve"},
	KeepPlanningButton: phrase{"继续规划", "Keep planning"},
	Better:             phrase{"要继续规划的话，可以说说哪里要改", "If it is to keep planning, you can say what to change"},
	BetterHint:         phrase{"例如：先不要改配置文件", "For example: leave the configuration alone"},
	SubmitButton:       phrase{"提交", "Submit"},
	SkipButton:         phrase{"不回答", "Do not answer"},
	Other:              phrase{"其他（%s）", "Other (%s)"},
	OtherHint:          phrase{"用自己的话回答", "In your own words"},

	WasAllowed:     phrase{"✅ %s 已允许", "✅ Allowed by %s"},
	FromNowOn:      phrase{"从此在本聊天总是允许：%s", "Always allowed in this chat from now on: %s"},
	WasRefused:     phrase{"🚫 %s 已拒绝，没有执行", "🚫 Denied by %s; it was not done"},
	WasExpired:     phrase{"⌛ 没有人在时限内决定，没有执行", "⌛ Nobody decided in time; it was not done"},
	WasWithdrawn:   phrase{"⏹ 这一轮已经结束，没有执行", "⏹ The turn is over; it was not done"},
	WasLost:        phrase{"⚠️ 服务在等待时重启了，没有执行。需要的话请让助手继续", "⚠️ The service restarted while it waited; it was not done. Let the agent go on if you still want it"},
	WasApproved:    phrase{"✅ %s 已批准计划", "✅ Approved by %s"},
	WasNotApproved: phrase{"✏️ %s 要求继续规划", "✏️ %s wants it to keep planning"},
	WasAnswered:    phrase{"✅ %s 已回答", "✅ Answered by %s"},
	WasSkipped:     phrase{"🚫 %s 没有回答", "🚫 %s did not answer"},
	Somebody:       phrase{"有人", "somebody"},
	Said:           phrase{"说明：%s", "Said: %s"},

	Runs:             phrase{"运行命令", "run a command"},
	RunsInBackground: phrase{"在后台运行命令", "run a command in the background"},
	Writes:           phrase{"写入文件（原有内容会被替换）", "write a file (what it holds is replaced)"},
	Edits:            phrase{"修改文件", "edit a file"},
	EditsAll:         phrase{"修改文件（替换所有相同的地方）", "edit a file (every place that says so)"},
	EditsNotebook:    phrase{"修改 Notebook 文件", "edit a notebook"},
	Reads:            phrase{"读取文件", "read a file"},
	Fetches:          phrase{"访问网页", "fetch a page"},
	Searches:         phrase{"搜索网页", "search the web"},
	Uses:             phrase{"使用工具 %s", "use the tool %s"},
	Several:          phrase{"（可多选）", " (several may be chosen)"},

	AgentSays:  phrase{"助手的说明：%s", "The agent says: %s"},
	FetchesFor: phrase{"助手想从网页了解：%s", "The agent wants to know: %s"},

	AdminsAllow: phrase{"只有管理员可以允许。", "Only an admin can allow this."},
	AboutOwn:    phrase{"只有管理员可以允许：这涉及鹊桥自己的文件，或包含它们的文件夹。", "Only an admin can allow this: it is about Magpie's own files, or a folder that holds them."},
	AboutChat:   phrase{"只有管理员可以允许：这涉及另一个聊天（%s）的文件。", "Only an admin can allow this: it is about files of another chat: %s."},
	AboutOther:  phrase{"只有管理员可以允许：这涉及另一个聊天的文件。", "Only an admin can allow this: it is about files of another chat."},
	NoAdmins:    phrase{"🚫 没有执行：只有管理员可以允许，而这个机器人还没有管理员", "🚫 It was not done: only an admin can allow it, and this bot has no admin yet"},
	AdminsAway:  phrase{"🚫 没有执行：只有管理员可以允许，请管理员来提问", "🚫 It was not done: only an admin can allow it; please have an admin ask for it"},

	ScopeExact:  phrase{"仅这一条命令", "this very command only"},
	ScopePrefix: phrase{"以 %s 开头、只带常用选项的单条命令", "single commands that begin with %s and have usual options only"},
	ScopePath:   phrase{"%s 文件 %s", "%s of the file %s"},
	ScopeInside: phrase{"%s 项目内的文件", "%s of files in the project"},
	ScopeHost:   phrase{"访问 %s 的网页", "pages of %s"},
	ScopeTool:   phrase{"工具 %s", "the tool %s"},

	HelpAllow:    phrase{"查看或撤销本聊天总是允许的操作", "list or revoke what is always allowed in this chat"},
	ArgsAllow:    phrase{"[revoke 编号]", "[revoke number]"},
	AllowNone:    phrase{"这个聊天里没有“总是允许”的操作，助手每次都会先问。", "Nothing is always allowed in this chat; the agent asks each time."},
	AllowHead:    phrase{"**本聊天总是允许的操作**", "**Always allowed in this chat**"},
	AllowLine:    phrase{"%d. %s（项目 %s，%s%s）", "%d. %s (project %s, %s%s)"},
	AllowFoot:    phrase{"撤销：/allow revoke 编号", "To revoke one: /allow revoke and its number"},
	AllowUsage:   phrase{"用法：/allow 查看，/allow revoke N 撤销第 N 条", "Usage: /allow lists them, /allow revoke N revokes one"},
	AllowUnknown: phrase{"没有第 %d 条，/allow 查看全部。", "There is no number %d; /allow lists them all."},
	AllowRevoked: phrase{"已撤销 %d：%s。下次会先问你。", "Revoked %d: %s. You will be asked again."},
}
