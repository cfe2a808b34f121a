package main

import (
	"cmp"
	"strings"

	"magpie/feishu"
	"magpie/internal/i18n"
)

// logInChinese translates the log lines that operators meet: what matters first when somebody starts the program, and
// what does not work afterwards. They are in Chinese only if the log is for people; in a file they are English, for
// searching.
var logInChinese = map[string]string{
	"Claude is not logged in, so nobody gets an answer: send the bot /login, or run claude auth login as the user running Magpie": "Claude 没有登录，谁都得不到回答：给机器人发送 /login，或以运行鹊桥的用户执行 claude auth login",
	"Claude does not start with this configuration, so nobody gets an answer there":                                               "按现在的配置 Claude 无法启动，在那里谁都得不到回答",
	"claude is being replaced; waiting for it":                                                                                    "claude 正在更新，等它完成",
	"magpie has stopped": "鹊桥已停止",
	"http: listening":    "http：正在监听",
	"[http] listen: other machines can read the metrics; there is no login":                                  "[http] listen：其他机器也能读到运行指标，无需登录",
	"the kernel cannot hide magpie's own files from agents: every command that could read them is asked for": "内核不能让助手看不到鹊桥自己的文件：能读到它们的命令都会先问人",
	"orphaned processes may be found only at the next start":                                                 "遗留的进程可能要到下次启动时才会清理",
	"the tool server has stopped; agents have no tools":                                                      "工具服务已停止，助手用不了鹊桥的工具",
	"metrics: the database could not be read":                                                                "指标：数据库读取失败",
	"invalid watchdog settings of systemd; no keep-alives are sent":                                          "systemd 的 watchdog 设置无效，不会发送心跳",
	"systemd not notified": "没能通知 systemd",
	"no keep-alive for systemd: the database does not answer":                            "没有向 systemd 发送心跳：数据库没有响应",
	"configuration reloaded":                                                             "配置已重新加载",
	"configuration not reloaded":                                                         "配置没有重新加载",
	"invalid configuration; keeping the old one":                                         "配置有错误，继续使用原来的",
	"changed, but takes effect only after a restart":                                     "已更改，重启后才会生效",
	"a check has found something":                                                        "检查发现了问题",
	"check: database":                                                                    "检查：数据库",
	"the database is lost: nothing is stored, and messages are not acknowledged":         "数据库丢失：不再保存，也不再确认消息",
	"the files of the database are in place again: messages are stored and acknowledged": "数据库文件已恢复：重新保存和确认消息",
	"database not checked for unreadable rows":                                           "没能检查数据库里是否有读不出的行",
	"messages are not found by their words; the index is rebuilt when magpie starts":     "按字词搜不到消息；下次启动鹊桥时会重建索引",
	"a row of the database cannot be read, and is left out; magpie doctor says what to do": "数据库里有一行读不出来，已跳过；" +
		"处理办法见 magpie doctor",
	"old data not deleted": "没能删除旧数据",

	lineConnected:               "飞书：已连上，去给机器人发消息吧",
	"feishu: not connected":     "飞书：没有连上",
	"feishu: press not handled": "飞书：按钮操作没有处理",
	"feishu: the platform is not responding; calls are paused":          "飞书：没有响应，暂停调用",
	"feishu: the platform is responding again":                          "飞书：恢复响应",
	"feishu: backfilled missed messages":                                "飞书：已补取漏掉的消息",
	"feishu: active chats not available; missed messages may come late": "飞书：读不到最近活跃的聊天，漏掉的消息可能晚到",
	"feishu: missed messages of some chats not listed; trying again":    "飞书：有的聊天没能补取漏掉的消息，稍后再试",
	"feishu: not every ping is answered; a silent connection is detected later from now on": "飞书：心跳有时得不到回应；" +
		"以后要更久才会发现连接已断",
	"feishu: an event that Magpie does not use; you can remove it in the console": "飞书：收到鹊桥用不到的事件，可以在开发者后台取消订阅",
	"feishu: a message without readable content; if people see something in it, please report its shape": "飞书：消息里没有可读的内容；" +
		"如果在客户端能看到内容，请反馈它的结构（shape）",
	"feishu: the platform sent something with an invalid ID; ignored, and not logged again":  "飞书：收到的 ID 无效，已忽略，之后不再提示",
	"feishu: names not stored; trying again with the next ones":                              "飞书：名字没能保存，下次一起再试",
	"feishu: no streaming card, sending a plain one":                                         "飞书：不能用流式卡片，改发普通卡片",
	"feishu: card refused, sending another kind of message":                                  "飞书：卡片被拒绝，改发另一种消息",
	"feishu: card not finished; falling back to another form":                                "飞书：卡片没能完成，改用另一种形式",
	"feishu: streaming mode of a card not ended; the platform ends it by itself":             "飞书：卡片的流式模式没能关闭，过一会儿会自动关闭",
	"feishu: earlier pages of a card cannot be searched for":                                 "飞书：找不到卡片前面的几页",
	"feishu: the platform refuses to update parts of cards; drawing whole cards from now on": "飞书：不接受局部更新卡片，以后更新整张卡片",
	"feishu: picture refused; sending a file":                                                "飞书：图片被拒绝，改发文件",

	"the bot has an owner":                                "机器人已有所有者",
	"the owner was not welcomed":                          "没能向所有者问好",
	"ignored a message from a stranger":                   "忽略了陌生人的消息",
	"departments of a user not available":                 "查不到用户所在的部门",
	"somebody who is no admin wants to let a stranger in": "有人想允许陌生人使用机器人，但不是管理员",
	"the platform does not say who owns the bot":          "平台没有告知机器人归谁所有",
	"a wrong code was sent to become the bot's owner":     "有人发来了错误的口令，想成为机器人的所有者",
	"nobody owns the bot: whoever sends it this code in a private chat becomes its owner; it can be used once": "" +
		"机器人还没有所有者：谁先把这个口令私聊发给它，谁就是所有者；口令只能用一次",

	"not delivered yet": "还没有发出去，稍后再试",
	"chat not reachable; the text is only in the History":  "聊天发不进去，内容只保存在历史里",
	"delivery failed for days; giving up":                  "几天都没能发出去，不再尝试",
	"delivery not recorded; it will be repeated":           "已发出但没能记录，会再发一次",
	"cannot search for an earlier delivery; sending again": "查不到是否已经发出，再发一次",
	"pending deliveries not found; trying again":           "读不到等待发出的消息，稍后再试",
	"next delivery not found; trying again":                "读不到下一条要发的消息，稍后再试",
	"answer not readdressed; trying again":                 "没能改变回答的位置，稍后再试",
	"silenced chat not recorded":                           "没能记录不让机器人发言的聊天",
	"file refused by the platform":                         "文件被平台拒绝",
	"copies of delivered files not deleted":                "没能删除已发文件的副本",
	"file not fetched":                                     "文件没能接收",
	"files not available to the agent":                     "助手读不到收到的文件",
	"quoted message not available":                         "读不到被引用的消息",
	"forwarded messages not available":                     "读不到转发的消息",

	"turn failed":                        "回答失败",
	"card not drawn":                     "卡片没能更新",
	"card not posted yet":                "卡片还没有发出去",
	"damaged state of an agent repaired": "助手的状态文件损坏，已修复",
	"session lost; the conversation goes on from the History":              "会话丢失，已从历史恢复，对话继续",
	"session that holds a refused question stays as it is":                 "会话里有模型不接受的提问，没能去掉",
	"session is behind; the missing messages come from the History":        "会话缺少最近的消息，已从历史补上",
	"claude writes what this version of Magpie does not know":              "claude 的输出里有这个版本的鹊桥不认识的内容",
	"claude died before it used a tool; running the turn again":            "claude 还没用工具就退出了，重新回答",
	"turn was cut off before it changed anything; running it again":        "回答被中断，还没有改动过什么，自动接着进行",
	"cost of a turn that runs again is not known":                          "不知道重新进行的回答之前的费用",
	"cost of a turn that runs again not booked":                            "没能记下重新进行的回答之前的费用",
	"agents of an earlier run are not looked for":                          "没能查找上次运行留下的助手进程",
	"chat of a turn not found; the language of its card is not known":      "没有找到回答所在的聊天，不知道卡片用哪种语言",
	"additions of a turn not read":                                         "没能读取回答的补充消息",
	"transcript not found":                                                 "没有找到会话记录",
	"turn was cut off":                                                     "回答被中断",
	"work in the background was cut off":                                   "后台任务被中断",
	"agents of an earlier run were ended":                                  "已结束上次运行留下的助手进程",
	"agents of an earlier run may still be there":                          "上次运行的助手进程可能还在",
	"agents may not work in a project":                                     "助手不能在这个项目里工作",
	"end of the turn not stored; trying again":                             "没能保存回答的结果，稍后再试",
	"tool refused: only an admin may allow it, and none can be asked here": "已拒绝工具：只有管理员可以允许，而这里问不到管理员",
	"memories of the turn lost: too many turns wait":                       "这一轮没能记下记忆：排队的太多",
	"memories of a stale chat not stored: too many turns wait":             "闲置的聊天没能记下记忆：排队的太多",
	"semantic search failed; searching by words only":                      "语义召回失败，只按字词搜索",
	"no embeddings for messages; trying again later":                       "没能给消息生成向量，稍后再试",

	"turn not recovered":                                                      "没能恢复中断的回答",
	"chat not recovered; trying again":                                        "没能恢复聊天里中断的内容，稍后再试",
	"what waits for a decision not recovered":                                 "没能恢复等待决定的内容",
	"what processes without a chat have left is not removed":                  "没能清理备用进程留下的文件",
	"transcript not read":                                                     "会话记录读取失败",
	"next turn not begun":                                                     "没能开始下一轮回答",
	"next turn not found; trying again":                                       "读不到下一条要回答的消息，稍后再试",
	"waiting turns not found; queueing the addition":                          "读不到排队的消息，补充的内容改为排队",
	"card of an approval not found; taking its quote as a question":           "找不到被引用的确认卡片，当作新问题处理",
	"what an earlier run has asked not found; taking a message as a question": "读不到重启前的提问，当作新问题处理",
	"newest turn not found; taking a message as a question":                   "读不到上一轮回答，当作新问题处理",
	"questions not found; their reactions stay":                               "读不到中断的提问，它们的表情没有去掉",
	"card of a turn not found; taking its quote as a question":                "找不到被引用的卡片，当作新问题处理",
	"message read by the agent not recorded":                                  "没能记录助手已读的消息",
	"typed answer not stored; passing it to the agent as an addition":         "没能保存对问题的回答，改为补充给助手",
	"card of the turn not stored":                                             "没能保存卡片",
	"draft of the answer not stored":                                          "没能保存写到一半的回答",
	"new session not recorded":                                                "没能记录新会话",
	"chat not reloaded":                                                       "没能重新读取聊天",
	"length of the chat not available":                                        "读不到聊天的长度",
	"use of a tool not stored":                                                "没能记录工具的使用",
	"tool calls not stored; trying again later":                               "没能记录工具的使用，稍后再试",
	"tool call failed":                                                        "鹊桥的工具调用失败",
	"spare process not started":                                               "没能启动备用进程",
	"spare process not taken":                                                 "没能用上备用进程",
	"stop not stored":                                                         "没能记录“停止”",
	"cause of the stop not available":                                         "查不到回答停止的原因",
	"topic of a press not found; using the chat":                              "查不到按钮所在的话题，按聊天处理",
	"reply not stored":                                                        "没能保存命令的回复",
	"reply failed":                                                            "命令的回复没能发出",
	"notice about missing files not stored":                                   "没能保存缺少文件的提示",
	"outcome of a file not stored":                                            "没能记录文件的接收结果",
	"files of a quoted message not stored":                                    "没能记录被引用消息里的文件",
	"history not exported":                                                    "没能导出历史",
	"context of the last turn not read":                                       "读不到上一轮的上下文",
	"session not compared with the database":                                  "没能核对会话和数据库",
	"a session was asked for that the chat has not had":                       "有人想续接不属于这个聊天的会话，已拒绝",

	"follow-up not stored": "没能保存后台任务的后续回答",
	"follow-up not stored; its work in the background is ended": "没能保存后台任务的后续回答，已结束后台任务",
	"nobody could be asked; tool refused":                       "无法请人确认，已拒绝工具",
	"end of what went on in the background not stored":          "没能保存后台任务的结果",

	"mention rule of the group not available":                               "读不到群里要不要 @ 的设置",
	"bots have talked to each other for long; a person must speak first":    "机器人之间聊得太久，等有人发言再继续",
	"messages of groups cannot be listed; only those with events are known": "不能列出群消息，只知道推送过来的",
	"private chat of a user not found":                                      "查不到用户的私聊",
	"language of the chat not available":                                    "读不到聊天的语言",

	"memories of the turn lost":                             "这一轮没能记下记忆",
	"memories of a stale chat not stored":                   "闲置的聊天没能记下记忆",
	"memories not available; answering without them":        "读不到记忆，这次回答不带记忆",
	"history not read; answering with what is there":        "历史读取失败，用现有的内容回答",
	"what was overheard is not known; answering without it": "读不到群里先前的消息，这次回答不带",
	"stale chat not reset":                                  "闲置的聊天没能开始新对话",
	"stale chats not found":                                 "查不到闲置的聊天",
	"chats that spoke last not found":                       "查不到最近说过话的聊天",
	"chat not compacted":                                    "没能压缩对话",
	"chat not compacted yet":                                "还没能压缩对话，稍后再试",
	"reply about a failed compaction not stored":            "没能保存压缩失败的回复",
	"a session was full after one turn: [context] window is small for what the agent reads there": "" +
		"一轮就占满了会话：[context] window 对这里要读的内容来说太小",
	"chat not read; it gets no title yet":                 "读不到聊天，暂时没有标题",
	"the agent returned no title; using the question":     "助手没有给出标题，改用问题作标题",
	"the chat's process returned no title":                "聊天的进程没有给出标题",
	"title not stored":                                    "没能保存标题",
	"first question not read; the chat gets no title yet": "没读到第一个问题，聊天暂时没有标题",
	"suggestion not stored":                               "没能保存建议的问题",
	"digest not sent; trying again":                       "每日汇总没能发出，稍后再试",

	"today's spending not available":                           "查不到今天的费用，无法核对上限",
	"limits of the model not available":                        "读不到模型的用量上限",
	"turn not postponed; it is asked at once":                  "没能让这一轮等待，立即提问",
	"limit of the model not stored; other questions fail, too": "没能保存模型的用量上限，其他问题也会失败",
	"limits of the model not stored":                           "没能保存模型的用量",
	"limits of the model not lifted":                           "没能解除模型的用量上限",
	"waiting turns not released":                               "没能让等待中的轮次开始",
	"waiting turns not found; trying again":                    "没能找到等待中的轮次，稍后再试",
	"name of an admin not available":                           "查不到管理员的名字",
	"payer not found":                                          "查不到费用该记在谁的名下",
	"cost of a background task not booked":                     "没能记下后台任务的费用",
	"cost of a suggestion not known":                           "不知道建议问题的费用",
	"cost of a turn not available":                             "查不到回答的费用",
	"cost of a turn that was cut off is not known":             "不知道被中断的回答花了多少",
	"cost of subagents is not known":                           "不知道子助手花了多少",
	"last expense of a chat not found":                         "查不到聊天最近的一笔费用",

	"rules not read; asking":                                         "读不到“总是允许”的规则，改为询问",
	"request not stored; tool refused":                               "没能保存确认请求，已拒绝工具",
	"nobody can be asked: the card cannot be shown; tool refused":    "确认卡片发不出去，问不到人，已拒绝工具",
	"card about a refused tool not stored":                           "没能保存拒绝工具的卡片",
	"reminder about an approval not stored":                          "没能保存待确认的提醒",
	"end of an approval not stored":                                  "没能保存确认的结果",
	"decision not recorded":                                          "没能把决定写入历史",
	"decision cannot be used; asking again":                          "之前的决定不能用，重新询问",
	"decisions about an interrupted turn not read":                   "读不到中断的回答收到的决定",
	"what people are asked not read":                                 "读不到正在等待的确认",
	"unneeded approval not withdrawn":                                "没能撤回不再需要的确认",
	"no turn needs what people were asked":                           "有的确认已经没有回答需要",
	"an earlier decision is now reserved for admins; asking again":   "之前的决定现在只有管理员能做，重新询问",
	"earlier askers of a continued turn not found":                   "查不到继续的回答最初由谁提问",
	"press for an unknown approval":                                  "有人点了不存在的确认按钮",
	"press does not match the request of its approval":               "点的按钮和确认请求对不上，已忽略",
	"press by a user who may not decide":                             "点按钮的人没有权限决定，已忽略",
	"a user who is not an admin tried to allow what only admins may": "有人想允许只有管理员能允许的操作，但不是管理员",
	"the program has ended each time that a turn went on with its decision; not trying again": "" +
		"每次按决定继续回答，程序都意外结束，不再尝试",
}

// Lines that say more if the log is for people: what to do next, and the bot's name.
const (
	lineStarted   = "magpie is running"
	lineConnected = "feishu: connected; write to the bot there"
)

// forMachines are the fields of [lineStarted] that say nothing to people. The doctor explains the limits.
var forMachines = []string{"cores", "free_mb", "keep_alive", "max_processes", "max_turns"}

// translateLog is a [zerolog.ConsoleWriter.FormatPrepare] for readers of a language. Lines about the platform begin
// with its name, which is that of our package in the log of a machine.
func translateLog(l i18n.Lang, platform error) func(line map[string]any) error {
	platform = cmp.Or(platform, feishu.Config{}.PlatformName())
	name := strings.TrimSpace(i18n.ErrorText(l, platform))
	return func(line map[string]any) error {
		text, _ := line["message"].(string)
		bot, _ := line["bot"].(string)
		switch chinese := logInChinese[text]; {
		case text == lineStarted: // and not connected yet
			text = textStarting.Sprintf(l, platform)
			for _, key := range forMachines {
				delete(line, key)
			}
			if version, ok := line["version"].(string); ok {
				line["version"], _, _ = strings.Cut(version, " ") // without the commit
			}
		case text == lineConnected && bot != "":
			text = textConnectedAs.Sprintf(l, platform, i18n.Visible(bot))
			delete(line, "bot")
		case l == i18n.Chinese && chinese != "":
			text = chinese
		}
		if rest, ok := strings.CutPrefix(text, "飞书："); ok {
			text = name + "：" + rest
		} else if rest, ok := strings.CutPrefix(text, "feishu: "); ok && l == i18n.English {
			text = name + ": " + rest
		} else if rest, ok := strings.CutPrefix(text, "magpie "); ok && l == i18n.English {
			text = "Magpie " + rest
		}
		line["message"] = text
		return nil
	}
}
