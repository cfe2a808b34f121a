package main

import "magpie/bridge/i18n"

// logInChinese translates the log lines that matter first when somebody starts the program. They are in Chinese only if
// the log is for people; in a file they are English, for searching.
var logInChinese = map[string]string{
	"magpie has stopped":                               "鹊桥已停止",
	"feishu: not connected":                            "飞书：没有连上",
	"feishu: the platform does not answer; calls wait": "飞书：没有响应，暂停调用",
	"feishu: the platform answers again":               "飞书：恢复响应",
	"http: listening":                                  "http：正在监听",
	"the bot has an owner":                             "机器人已有所有者",
	"message of a stranger ignored":                    "忽略了陌生人的消息",
	"configuration reloaded":                           "配置已重新加载",
	"invalid configuration; keeping the old one":       "配置有错误，继续使用原来的",
	lineConnected:                                      "飞书：已连上，去飞书里给机器人发消息吧",
	"feishu: backfilled missed messages":               "飞书：已补取漏掉的消息",
	"the platform does not name the bot's owner":       "飞书没有告知机器人归谁所有",
	"a wrong code was sent to become the bot's owner":  "有人发来了错误的口令，想成为机器人的所有者",
	"nobody owns the bot: whoever sends it this code in a private chat becomes its owner; it can be used once": "" +
		"机器人还没有所有者：谁先把这个口令私聊发给它，谁就是所有者；口令只能用一次",
	"the database is lost: nothing is stored, and messages are not acknowledged":         "数据库丢失：不再保存，也不再确认消息",
	"the files of the database are in place again: messages are stored and acknowledged": "数据库文件已恢复：重新保存和确认消息",
	"session lost; the conversation goes on from the History":                            "会话丢失，已从历史恢复，对话继续",
}

// Lines that say more if the log is for people: what to do next, and the bot's name.
const (
	lineStarted   = "magpie is running"
	lineConnected = "feishu: connected; write to the bot there"
)

// translateLog is a [zerolog.ConsoleWriter.FormatPrepare] for readers of a language.
func translateLog(l i18n.Lang) func(line map[string]any) error {
	return func(line map[string]any) error {
		english, _ := line["message"].(string)
		bot, _ := line["bot"].(string)
		switch text := logInChinese[english]; {
		case english == lineStarted: // and not connected yet
			line["message"] = textStarting.In(l)
		case english == lineConnected && bot != "":
			line["message"] = textConnectedAs.Sprintf(l, i18n.Visible(bot))
			delete(line, "bot")
		case l == i18n.Chinese && text != "":
			line["message"] = text
		}
		return nil
	}
}
