package config

import (
	"strings"
	"testing"

	"magpie/internal/i18n"
)

// An error in a file names its line and its key in the reader's language, however the value was written, and nothing of
// the decoder.
func TestMistakesOfAFileInBothLanguages(t *testing.T) {
	t.Parallel()
	const header = "[claude]\n"
	for text, want := range map[string][2]string{
		"keep_alive = 5": {
			`line 2: [claude] keep_alive: must be a number and a unit (s, m or h), such as "90s" or "48h", or "auto"`,
			`第 2 行：[claude] keep_alive：应为数字加单位（s、m 或 h），例如 "90s"、"48h"，或 "auto"`,
		},
		`keep_alive = "5"`: {
			`line 2: [claude] keep_alive: must be a number and a unit`, `第 2 行：[claude] keep_alive：应为数字加单位`,
		},
		"keep_alive = 2026-01-01": {
			`line 2: [claude] keep_alive: must be a number and a unit`, `第 2 行：[claude] keep_alive：应为数字加单位`,
		},
		"turn_timeout = true": {
			`line 2: [claude] turn_timeout: must be a number and a unit`, `第 2 行：[claude] turn_timeout：应为数字加单位`,
		},
		"[db]\nhistory_ttl = \"30d\"": {
			`line 3: [db] history_ttl: must be a number and a unit (s, m or h)`, `第 3 行：[db] history_ttl：应为数字加单位（s、m 或 h）`,
		},
		"max_turns = 0": {
			`line 2: [claude] max_turns: must be a whole number, 1 or more, or "auto"`,
			`第 2 行：[claude] max_turns：应为 1 或更大的整数，或 "auto"`,
		},
		"max_processes = 2.5": {
			`line 2: [claude] max_processes: must be a whole number`, `第 2 行：[claude] max_processes：应为 1 或更大的整数`,
		},
		"max_turns = 1\nmax_processes = -1": {
			`line 3: [claude] max_processes: must be a whole number`, `第 3 行：[claude] max_processes：应为 1 或更大的整数`,
		},
		"[chat]\nnotify_after = 5": {
			`line 3: [chat] notify_after: must be a number and a unit`, `第 3 行：[chat] notify_after：应为数字加单位`,
		},
		"[chat]\nmax_file_size = \"x\"": {
			`line 3: [chat] max_file_size: must be a size, such as 30MB`, `第 3 行：[chat] max_file_size：应为大小，例如 30MB`,
		},
		"[access]\napproval_timeout = 30": {
			`line 3: [access] approval_timeout: must be a number`, `第 3 行：[access] approval_timeout：应为数字加单位`,
		},
		"[access]\nallow = [1]": {
			"line 3: [access] allow: must be text in quotes, not a whole number",
			"第 3 行：[access] allow：应为引号里的文字，而不是整数",
		},
		"[context]\nwindow = {a = 1}": {
			"line 3: [context] window: must be a whole number, not an inline table",
			"第 3 行：[context] window：应为整数，而不是内联表",
		},
		"env = \"A=B\"": {
			`line 2: [claude] env: must be names with their values, as in { NAME = "value" }, not text`,
			`第 2 行：[claude] env：应为名字和值，例如 { NAME = "value" }，而不是文字`,
		},
		"env = {X = 1}": {
			"line 2: [claude] env: must be text in quotes", "第 2 行：[claude] env：应为引号里的文字",
		},
		"suggestions = 1": {
			"line 2: [claude] suggestions: must be true or false, not a whole number",
			"第 2 行：[claude] suggestions：应为开关（true 或 false），而不是整数",
		},
		"project = []": {
			"line 2: [claude] project: must be text in quotes, not a list", "第 2 行：[claude] project：应为引号里的文字，而不是列表",
		},
		"project = ~/x": {
			"line 2: this value is not valid; text must be in quotes", "第 2 行：这个值无效；文字要加引号",
		},
		"suggestions = True": {
			"line 2: this value is not valid; text must be in quotes, a switch is true or false", "开关写 true 或 false",
		},
		"project =":       {"line 2: a value is missing", "第 2 行：缺少值"},
		"project = \"abc": {"line 2: the closing quote is missing", "第 2 行：缺少右引号"},
		`project = "C:\Users"`: {
			"line 2: a backslash in double quotes must be doubled", "第 2 行：双引号里的反斜杠要写两个",
		},
		"project = “x”": {
			`line 2: "“" is a full-width character: use the plain one`, `第 2 行："“" 是全角符号，请改用英文（半角）符号`,
		},
		"【access】": {`line 2: "【" is a full-width character`, `第 2 行："【" 是全角符号`},
		"项目 = 1":   {"line 2: a key or a [section] must be here", "第 2 行：这里应该是键或 [节]"},
		"[projects]\n店铺 = \"/x\"": {
			`line 3: a key or a [section] must be here; keys are letters a to z, digits, - and _, other names must be in quotes`,
			`第 3 行：这里应该是键或 [节]；键只能用英文字母、数字、- 和 _，其他文字的名字要加引号`,
		},
		"[access": {
			"line 2: the name of a section must be in brackets", "第 2 行：节名要用方括号括起来",
		},
		"[[access]]":             {"line 2: a section has single brackets", "第 2 行：节名只用一层方括号"},
		"project: x":             {"line 2: a key must be followed by an equals sign", "第 2 行：键后面要有等号"},
		"spare = 1 2":            {"line 2: there is more than belongs here", "第 2 行：后面有多余的内容"},
		"spare = 01":             {"line 2: this number is not valid", "第 2 行：这个数字无效"},
		"models = [\"a\" \"b\"]": {"line 2: a comma is missing in the list", "第 2 行：列表里缺少逗号"},
		"spare = 1\nspare = 2":   {"line 3: spare appears twice", "第 3 行：spare 出现了两次"},
		"[claude]":               {"line 2: claude appears twice", "第 2 行：claude 出现了两次"},
		"[claude.spare]\nx = 1":  {"line 2: this is a key, not a section", "第 2 行：这是一个键，不是一节"},
		"project = \"\xff\"":     {"line 2: the file is not in UTF-8", "第 2 行：文件不是 UTF-8 编码"},
		"project = \"\x01\"":     {"line 2: this is not valid TOML", "第 2 行：这一行不符合 TOML 格式"},
		"projekt = 1": {
			"line 2: unknown key claude.projekt; did you mean claude.project?",
			"第 2 行：没有 claude.projekt 这个键，是不是 claude.project？",
		},
	} {
		c := Defaults()
		err := Decode([]byte(header+text+"\n"), &c)
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		zh := i18n.ErrorText(i18n.Chinese, err)
		if !strings.Contains(err.Error(), want[0]) || !strings.Contains(zh, want[1]) {
			t.Errorf("%q:\n%v\n%s\nwant:\n%s\n%s", text, err, zh, want[0], want[1])
		}
		for _, word := range []string{"toml:", "U+", "decod", "int64", "struct", "Config"} {
			if strings.Contains(err.Error()+zh, word) {
				t.Errorf("%q: %v speaks of %q", text, err, word)
			}
		}
	}
	for _, text := range []string{
		"\xef\xbb\xbf[claude]\nmax_turns = 1_0\nkeep_alive = \"0\"\nturn_timeout = 0\n",
		"[projects]\nweb = \"/x\"\nside = {path = \"/y\", mode = \"plan\"}\n", "[chat]\nmax_file_size = 0x100\n",
	} {
		c := Defaults()
		if err := Decode([]byte(text), &c); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	// all of them in one file
	c := Defaults()
	err := Decode([]byte("[claude]\nkeep_alive = 5\nmax_turns = 0\n[chat]\nnotify_after = 5\n"), &c)
	for _, line := range []string{"line 2:", "line 3:", "line 5:"} {
		if err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%v does not name %s", err, line)
		}
	}
}
