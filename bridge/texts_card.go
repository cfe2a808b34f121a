package bridge

// cardTexts are what a turn's card says around the answer.
var cardTexts = struct {
	Writing, Preparing, YourTurn, Thoughts, Steps, MoreSteps phrase
	Seconds, MinutesSeconds, Tokens, Window                  phrase
	NewButton, RetryButton                                   phrase
	Remember, LookBack, SendFile                             phrase
	Asking, Question, Planning, Plan                         phrase
}{
	Writing:        phrase{"正在回答…", "Writing…"},
	Preparing:      phrase{"正在准备 %s…", "Preparing %s…"},
	YourTurn:       phrase{"等你确认…", "Waiting for you…"},
	Thoughts:       phrase{"思考过程", "Thoughts"},
	Steps:          phrase{"%d 步", "Steps: %d"},
	MoreSteps:      phrase{"（另有更早的 %d 步）", "(and %d earlier steps)"},
	Seconds:        phrase{"%d 秒", "%d s"},
	MinutesSeconds: phrase{"%d 分 %02d 秒", "%d min %02d s"},
	Tokens:         phrase{"输入 %s，输出 %s token", "%s in, %s out tokens"},
	Window:         phrase{"上下文已用 %d%%", "context %d%% used"},
	NewButton:      phrase{"新会话", "New conversation"},
	RetryButton:    phrase{"重试", "Try again"},
	Remember:       phrase{"记忆", "Memory"},
	LookBack:       phrase{"翻看记录", "Looking back"},
	SendFile:       phrase{"发送文件", "Sending a file"},
	Asking:         phrase{"正在提问…", "Asking a question…"},
	Question:       phrase{"提问", "Question"},
	Planning:       phrase{"正在提交计划…", "Handing in a plan…"},
	Plan:           phrase{"计划", "Plan"},
}
