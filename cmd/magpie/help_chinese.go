package main

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"magpie/internal/i18n"
)

// helpInChinese maps the English help texts in the struct tags to Chinese.
var helpInChinese = map[string]string{
	"Show help.":         "显示帮助。",
	"Print the version.": "显示版本。",

	"Set up a bridge: the app, the configuration, the service.":                                        "设置鹊桥：应用、配置、服务。",
	"Where to write the configuration. Default: the existing one, or the user's configuration folder.": "配置文件的位置。默认：已有的配置文件；没有时在用户的配置文件夹里。",
	"Folder for the database. Default: the user's data folder.":                                        "数据库的文件夹。默认：用户的数据文件夹。",
	"Create an app by scanning a code, without asking how.":                                            "直接扫码创建应用，不再询问。",
	"App ID of an existing app.":                                                                       "已有应用的 App ID。",
	"File with the app's secret; - reads it from the standard input.":                                  "存放应用密钥的文件；- 表示从标准输入读取。",
	"feishu, lark, or an address. Default: detected.":                                                  "feishu、lark，或平台的地址。默认：自动判断。",
	"Folder in which the agent works.":                                                                 "助手工作的文件夹。",
	"The Claude Code CLI.":                                                                             "Claude Code 命令行。",
	"Owner of the bot. Default: whoever scans the code, or the app's owner.":                           "机器人的所有者。默认：扫码的人；没有扫码时，是应用的所有者。",
	"How to start Magpie: service, here (in this terminal), or no.":                                    "启动方式：service（系统服务）、here（当前终端）或 no（不启动）。",
	"Replace an existing configuration; the old file is kept under another name.":                      "替换已有的配置；旧的会改名保留。",
	"Ask no questions; use flags and defaults.":                                                        "不提问：使用参数和默认值。",
	"Language of the dialog: zh, en, or auto (from the locale).":                                       "设置过程使用的语言：zh、en，auto 表示跟随系统。",

	"Migrate from another bridge: its app, settings and conversations.": "从其他桥接程序迁移应用、设置和对话。",
	"Migrate from cc-connect.":                                                                                      "从 cc-connect 迁移。",
	"Migrate from lark-channel-bridge.":                                                                             "从 lark-channel-bridge 迁移。",
	"Which of its projects to migrate, if they use several apps.":                                                   "迁移哪个项目，用于各个项目使用不同应用的情况。",
	"Which of its profiles to migrate. Default: the active one.":                                                    "迁移哪个 profile。默认：正在使用的那个。",
	"Its configuration file or folder. Default: the usual location.":                                                "原程序的配置文件或文件夹。默认：通常的位置。",
	"Write the configuration and the history. Without it, only show what would be written.":                         "写入配置和历史。不加这个参数时，只显示会写入什么。",
	"The magpie.toml to write; it must not exist. Default: in the user's configuration folder.":                     "要写入的 magpie.toml，不能是已有的文件。默认：在用户的配置文件夹里。",
	"File with the app's secret; - reads it from the standard input. Default: the one that the other program uses.": "存放应用密钥的文件；- 表示从标准输入读取。默认：原程序使用的密钥。",
	"Language of the report: zh, en, or auto (from the locale).":                                                    "报告的语言：zh、en，auto 表示跟随系统。",

	"Run the bridge.": "运行鹊桥。",
	"The configuration file. Looked for in the working folder, then the user's and the system's configuration folder.": "配置文件。默认依次在当前文件夹、用户的配置文件夹、系统的配置文件夹里找。",
	"The configuration file. Default: the one that magpie serve would use.":                                            "配置文件。默认的查找顺序与 magpie serve 相同。",
	"Check that everything Magpie needs is in place, and say how to fix the rest.":                                     "检查运行所需的条件是否齐全，并说明怎样补齐。",
	"Print one JSON object.":                                                                                   "输出一个 JSON 对象。",
	"Back up the database, even while Magpie runs.":                                                            "备份数据库，鹊桥运行时也可以。",
	"Where to write the copy. It must not exist.":                                                              "备份文件的位置，不能是已有的文件。",
	"Export and import memories.":                                                                              "导出和导入记忆。",
	"Write the memories as Markdown documents, even while Magpie runs.":                                        "把记忆写成 Markdown 文档，鹊桥运行时也可以。",
	"Only the memories of this chat, as in feishu:chat:oc_xxx or oc_xxx.":                                      "只导出这个聊天的记忆，例如 feishu:chat:oc_xxx 或 oc_xxx。",
	"The folder to write into: one folder for each chat, one document for each memory.":                        "写入的文件夹：每个聊天一个文件夹，每条记忆一个文档。",
	"Read documents back: edited ones become new versions, missing ones are not forgotten. Stop Magpie first.": "导入文档：改过的成为新版本，没有文档的记忆不会被删除。请先停止鹊桥。",
	"The folder with the documents.":                                                                           "文档所在的文件夹。",

	"Show the context that a question would be sent with, without sending it.": "显示提问时会附带的上下文，但不发送。",
	"The chat, as in feishu:chat:oc_xxx or oc_xxx.":                            "聊天，例如 feishu:chat:oc_xxx 或 oc_xxx。",
	"The question.": "问题。",
	"Read questions from the standard input: {\"message\": \"...\", \"at\": ..., \"user_id\": ..., \"user_name\": ...} per line; answer each with one JSON object per line.": "从标准输入读取问题，每行一个 {\"message\": \"...\", \"at\": ..., \"user_id\": ..., \"user_name\": ...}，每个回答一行 JSON。",
	"How many characters of older messages to recall. Default: as configured.":                                                                                               "最多召回多少字的旧消息。默认：按配置。",
	"When the question is asked, as in 2026-05-04, \"2026-05-04 12:00\" or 2026-05-04T12:00:00+08:00. Default: now.":                                                         "提问的时间，例如 2026-05-04、\"2026-05-04 12:00\" 或 2026-05-04T12:00:00+08:00。默认：现在。",

	"Import and export the conversation history.":                            "导入和导出聊天历史。",
	"Import messages from a JSONL file into the history. Stop Magpie first.": "把 JSONL 文件里的消息导入历史。请先停止鹊桥。",
	"Stop at the first line that cannot be imported.":                        "遇到不能导入的行就停止。",
	"The file, one message per line; - is the standard input.":               "文件，每行一条消息；- 表示标准输入。",
	"Write the history as JSONL, even while Magpie runs.":                    "把历史写成 JSONL，鹊桥运行时也可以。",
	"Only this chat, as in feishu:chat:oc_xxx or oc_xxx.":                    "只限这个聊天，例如 feishu:chat:oc_xxx 或 oc_xxx。",
	"Where to write; it must not exist. - is the standard output.":           "输出文件，不能是已有的文件；- 表示标准输出。",

	"List who allowed or denied what, when, and by which rule.":                          "列出谁在什么时候、按哪条规则允许或拒绝了什么。",
	"Only decisions since a day (2026-05-04) or within a time (30d, 12h). Default: all.": "只列某天以来（2026-05-04）或最近一段时间（30d、12h）的决定。默认：全部。",
	"Write one JSON object per line.":                                                    "每行输出一个 JSON 对象。",

	"Run Magpie as a service of systemd, launchd or the Windows task scheduler.": "作为服务运行：systemd、launchd 或任务计划程序。",
	"Write the unit file and start the service.":                                 "写入单元文件并启动服务。",
	"Name of the service.": "服务的名称。",
	"system: for the whole machine. user: for this user only. auto: system if run as root.":                                                                                                         "system：整台机器的服务；user：当前用户的服务；auto：以 root 运行时为 system。",
	"User that runs a system service. Default: whoever called sudo, or magpie.":                                                                                                                     "运行系统服务的用户。默认：调用 sudo 的人，否则是 magpie。",
	"User that runs the agents of a system service; \"same\" = the one that runs the service. Default: [claude] user, or else a dedicated user, which is created unless a person runs the service.": "在系统服务里运行助手的用户；\"same\" 表示与服务相同。默认：[claude] user；没有写时新建一个专用用户，除非服务由个人用户运行。",
	"File with the app secret, if the configuration does not contain it.":                                                                                                                           "存放应用密钥的文件，配置里没有密钥时使用。",
	"Print the unit file and do nothing.":                                     "只显示单元文件，不做任何改动。",
	"Overwrite a unit file that was edited.":                                  "覆盖有人改过的单元文件。",
	"Stop the service and remove its unit file. Configuration and data stay.": "停止服务并删除单元文件。配置和数据保留。",
	"Remove a unit file that was edited.":                                     "删除有人改过的单元文件。",
	"Show the service's status.":                                              "显示服务的状态。",

	"Try everything on this machine, without a Feishu account.": "在这台机器上试用全部功能，不需要飞书账号。",
	"Address of the page.": "页面的地址。",
	"simulated: the CLI with a simulated model, which costs nothing. claude: the CLI with your own login.": "simulated：命令行用模拟的模型，不产生费用；claude：命令行用你自己的登录。",
	"Print a shell completion script.":                                                                "输出 shell 的补全脚本。",
	"Print the manual page in the format of man.":                                                     "输出手册页，供 man 读取。",
	"Folder for the chats, the memories and the sample project. Default: in the user's cache folder.": "保存聊天、记忆和示例项目的文件夹。默认：在用户的缓存文件夹里。",
	"Delete what was kept and start over.":                                                            "清空这些内容，重新开始。",
	"bash, zsh or fish.":                                                                              "bash、zsh 或 fish。",
}

// translate translates the help of a command and its subcommands.
func translate(n *kong.Node) {
	chinese := func(help *string) {
		if text, ok := helpInChinese[*help]; ok {
			*help = text
		}
	}
	chinese(&n.Help)
	for _, f := range n.Flags {
		chinese(&f.Help)
	}
	for _, arg := range n.Positional {
		chinese(&arg.Help)
	}
	for _, child := range n.Children {
		translate(child)
	}
}

// headings translates kong's own words around the commands' help. What has the same width on a terminal keeps the
// columns.
var headings = strings.NewReplacer(
	"\nFlags:\n", "\n参数：\n", "\nArguments:\n", "\n位置参数：\n", "\nCommands:\n", "\n命令：\n",
	`" for more information on a command.`, `" 查看某个命令的用法。`, "\nRun \"", "\n运行 \"",
	"<command>", "<命令>", "[flags]", "[参数]", "=PLATFORM", "=平台    ",
)

// argumentWords translates the words that stand for arguments.
var argumentWords = strings.NewReplacer(
	"<file>", "<文件>", "<folder>", "<文件夹>", "=FOLDER", "=文件夹", "=FILE", "=文件", "=NAME", "=名称",
	"=TEXT", "=文字", "=TIME", "=时间", "=WHEN", "=时间", "=PATH", "=路径", " or --", " 或 --",
)

// chineseValue is the help of a flag or an argument with the variable that may be set instead.
func chineseValue(v *kong.Value) string {
	if len(v.Tag.Envs) == 0 {
		return v.Help
	}
	return strings.TrimSuffix(v.Help, "。") + "（$" + strings.Join(v.Tag.Envs, "、$") + "）。"
}

// helpPrinter prints the help as kong does, except that of flags that exclude each other kong says that all are needed.
// In Chinese, kong's own words are Chinese, too.
func helpPrinter(l i18n.Lang) kong.HelpPrinter {
	return func(o kong.HelpOptions, ctx *kong.Context) error {
		var page bytes.Buffer
		out := ctx.Stdout
		ctx.Stdout = &page
		err := kong.DefaultHelpPrinter(o, ctx)
		ctx.Stdout = out
		text := page.String()
		if ctx.Selected() != nil { // a command's own commands are of one group
			for _, g := range groups(l) {
				text = strings.Replace(text, "\n"+g.Title+"\n", "\nCommands:\n", 1)
			}
		}
		text = strings.ReplaceAll(text, "--message=TEXT --batch", "(--message=TEXT | --batch)")
		if l == i18n.Chinese {
			text = argumentWords.Replace(headings.Replace(strings.Replace(text, "Usage: ", "用法：", 1)))
		}
		_, writeErr := io.WriteString(out, text)
		return errors.Join(err, writeErr)
	}
}
