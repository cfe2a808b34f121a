package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// wanted is a [chat] in which no key has its default.
var wanted = Chat{
	Lang: "en", GroupMention: chat.MentionNone, AnswerBots: true, LongAnswer: 7,
	NotifyAfter: configtype.Duration{Duration: 5 * time.Minute}, MaxFile: 1 << 20,
}

// The keys of [chat] are read there, and where they were once, however the file writes them.
func TestKeysOfChatsInBothPlaces(t *testing.T) {
	t.Parallel()
	keys := []string{
		`lang = "en"`, "topics = false", `group_mention = "all"`, "answer_bots = true", "send_files = false",
		"answer_file_chars = 7", `notify_after = "5m"`, `max_file_size = "1MB"`,
	}
	dotted := func(section string) string { return section + "." + strings.Join(keys, "\n"+section+".") + "\n" }
	lines := strings.Join(keys, "\n") + "\n"
	for name, text := range map[string]string{
		"new": "[chat]\n" + lines, "new, dotted": dotted("chat"), "new, inline": "chat = {" + strings.Join(keys, ",") + "}\n",
		"old": "[feishu]\n" + lines + "app_id = \"cli_1\"\n", "old, dotted": dotted("feishu"),
		"old, inline": "feishu = {" + strings.Join(keys, ",") + "}\n", "old, capitals": "[Feishu]\n" + strings.ToUpper(lines),
		"half": "[feishu]\n" + strings.Join(keys[:4], "\n") + "\n[chat]\n" + strings.Join(keys[4:], "\n") + "\n",
	} {
		if name == "old, capitals" {
			text = strings.NewReplacer(`"EN"`, `"en"`, "FALSE", "false", "TRUE", "true", `"ALL"`, `"all"`, `"5M"`, `"5m"`).Replace(text)
		}
		c, err := Read(writeConfig(t, text), nil)
		if err != nil || c.Chat != wanted {
			t.Errorf("%s: %+v, %v", name, c.Chat, err)
		}
		old, _ := OldPlaces(writeConfig(t, text), nil)
		if n := map[bool]int{true: 8}[strings.HasPrefix(name, "old")]; name != "half" && len(old) != n || name == "half" && len(old) != 4 {
			t.Errorf("%s: in old places: %q", name, old)
		}
	}
	for _, section := range []string{"CHAT", "FEISHU"} {
		var environ []string
		for _, key := range keys {
			name, value, _ := strings.Cut(key, " = ")
			environ = append(environ, EnvPrefix+section+"_"+strings.ToUpper(name)+"="+strings.Trim(value, `"`))
		}
		c, err := Read(writeConfig(t, "[chat]\nlang = \"zh\"\n"), environ) // the environment overrides the file, as always
		if err != nil || c.Chat != wanted {
			t.Errorf("variables of %s: %+v, %v", section, c.Chat, err)
		}
		_, old := OldPlaces("", environ)
		if want := map[string]int{"FEISHU": 8}[section]; len(old) != want {
			t.Errorf("variables of %s: in old places: %q", section, old)
		}
	}
	c := Defaults()
	c.Chat = wanted
	if f := c.FeishuConfig(); f.Topics || !f.AnswerBots || f.Lang != "en" {
		t.Errorf("the door gets %+v", f)
	}
	c.Chat = Defaults().Chat
	if f := c.FeishuConfig(); !f.Topics || f.AnswerBots || f.Lang != "" {
		t.Errorf("the door gets %+v by default", f)
	}
	if b := c.BridgeConfig(); b.Mention != chat.MentionOnly || b.LongAnswer != 20_000 || b.NotifyAfter != 2*time.Minute ||
		b.Lang != "" {
		t.Errorf("the bridge gets %+v by default", b)
	}
}

// A key in an old place is wrong as any other is: with its line or its variable, in both languages. In both places it is
// a mistake, whatever it says.
func TestMistakesInOldPlaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"[feishu]\ntopics = \"yes\"": {"line 2: [feishu] topics: must be true or false", "第 2 行：[feishu] topics：应为开关"},
		"[feishu]\nnotify_after = 5": {
			"line 2: [feishu] notify_after: must be a number and a unit", "第 2 行：[feishu] notify_after：应为数字加单位",
		},
		"[feishu]\nlang = \"fr\"": {
			`line 2, still in [feishu]: [chat] lang "fr": must be auto, zh or en`,
			`第 2 行，还写在 [feishu] 里：[chat] lang "fr"：应为 auto、zh 或 en`,
		},
		"[chat]\nlang = \"fr\"":    {`line 2: [chat] lang "fr": must be`, `第 2 行：[chat] lang "fr"：应为`},
		"feishu = {lang = \"fr\"}": {`line 1, still in [feishu]: [chat] lang "fr"`, `第 1 行，还写在 [feishu] 里：[chat] lang "fr"`},
		"chat = {lang = \"fr\"}":   {`line 1: [chat] lang "fr"`, `第 1 行：[chat] lang "fr"`},
		"[feishu]\nlang = \"zh\"\n[chat]\nlang = \"zh\"": {
			"line 2: [feishu] lang belongs to [chat] now, where line 4 sets it as well: remove this line\n   2| lang = …",
			"第 2 行：[feishu] lang 现在属于 [chat]，那里的第 4 行也设置了它：请删掉这一行",
		},
		"chat.topics = true\nfeishu.topics = false": {
			"line 2: [feishu] topics belongs to [chat] now, where line 1", "第 2 行：[feishu] topics 现在属于 [chat]，那里的第 1 行",
		},
		"[feishu]\nlang = \"zh\"\nlang = \"en\"": {"line 3: lang appears twice", "第 3 行：lang 出现了两次"},
		"[feishu]\ntopicss = true":               {"did you mean chat.topics?", "是不是 chat.topics？"},
		"[chat]\ntopicss = true":                 {"did you mean chat.topics?", "是不是 chat.topics？"},
		"[claude]\nanswer_bots = true":           {"it belongs to [chat]", "它属于 [chat]"},
		"[chat]\napp_id = \"cli_1\"":             {"it belongs to [feishu]", "它属于 [feishu]"},
		"[chat]\nmax_file_size = \"1GB\"":        {"[chat] max_file_size 1024 MB: Feishu serves", "[chat] max_file_size 1024 MB：飞书"},
		"[chat]\nanswer_file_chars = -1":         {"[chat] answer_file_chars: must be 0 or more", "[chat] answer_file_chars：不能是负数"},
		"[chat]\ngroup_mention = \"sometimes\"":  {`[chat] group_mention "sometimes": must be`, `[chat] group_mention "sometimes"：应为`},
		"[chat]\nnotify_after = \"-1s\"":         {"[chat] notify_after: must be 0 or more", "[chat] notify_after：不能是负数"},
	} {
		_, err := Load(writeConfig(t, text+"\n"), nil)
		if zh := i18n.ErrorText(i18n.Chinese, err); err == nil || strings.Count(err.Error(), want[0]) != 1 ||
			strings.Count(zh, want[1]) != 1 {
			t.Errorf("%q:\n%v\n%s\nwant:\n%s\n%s", text, err, zh, want[0], want[1])
		}
	}
	for variables, want := range map[string]string{
		"MAGPIE_FEISHU_TOPICS=perhaps":                        "environment: MAGPIE_FEISHU_TOPICS: must be true or false",
		"MAGPIE_CHAT_TOPICS=perhaps":                          "environment: MAGPIE_CHAT_TOPICS: must be true or false",
		"MAGPIE_FEISHU_NOTIFY_AFTER=5":                        "environment: MAGPIE_FEISHU_NOTIFY_AFTER: must be a number and a unit",
		"MAGPIE_FEISHU_LANG=fr":                               `environment: MAGPIE_FEISHU_LANG: [chat] lang "fr": must be`,
		"MAGPIE_CHAT_LANG=fr":                                 `environment: MAGPIE_CHAT_LANG: [chat] lang "fr": must be`,
		"MAGPIE_FEISHU_TOPICSS=1":                             "MAGPIE_FEISHU_TOPICSS: there is no such key; did you mean MAGPIE_CHAT_TOPICS?",
		"MAGPIE_CHAT_APP_ID=1":                                "MAGPIE_CHAT_APP_ID: there is no such key",
		"MAGPIE_FEISHU_LANG=zh MAGPIE_CHAT_LANG=zh":           "MAGPIE_FEISHU_LANG: it is MAGPIE_CHAT_LANG now, which is set as well: keep only that one",
		"MAGPIE_CHAT_SEND_FILES=1 MAGPIE_FEISHU_SEND_FILES=0": "MAGPIE_FEISHU_SEND_FILES: it is MAGPIE_CHAT_SEND_FILES now",
	} {
		_, err := Load(writeConfig(t, ""), strings.Fields(variables))
		if err == nil || strings.Count(err.Error(), want) != 1 || strings.Contains(err.Error(), "_-") {
			t.Errorf("%s: %v, want %s", variables, err, want)
		}
	}
	// an empty variable sets nothing, as everywhere
	if c, err := Read("", []string{"MAGPIE_FEISHU_LANG=", "MAGPIE_CHAT_LANG=en"}); err != nil || c.Chat.Lang != "en" {
		t.Errorf("an empty variable: %q, %v", c.Chat.Lang, err)
	}
}

// A key that has been moved to its new place is no change.
func TestReloadAfterAMove(t *testing.T) {
	t.Parallel()
	const rest = "[access]\nallow = [\"*\"]\n"
	read := func(text string) Config {
		c, err := Read(writeConfig(t, text+rest), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.File = ""
		return c
	}
	old := read("[feishu]\napp_id = \"cli_1\"\nlang = \"en\"\n")
	if _, applied, later := old.Reload(read("[feishu]\napp_id = \"cli_1\"\n[chat]\nlang = \"en\"\n")); applied != nil || later != nil {
		t.Errorf("moved: %q, %q", applied, later)
	}
	merged, _, later := old.Reload(read("[feishu]\napp_id = \"cli_1\"\nlang = \"zh\"\n"))
	if !slices.Equal(later, []string{"[chat] lang"}) || !reflect.DeepEqual(merged.Chat, old.Chat) {
		t.Errorf("changed in the old place: %q, %+v", later, merged.Chat)
	}
}
