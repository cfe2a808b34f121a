package bridge

// cardTexts are what a turn's card says around the answer.
var cardTexts = struct {
	Writing, YourTurn, Thoughts, Steps, MoreSteps, Comma phrase
	Seconds, MinutesSeconds, Tokens, Window              phrase
	Remember, LookBack                                   phrase
}{
	Writing:        phrase{"正在回答…", "Writing…"},
	YourTurn:       phrase{"等你决定…", "Waiting for you…"},
	Thoughts:       phrase{"思考过程", "Thoughts"},
	Steps:          phrase{"%d 步", "Steps: %d"},
	MoreSteps:      phrase{"（另有更早的 %d 步）", "(and %d earlier steps)"},
	Comma:          phrase{"、", ", "},
	Seconds:        phrase{"%d 秒", "%d s"},
	MinutesSeconds: phrase{"%d 分 %02d 秒", "%d min %02d s"},
	Tokens:         phrase{"输入 %s，输出 %s token", "%s in, %s out tokens"},
	Window:         phrase{"上下文已用 %d%%", "context %d%% used"},
	Remember:       phrase{"记忆", "Memory"},
	LookBack:       phrase{"翻看记录", "Looking back"},
}
