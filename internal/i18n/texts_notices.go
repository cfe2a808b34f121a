package i18n

// Texts of and about notifications.
var (
	NoticeDone        = Phrase{"回答好了。", "your answer is ready."}
	NoticeFailed      = Phrase{"这次没有完成，原因在卡片里。", "this wasn't finished. The card says why."}
	NoticeInterrupted = Phrase{"回答被中断了，可以在卡片里继续。", "the answer was interrupted. You can continue it from the card."}
	ApprovalAgain     = Phrase{"这里还在等你确认，再过 %s失效。", "this is still waiting for your decision. It expires in %s."}
	QuestionAgain     = Phrase{"这里还在等你回答，再过 %s失效。", "this is still waiting for your answer. It expires in %s."}

	HelpNotify  = Phrase{"回答用时较长或审批等得太久时，是否 @你", "choose whether I mention you when a long answer is done or an approval is waiting"}
	ArgsNotify  = Phrase{"[开｜关]", "[on|off]"}
	NotifyUsage = Phrase{"用法：/notify 开 或 /notify 关", "Usage: /notify on or /notify off"}
	NotifyOn    = Phrase{"通知已开启：回答用时较长时，完成后会 @你；等你确认的请求过了一半时间会再提醒一次。",
		"Notifications are on: I'll mention you when a long answer is done, and once more when half the time for a decision is over."}
	NotifyOff       = Phrase{"通知已关闭，本聊天里不再 @你。", "Notifications are off: I won't mention anyone in this chat."}
	StatusNotifyOff = Phrase{"**通知**：已关闭（/notify on 开启）", "**Notifications**: off (/notify on turns them on)"}
	OnButton        = Phrase{"开启", "On"}
	OffButton       = Phrase{"关闭", "Off"}

	HelpDigest     = Phrase{"每天发一次汇总：回答、失败、费用和等待确认的请求（仅所有者）", "send a daily summary: answers, failures, cost and waiting requests (owner only)"}
	ArgsDigest     = Phrase{"[开 时:分｜关]", "[on HH:MM|off]"}
	DigestOwner    = Phrase{"只有所有者可以使用 /digest，而且只能在与我的私聊里。", "Only the owner can use /digest, in a private chat with me."}
	DigestUsage    = Phrase{"用法：/digest 开 09:00 或 /digest 关", "Usage: /digest on 09:00 or /digest off"}
	DigestOn       = Phrase{"每天 %s 发送汇总；没有任何活动的日子不发。", "I'll send a summary every day at %s, except when nothing has happened."}
	DigestOff      = Phrase{"每日汇总已关闭。", "The daily summary is off."}
	DigestAtButton = Phrase{"每天 %s", "Daily at %s"}
	DigestReport   = Phrase{"**过去 24 小时**\n回答：%d 次，其中失败 %d 次\n费用：%s\n等待确认：%d 项",
		"**The last 24 hours**\nAnswers: %d, failed: %d\nCost: %s\nWaiting for a decision: %d"}
)
