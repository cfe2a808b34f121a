package openapi

import "magpie/internal/i18n"

// Hint tells the operator what to do about the error; nil = unknown.
func (e *Error) Hint() error { return hints[e.Code] }

// hints tell the operator what to do about a code.
var hints = map[int]error{
	10003: wrongCredentials, 10014: wrongCredentials, 1000040344: wrongCredentials, 1000040345: wrongCredentials,
	1000040351: i18n.Mistakef("应用在另一个平台上：Lark 把 [feishu] base_url 设为 \"lark\"，飞书则留空",
		"the app is on the other platform: set [feishu] base_url to \"lark\" for Lark, leave it empty for Feishu"),
	1000040350: i18n.Mistakef("这个应用的连接太多：停掉使用它的其他程序",
		"this app has too many connections: stop other programs that use it"),
	403: noConnection, 514: noConnection,
	99991672: i18n.Mistakef("缺少权限：在开发者后台开通，再发布新版本",
		"a permission is missing: add it in the console and publish a new version"),
	230027: i18n.Mistakef("缺少权限：在开发者后台开通，再发布新版本；外部群还要求应用对外共享",
		"a permission is missing: add it in the console and publish a new version; in an external group the app must "+
			"be shared with other companies"),
	99991662: i18n.Mistakef("应用在这家企业里已停用", "the app is disabled in this company"),
	10012: i18n.Mistakef("应用的凭证已失效：从开发者后台重新复制",
		"the app's credentials are no longer valid: copy them from the console again"),
	232034: i18n.Mistakef("这家企业没有安装这个应用", "the app is not installed in this company"),
	230018: i18n.Mistakef("群的设置不允许机器人发言", "the group's settings don't let the bot post"),
	230035: i18n.Mistakef("群已禁言，或者机器人在群里被禁言", "the group is muted, or the bot is muted in it"),
	230053: i18n.Mistakef("对方不接收机器人的消息", "this person has turned off messages from the bot"),
	230006: botOff, 232025: botOff,
	230013: i18n.Mistakef("对方不在应用的可用范围内（开发者后台，版本的“可用范围”）",
		"the person is outside of the app's availability (\"Availability\" of a version in the console)"),
	230002: notInChat, 232011: notInChat,
}

var (
	wrongCredentials = i18n.Mistakef("检查 [feishu] app_id 和 [feishu] app_secret，并确认应用已发布版本",
		"check [feishu] app_id and [feishu] app_secret, and that a version of the app is published")
	noConnection = i18n.Mistakef("长连接被拒绝：在开发者后台的“事件与回调”里选择“使用长连接接收事件”，并检查应用的状态",
		"the long connection is refused: choose \"Receive events through persistent connection\" in the console "+
			"under Events & Callbacks, and check the app's status")
	botOff = i18n.Mistakef("在开发者后台启用应用的机器人，再发布新版本",
		"turn the app's bot on in the console and publish a new version")
	notInChat = i18n.Mistakef("机器人不在这个聊天里", "the bot is not in this chat")
)
