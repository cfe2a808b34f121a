package bridge

// accessTexts are what users can be told about who may talk to the bot, where the agent works, and what it may cost.
var accessTexts = struct {
	Request, RequestSummary, LetIn, TurnAway, HasLetIn, TurnedAway phrase
	AlreadyDecided, AdminsOnly, Welcome                            phrase
}{
	Request:        phrase{"**%s**（%s）想和我对话。允许吗？", "**%s** (%s) wants to talk to me. Is that all right?"},
	RequestSummary: phrase{"有人想和我对话", "Somebody wants to talk to me"},
	LetIn:          phrase{"允许", "Allow"},
	TurnAway:       phrase{"忽略", "Ignore"},
	HasLetIn:       phrase{"已允许 %s 使用", "%s is let in"},
	TurnedAway:     phrase{"已忽略 %s", "%s is ignored"},
	AlreadyDecided: phrase{"这个请求已经处理过了。", "This request has been decided already."},
	AdminsOnly:     phrase{"这件事由管理员决定。", "This is for an admin to decide."},
	Welcome:        phrase{"你现在可以和我对话了，直接说你想做什么。", "You can talk to me now. Just say what you need."},
}
