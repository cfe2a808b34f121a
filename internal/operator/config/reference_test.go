package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

var update = flag.Bool("update", false, "rewrite the pages")

// keysOf returns the keys of the file as the pages write them, with their defaults.
func keysOf(t *testing.T) map[string]string {
	t.Helper()
	keys := map[string]string{}
	sections := reflect.ValueOf(Defaults())
	for i := range sections.NumField() {
		section := sections.Type().Field(i)
		switch name := section.Tag.Get("toml"); {
		case name == "-":
		case section.Type.Kind() == reflect.Map:
			keys["["+name+"]"] = ""
		case section.Tag.Get("envPrefix") == "": // a key outside of sections
			keys[name] = shown(t, sections.Field(i))
		default:
			for j := range section.Type.NumField() {
				switch f := section.Type.Field(j); {
				case f.Tag.Get("toml") == "-":
				case f.Type.Kind() == reflect.Map:
					keys["["+name+"."+f.Tag.Get("toml")+"]"] = ""
				default:
					keys["["+name+"] "+f.Tag.Get("toml")] = shown(t, sections.Field(i).Field(j))
				}
			}
		}
	}
	return keys
}

// shown is a default as in the file; empty = none.
func shown(t *testing.T, v reflect.Value) string {
	t.Helper()
	if v.IsZero() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.String || v.Kind() == reflect.Slice) {
		return ""
	}
	data, err := toml.Marshal(map[string]any{"key": v.Interface()})
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(bytes.TrimSpace(data)), " = ")
	return "`" + strings.ReplaceAll(text, "'", `"`) + "`"
}

const headEN = `# Configuration

[中文](configuration.zh.md)

Magpie looks for ` + "`magpie.toml`" + ` in the current folder, then in ` + "`~/.config/magpie`" + `, then in ` + "`/etc/magpie`" + `;
` + "`--config FILE`" + ` names another. ` + "`magpie setup`" + ` writes one, ` + "`magpie doctor`" + ` checks it. A mistake is shown with its line and ends the
program with exit code 2.

- Every key can be set by an environment variable, ` + "`MAGPIE_<SECTION>_<KEY>`" + `, such as ` + "`MAGPIE_CLAUDE_MODEL`" + `. It overrides the file.
- Durations are written as ` + "`90s`, `30m` or `48h`" + `, sizes as ` + "`30MB`" + `.
- ` + "`systemctl reload magpie`" + ` or SIGHUP applies ` + "`[access]`, `[budget]` and `[log] level`" + `. Other keys need a restart.
- The smallest file has ` + "`[feishu] app_id`, `[feishu] app_secret` and `[claude] project`" + `.
- ` + "`[[feishu]]`" + ` may stand several times, for [several apps](feishu-app.md#several-apps).
`

const headZH = `# 配置

[English](configuration.md)

鹊桥依次在当前文件夹、` + "`~/.config/magpie`" + ` 和 ` + "`/etc/magpie`" + ` 里查找 ` + "`magpie.toml`" + `；` + "`--config 文件`" + ` 指定别的。` + "`magpie setup`" + ` 写好它，` + "`magpie doctor`" + ` 检查它。
写错时会指出是哪一行，程序以退出码 2 结束。

- 每个键都可以用环境变量 ` + "`MAGPIE_<节>_<键>`" + ` 设置，例如 ` + "`MAGPIE_CLAUDE_MODEL`" + `，它优先于文件。
- 时长写成 ` + "`90s`、`30m` 或 `48h`" + `，大小写成 ` + "`30MB`" + `。
- ` + "`systemctl reload magpie`" + ` 或 SIGHUP 让 ` + "`[access]`、`[budget]` 和 `[log] level`" + ` 立即生效，其他键要重启。
- 最小的文件只需要 ` + "`[feishu] app_id`、`[feishu] app_secret` 和 `[claude] project`" + `。
- ` + "`[[feishu]]`" + ` 可以写多次，用于[多个应用](feishu-app.zh.md#多个应用)。
`

// page writes the table of each section.
func page(keys map[string]string, zh bool) string {
	head, columns, rest := headEN, "| Key | Default | |", "Outside of sections"
	if zh {
		head, columns, rest = headZH, "| 键 | 默认值 | |", "不属于任何节"
	}
	var b strings.Builder
	b.WriteString(head)
	last := "-"
	for _, d := range described {
		section, key, found := strings.Cut(d.key, "] ")
		switch {
		case found:
			section += "]"
		case strings.HasPrefix(d.key, "["): // a subtable, which belongs to the section before its dot
			section, key = strings.TrimRight(strings.SplitN(d.key, ".", 2)[0], "]")+"]", d.key
		default:
			section, key = "", d.key
		}
		if section != last {
			title := "`" + section + "`"
			if section == "" {
				title = rest
			}
			fmt.Fprintf(&b, "\n## %s\n\n%s\n|---|---|---|\n", title, columns)
			last = section
		}
		text := d.en
		if zh {
			text = strings.ReplaceAll(d.zh, ".md)", ".zh.md)")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, keys[d.key], text)
	}
	return b.String()
}

// The pages describe each key and no others. -update rewrites them.
func TestTheConfigurationPages(t *testing.T) {
	keys := keysOf(t)
	var names []string
	for _, d := range described {
		if _, ok := keys[d.key]; !ok {
			t.Errorf("%s is described and does not exist", d.key)
		}
		if d.en == "" || d.zh == "" || slices.Contains(names, d.key) {
			t.Errorf("%s is not described once in both languages", d.key)
		}
		names = append(names, d.key)
	}
	for key := range keys {
		if !slices.Contains(names, key) {
			t.Errorf("%s is not described", key)
		}
	}
	for name, zh := range map[string]bool{"configuration.md": false, "configuration.zh.md": true} {
		path, want := filepath.Join("..", "..", "..", "docs", name), page(keys, zh)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("docs/%s is outdated (%v): regenerate it with go test ./internal/operator/config -update", name, err)
		}
	}
}

// described are the keys of magpie.toml in the order of the pages, in English and in Chinese. Links are relative to
// docs/; NAME.md becomes NAME.zh.md on the Chinese page.
var described = []struct{ key, en, zh string }{
	{"[feishu] app_id", "ID of the Feishu or Lark app", "飞书或 Lark 应用的 App ID"},
	{"[feishu] app_secret", "its secret; or put it into the file that `MAGPIE_FEISHU_APP_SECRET_FILE` names",
		"应用的 App Secret；也可以放进 `MAGPIE_FEISHU_APP_SECRET_FILE` 指定的文件"},
	{"[feishu] base_url", "empty = Feishu, `\"lark\"`, or the address of another deployment",
		"留空 = 飞书，`\"lark\"`，或其他部署的地址"},
	{"[feishu] whole_cards", "redraw the whole card with each change; only if cards stay empty or stand still until the answer is complete",
		"每次变化都重画整张卡片；仅当卡片一直空白，或停着不动直到回答完成时才需要"},

	{"[chat] lang", "language of chats that have not chosen one with `/lang`: `zh`, `en`, or `auto` = the language each chat writes in",
		"聊天没有用 `/lang` 指定时使用的语言：`zh`、`en`，或 `auto` = 跟随聊天里用的语言"},
	{"[chat] group_mention", "when the bot answers in groups: `mention` = when mentioned, `all` = every message, `commands` = mentions, and commands without one; `/mention` sets it per group",
		"群里什么时候回答：`mention` = 被 @ 时，`all` = 每条消息，`commands` = 被 @ 时，命令不用 @；`/mention` 为单个群设置"},
	{"[chat] notify_after", "an answer that took longer ends with a short message that mentions the person who asked; `0` = never; `/notify` turns it off per chat",
		"回答用时超过这个时间，完成后会发一条 @提问者 的短消息；`0` = 从不；可在聊天里用 `/notify` 关闭"},
	{"[chat] topics", "each topic of a group is a separate chat", "群里的每个话题是独立的聊天"},
	{"[chat] answer_bots", "answer other bots that mention this one", "是否回复 @ 它的其他机器人"},
	{"[chat] max_file_size", "largest file accepted from a chat, at most `100MB` ([files](files.md))",
		"从聊天接收的单个文件的上限，最大 `100MB`（[文件](files.md)）"},
	{"[chat] send_files", "agents may send files of their project to the chat ([output](output.md))",
		"助手可以把项目里的文件发到聊天（[输出](output.md)）"},
	{"[chat] answer_file_chars", "answers with more characters than this also come as a file; `0` = never",
		"回答超过多少字符时另附一个文件；`0` = 从不"},

	{"[claude] command", "the `claude` CLI", "`claude` 命令行"},
	{"[claude] project", "folder in which the agent works; `magpie.toml` and the database must not be inside it",
		"助手工作的文件夹；`magpie.toml` 和数据库不能放在里面"},
	{"[claude] model", "model; empty = the CLI's default", "模型；留空用 CLI 的默认值"},
	{"[claude] models", "models that `/model` offers; empty = any name", "`/model` 可选的模型；留空则任何名称都可以"},
	{"[claude] effort", "`low`, `medium`, `high`, `xhigh` or `max`; empty = the CLI's default",
		"`low`、`medium`、`high`、`xhigh` 或 `max`；留空用 CLI 的默认值"},
	{"[claude] permission_mode", "`default`, `acceptEdits`, `plan`, `dontAsk`, `auto` or `bypassPermissions`",
		"权限模式：`default`、`acceptEdits`、`plan`、`dontAsk`、`auto` 或 `bypassPermissions`"},
	{"[claude] allowed_tools", "rules such as `\"Read(./**)\"` or `\"Bash(go vet ./...)\"`. A rule that allows more than it seems to, such as `\"Bash(git log *)\"`, is refused at startup ([approvals](approvals.md))",
		"始终允许的操作，如 `\"Read(./**)\"`、`\"Bash(go vet ./...)\"`。实际允许范围比看上去大的规则（如 `\"Bash(git log *)\"`）会在启动时报错（[审批](approvals.md)）"},
	{"[claude] ask", "`changes` = ask before anything that changes something; `everything` = ask before every use of a tool",
		"`changes` = 会改变任何东西的操作先问；`everything` = 每次使用工具都先问"},
	{"[claude] slash_commands", "Claude Code commands that chats may use as `//name`, besides `compact`, `context`, `cost` and `usage`",
		"聊天里可以写成 `//名字` 的 Claude Code 命令；`compact`、`context`、`cost`、`usage` 总是可以"},
	{"[claude] mcp", "MCP servers for agents: `\"all\"` that this machine's user added with `claude mcp add`, `\"none\"`, or names such as `[\"github\"]`. Servers from a `.mcp.json` in the project or a folder above it are used only if they are named here or that user approved them, as `claude` asks in a terminal (`~/.claude/settings.json`, or `.claude/settings.local.json` in the project or the root of its repository, unless git tracks it or that user does not trust the folder): anyone who can write to these folders could put one there. Servers of plugins, claude.ai connectors and an organization's `managed-mcp.json` are not loaded. Their tools need an approval unless a rule allows them",
		"助手可用的 MCP 服务器：`\"all\"` = 本机用户用 `claude mcp add` 添加的全部，`\"none\"` = 不用，或列出名字，如 `[\"github\"]`。项目及其上层文件夹的 `.mcp.json` 里的只有在这里写了名字、或该用户批准过才用（在终端里回答 `claude` 的询问即可，记在 `~/.claude/settings.json`，或项目、仓库根目录里没有纳入 git 的 `.claude/settings.local.json`，且该用户信任这个文件夹）：能写这些文件夹的人都可能放一个进去。插件自带的、claude.ai 连接器和机构的 `managed-mcp.json` 里的不加载。它们的工具要先获得允许，除非有规则允许"},
	{"[claude] while_busy", "what happens to a message that arrives while an answer is being written: `queue` = it waits for the next turn, `steer` = the running turn gets it. A message that starts with \"补充\" or \"also:\", or quotes the running card, always goes to the running turn ([commands](commands.md))",
		"回答进行中收到的消息怎么处理：`queue` = 排队等下一轮，`steer` = 直接交给正在进行的回答。以“补充”或 “also:” 开头、或引用正在进行的卡片的消息总是直接交给它（[命令](commands.md)）"},
	{"[claude] suggestions", "a button below an answer in a private chat with what you may want to ask next, as Claude Code guesses; pressing it asks that. Each sends the whole conversation to the model once more, and costs some three quarters of a short answer",
		"私聊的回答下面显示一个按钮，内容是 Claude Code 猜测你接下来想问的，点一下就问。每个建议都要把整个对话再发给模型一次，费用约为一个短回答的四分之三"},
	{"[claude] max_turns", "how many answers run at once; the rest queue. An answer that waits for an approval does not take a slot; the same number may wait that way. `auto` = four per core, at least eight",
		"同时回答的上限，超出的排队。等待审批的不占名额，最多另有这么多。`auto` = 每核 4 个，至少 8 个"},
	{"[claude] max_processes", "limit of CLI processes, running or idle; the least recently used one makes room. `auto` = as many as memory allows (200 MB each, within cgroup limits, a tenth stays free), and more whenever memory becomes free",
		"CLI 进程总数上限，含空闲的；不够时最久没用的退出。`auto` = 按内存计算（每个 200 MB，计入 cgroup 限制，留出十分之一）；内存空出来后会再增加"},
	{"[claude] keep_alive", "how long an idle process waits for its chat's next message; `0s` = one process per turn. `auto` = as long as memory allows, at most two hours",
		"空闲进程等待下一条消息的时间；`0s` = 每轮一个进程。`auto` = 内存允许就一直等，最多两小时"},
	{"[claude] spare", "processes started ahead of time, with the project, mode, model, effort and kind of chat (private or group) used last, so that a new chat's first message does not wait for the CLI; `2` = also for the combination before, such as groups besides private chats. A chat that is known takes none; after `/new` and `/reset` its own next process starts at once. About 200 MB each, no model requests; any turn takes precedence. `0` = none",
		"提前启动的进程数，项目、模式、模型、思考深度和聊天种类（私聊或群聊）同最近一次，新聊天的第一条消息不用等 CLI 启动；`2` = 再加上前一种组合，比如私聊之外还有群聊。已有的聊天用不上，`/new` 和 `/reset` 之后会立刻启动它自己的下一个进程。每个约 200 MB，不请求模型，随时为回答让位。`0` = 不提前启动"},
	{"[claude] silence_timeout", "limit without output while no tool runs", "没有工具运行时，多久没有输出算超时"},
	{"[claude] tool_timeout", "limit without output while a tool runs", "工具运行时，多久没有输出算超时"},
	{"[claude] turn_timeout", "limit of a whole turn", "一轮回答的总时限"},
	{"[claude] background_timeout", "limit of background requests: summaries, key points, titles", "生成摘要、要点、标题的超时时间"},
	{"[claude] background_limit", "how long commands and subagents may run in the background after their answer; what the agent says when they end arrives in a new card. `0s` = they end with the answer. Needs a CLI such as 2.1.330, and neither `keep_alive = \"0s\"` nor `[budget] turn_usd`",
		"回答结束后，命令和子任务最多还能在后台运行多久；它们结束后助手要说的话会另发一张卡片。`0s` = 随回答一起结束。需要 2.1.330 这样的 CLI，且没有设置 `keep_alive = \"0s\"` 或 `[budget] turn_usd`"},
	{"[claude.env]", "environment variables for the CLI", "传给 CLI 的环境变量"},
	{"[claude] setting_sources", "whose settings and `CLAUDE.md` the CLI reads: any of `user`, `project`, `local` ([access](access.md))",
		"CLI 读取谁的设置和 `CLAUDE.md`：`user`、`project`、`local` 中的几项（[权限](access.md)）"},
	{"[claude] settings", "more CLI settings, which take precedence: a JSON object, or the path of a file with one; checked at startup",
		"更多 CLI 设置，优先于其他来源：一个 JSON 对象，或含有它的文件；启动时检查"},
	{"[claude] config_dir", "what each chat has for itself: `per-chat` = the CLI's sessions; `isolated` = its login and settings as well",
		"每个聊天独立的部分：`per-chat` = 会话；`isolated` = 登录和设置也独立"},
	{"[claude] wall", "whether the kernel hides the configuration, the database and other chats' files from agents: `auto` = where the machine can, `require` = do not start without it, `off` = never ([security](security.md))",
		"内核是否让助手看不到配置、数据库和其他聊天的文件：`auto` = 机器支持就用，`require` = 不支持就不启动，`off` = 不用（[安全](security.md)）"},
	{"[claude] user", "system user that agents run as; Magpie then needs root, or the capabilities of the shipped unit",
		"助手以本机哪个用户运行；这时鹊桥需要 root，或随附 systemd 单元里的那些 capability"},

	{"[context] mode", "`hybrid` = the CLI's session and a history prefix; `resume` = no prefix while there is a session; `database` = no session; `economy` = sends only what a verified session lacks, the cheapest",
		"`hybrid` = CLI 的会话加历史前缀；`resume` = 有会话就不带前缀；`database` = 不续接会话；`economy` = 只发送会话里缺少的内容，最省"},
	{"[context] min_chars", "minimum size of the history prefix in characters …", "历史前缀至少多少字……"},
	{"[context] min_user_messages", "… and in user messages", "……并且至少多少条用户消息"},
	{"[context] max_tokens", "upper limit of the prefix in tokens (estimated)", "前缀的上限，按 token 估算"},
	{"[context] session_mode", "`stable`, or `fresh` = a new session for every message, with the prefix",
		"`stable`，或 `fresh` = 每条消息用新会话并带前缀"},
	{"[context] recall_chars", "how many characters of older, relevant messages to add; `0` = none", "最多附带多少字与问题有关的更早消息；`0` = 不附带"},
	{"[context] time_zone", "time zone of dates in questions, such as `Asia/Shanghai`; empty = the machine's",
		"问题里的日期按哪个时区理解，如 `Asia/Shanghai`；留空用本机时区"},
	{"[context] auto_chat_context", "how many group messages not addressed to the bot to include as background; `0` = none",
		"群聊中最多附带多少条不是对机器人说的消息作为背景；`0` = 不附带"},
	{"[context] window", "tokens a session may hold; a smaller window of a known model takes precedence",
		"一个会话最多多少 token；已知模型的窗口更小时以模型为准"},
	{"[context] compact_threshold", "share of the window at which a summary replaces the session; `0` = only with `/compact`",
		"会话占窗口多少时用摘要代替；`0` = 只在 `/compact` 时"},
	{"[context] compact_history", "largest share of the window that one summary reads", "做一次摘要最多读入窗口的多少"},
	{"[context] keep_recent", "recent messages that a summary leaves as they are", "做摘要时保持原样的最近消息数"},
	{"[context] session_stale_after", "a chat that was silent for longer starts over; `0s` = never", "聊天沉默多久之后重新开始；`0s` = 从不"},
	{"[context] titles", "give conversations a title", "自动给对话起标题"},

	{"[memory] max_chars", "how many characters of memories to add to a question; `0` = none", "每次提问最多附带多少字的记忆；`0` = 不附带"},
	{"[memory] tools", "give agents tools for remembering and searching", "给助手记忆和搜索的工具"},
	{"[memory] approval", "memories proposed by the agent or a group member need an approval", "助手或群成员提出的记忆要批准才生效"},
	{"[memory] capture", "after each answer, let the agent look for facts worth remembering; costs one request",
		"每次回答后让助手看看有什么值得记住；多一次请求"},
	{"[memory] capture_group_memory", "do so in groups, too", "群聊也这样做"},
	{"[memory] embeddings_url", "semantic search: full URL of an OpenAI-compatible endpoint, such as `https://host/v1/embeddings` ([context](context.md))",
		"语义召回：兼容 OpenAI 的接口的完整地址，如 `https://host/v1/embeddings`（[上下文](context.md)）"},
	{"[memory] embeddings_model", "the endpoint's model", "接口的模型"},
	{"[memory] embeddings_key", "its key, if it needs one; or the file that `MAGPIE_MEMORY_EMBEDDINGS_KEY_FILE` names",
		"接口的密钥；也可以放进 `MAGPIE_MEMORY_EMBEDDINGS_KEY_FILE` 指定的文件"},

	{"[access] owner", "the owner's user ID (`ou_…`) where he can be reached; empty = the app's owner ([access](access.md))", "所有者的用户 ID（`ou_…`），在那里能联系到他；留空 = 应用的所有者（[权限](access.md)）"},
	{"[access] admins", "user IDs of admins", "管理员的用户 ID"},
	{"[access] allow", "who may use the bot: user IDs (`ou_…`), chat IDs (`oc_…`), department IDs (`od_…`), of other doors as in `cli:1000`, `cli:chat:main`; or `\"*\"` = everyone",
		"谁可以用：用户 ID（`ou_…`）、群 ID（`oc_…`）、部门 ID（`od_…`），其他入口的写作 `cli:1000`、`cli:chat:main`；或 `\"*\"` = 所有人"},
	{"[access] deny", "who may not; takes precedence over everything else", "谁不可以；优先于其他一切"},
	{"[access] unauthorized_reply", "reply to strangers in private chats, at most once a day; empty = none", "私聊里对陌生人的回复，每天最多一次；留空 = 不回复"},
	{"[access] deciders", "who decides what the agent may do: `asker` = the person who asked, and admins; `admins` = admins only ([approvals](approvals.md))",
		"谁决定助手能做什么：`asker` = 提问的人和管理员；`admins` = 只有管理员（[审批](approvals.md)）"},
	{"[access] approval_timeout", "how long an approval waits before it is denied", "审批等待多久，之后视为拒绝"},

	{"[projects]", "projects that chats can switch to with `/cd`: `name = \"/path\"`, or `name = { path = \"/path\", mode = \"acceptEdits\", bypass = false, nodes = [\"a\"] }`, where `mode` is the most permissive mode that chats may choose there, and `nodes` the machines that have the folder, by their `node`; without it all have it ([scale](scale.md#files-and-projects))",
		"聊天可以用 `/cd` 切换的项目：`名称 = \"/路径\"`，或 `名称 = { path = \"/路径\", mode = \"acceptEdits\", bypass = false, nodes = [\"a\"] }`；`mode` 是那里最多可以选到的权限模式，`nodes` 是有这个文件夹的机器（各机器的 `node`），不写表示每台都有（[规模](scale.zh.md#文件与项目)）"},

	{"[budget] turn_usd", "limit of one answer in US dollars; `0` = none", "一次回答最多多少美元；`0` = 不限"},
	{"[budget] user_day_usd", "limit per user per day", "每人每天"},
	{"[budget] chat_day_usd", "limit per chat per day", "每个聊天每天"},
	{"[budget] user_day_tokens", "limit per user per day, in tokens", "每人每天的 token"},
	{"[budget] chat_day_tokens", "limit per chat per day, in tokens", "每个聊天每天的 token"},

	{"[terminal] enabled", "people who may read Magpie's data folder chat in a terminal, `magpie chat`; empty = yes. `true` lets a bot do without `[feishu]`",
		"能读鹊桥数据文件夹的人可以在终端里聊天（`magpie chat`）；留空 = 可以。写 `true` 时可以没有 `[feishu]`"},

	{"[db] url", "`sqlite:///path/to/magpie.db`, or `postgres://user:password@host:5432/database` for PostgreSQL 15 or newer, which needs `data`. Special characters in the password are percent-encoded (`@` as `%40`); it may also be in a password file (`?passfile=/path`), or the URL in the file that `MAGPIE_DB_URL_FILE` names",
		"`sqlite:///路径/magpie.db`；或者 `postgres://用户:密码@主机:5432/数据库`，用 PostgreSQL 15 或更新的版本，这时必须设置 `data`。密码里的特殊字符写成百分号编码（`@` 写成 `%40`）；密码也可以放进密码文件（`?passfile=/路径`），整个 URL 也可以放进 `MAGPIE_DB_URL_FILE` 指定的文件"},
	{"[db] history_ttl", "how long messages are kept, and the transcripts of sessions that no chat uses any more; `0s` = forever",
		"消息保留多久，不再使用的会话的记录也一样；`0s` = 永久"},
	{"[db] cache_ttl", "how long files and other working data are kept, such as the IDs of handled events", "文件和其他运行数据保留多久，如已处理事件的 ID"},

	{"[recovery] max_message_age", "older messages are answered only on request; `0s` = no limit", "到达时已经比这更旧的消息，有人要求才回答；`0s` = 不限"},

	{"[redact] history", "store messages without private data and secrets ([operation](operation.md))", "存储消息时去掉个人信息和密钥（[运维](operation.md)）"},

	{"[http] listen", "address of the API for programs ([programs](http.md)), `/metrics` (Prometheus), `/healthz` and `/readyz`; `\":9180\"` = this machine only; empty = none",
		"给程序用的接口（[程序](http.md)）、`/metrics`（Prometheus）、`/healthz` 和 `/readyz` 的地址；`\":9180\"` = 只限本机；留空 = 不开"},
	{"[http] hosts", "further host names to serve them under, besides IP addresses, `localhost`, the name in `listen` and, when other machines can connect, this machine's name",
		"还可以用哪些域名访问；IP 地址、`localhost`、`listen` 里的名字，以及对外监听时的本机名总是可以"},
	{"[http] public_url", "`https://` address of a proxy before `listen`, under which programs on other machines use the API; without it there is the API on this machine only",
		"`listen` 前面的代理的 `https://` 地址，其他机器上的程序从那里使用接口；不写时，只有本机能用接口"},

	{"[log] level", "`debug`, `info`, `warn` or `error`", "`debug`、`info`、`warn` 或 `error`"},
	{"[log] format", "`console` = for people, `json` = one object per line, `auto` = `console` on a terminal, otherwise `json`",
		"`console` = 便于人读，`json` = 每行一个对象，`auto` = 在终端上用 `console`，否则用 `json`"},

	{"data", "folder of what belongs to this machine: the agents' state, received files, the socket of `magpie chat`. Empty = the folder of the database, which must lie in it; with PostgreSQL it must be set, and no other Magpie may use the folder",
		"属于这台机器的数据放在哪个文件夹：助手的状态、收到的文件、`magpie chat` 的套接字。留空 = 数据库所在的文件夹；数据库必须放在这个文件夹里；用 PostgreSQL 时必须设置，不能和另一个鹊桥共用"},
	{"node", "name of this machine; sessions are resumed only where they were started. Empty = the host name; set it where host names change, as in containers. With PostgreSQL no two machines may have the same",
		"这台机器的名字；会话只在原来的机器上续接。留空 = 主机名；主机名会变时（如容器）请设置。用 PostgreSQL 时各台机器不能重名"},
	{"shutdown_timeout", "time limit for stopping; running answers get most of it, answers that wait for an approval get none", "停止服务的时限；正在写的回答可以用其中的大部分，等待审批的立即结束"},
}
