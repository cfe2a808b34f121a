package i18n

// What keeps messages from being sent, and what to do about it.
var (
	ObstacleUnknown     = Phrase{"被平台拒绝，原因见日志", "the chat platform rejected them; see the log"}
	ObstacleUnavailable = Phrase{"平台暂时连接不上，会自动重试", "the chat platform can't be reached; retrying"}
	ObstaclePermission  = Phrase{"应用缺少权限，请在开发者后台开通，再发布新版本",
		"the app lacks a permission; add it in the developer console, then publish a new version"}
	ObstacleSharing = Phrase{"应用缺少权限，请在开发者后台开通，再发布新版本；如果是外部群，还要把应用共享给对方企业",
		"the app lacks a permission; add it in the developer console, then publish a new version; for an external group, " +
			"also share the app with the other company"}
	ObstacleRange = Phrase{"对方不在应用的可用范围内，请在开发者后台调整，再发布新版本",
		"the person is outside of the app's availability; change that in the developer console, then publish a new version"}
	ObstacleBot = Phrase{"应用的机器人没有启用，请在开发者后台启用，再发布新版本",
		"the app's bot is turned off; turn it on in the developer console, then publish a new version"}
	ObstacleCredentials = Phrase{"应用的凭证已失效，请更新 App ID 和 App Secret",
		"the app's credentials are no longer valid; update the App ID and the App Secret"}
	ObstacleDisabled = Phrase{"应用被企业停用，请管理员重新启用",
		"the app is disabled in this company; an administrator can enable it again"}
	ObstacleUninstalled = Phrase{"企业没有安装这个应用，请管理员安装",
		"the app is not installed in this company; an administrator can install it"}
)
