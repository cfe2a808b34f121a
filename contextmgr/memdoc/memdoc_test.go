package memdoc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"magpie/contextmgr/memdoc"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

var oc = chat.FeishuChat("oc_1")

func TestADocumentIsEasyToRead(t *testing.T) {
	got := string(memdoc.Format(db.Memory{
		ID: "3f0c2a9e-0000-4000-8000-000000000001", Key: oc, Number: 3, Scope: db.UserScope, Of: "ou_1",
		Title: `茶: "Tea" & more`, Text: "小明喝茶。\n\n---\nno sugar",
		Keywords: []string{"tea", "茶"}, Version: 2, Created: time.UnixMilli(1000),
		Updated: time.UnixMilli(2500),
	}))
	want := `---
id: "3f0c2a9e-0000-4000-8000-000000000001"
chat: "feishu:chat:oc_1"
scope: "user"
of: "ou_1"
title: "茶: \"Tea\" & more"
keywords: ["tea","茶"]
sources: []
state: "active"
version: 2
created: "1970-01-01T00:00:01Z"
updated: "1970-01-01T00:00:02.5Z"
---

小明喝茶。

---
no sugar
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatPeopleWriteIsRead(t *testing.T) {
	for name, doc := range map[string]string{
		"plain": "---\nchat: feishu:chat:oc_1\ntitle: It's tea: green\nkeywords: [tea, 茶， 'it''s']\nscope: " +
			"chat\ncreated: 2026-05-04\n---\ntext\n",
		"blocks": "---\n# a comment\n\nchat:   'feishu:chat:oc_1'\ntitle: \"It's tea: green\"\nkeywords:\n  - tea\n " +
			" - 茶\n  - \"it's\"\nscope: chat\ncreated: 2026-05-04T00:00:00Z\n--- \n\ntext",
		"windows": "\uFEFF---\r\nchat: feishu:chat:oc_1\r\ntitle: It's tea: green\r\nkeywords: [\"tea\", \"茶\", " +
			"\"it's\"]\r\nscope: chat\r\ncreated: 2026-05-04\r\n---\r\ntext\r\n",
	} {
		want := db.Memory{
			Key: oc, Scope: db.ChatScope, Title: "It's tea: green", Keywords: []string{"tea", "茶", "it's"},
			Text: "text", Created: time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC),
		}
		got, err := memdoc.Parse([]byte(doc))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestMistakesAreShownWhereTheyAre(t *testing.T) {
	for doc, want := range map[string]string{
		"":                                                    "line 1: a memory begins with a line ---",
		"# Title\ntext":                                       "line 1: a memory begins with a line ---",
		"---\nchat: feishu:chat:oc_1\ntext":                   "line 3: the front matter has no end",
		"---\nchat: feishu:chat:oc_1\n---\n \n":               "line 3: there is no text",
		"---\ntitle: x\n---\ntext":                            "line 3: the front matter does not say to which chat",
		"---\nchat: oc_1\n---\ntext":                          `line 2: chat key "oc_1"`,
		"---\n\ntitel: x\n---\ntext":                          `line 3: unknown key "titel"`,
		"---\ntitle: x\ntitle: y\n---\ntext":                  "line 3: title is there twice",
		"---\njust words\n---\ntext":                          "line 2: a key, a colon",
		"---\nscope: world\n---\ntext":                        `line 2: scope "world": must be chat, user or project`,
		"---\nstate: gone\n---\ntext":                         `line 2: state "gone"`,
		"---\nversion: -1\n---\ntext":                         `line 2: version "-1"`,
		"---\ncreated: May\n---\ntext":                        `line 2: created "May"`,
		"---\nchat: feishu:chat:oc_1\nscope: user\n---\ntext": "line 4: scope is user, but",
	} {
		_, err := memdoc.Parse([]byte(doc))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", doc, err, want)
		} else if zh := i18n.ErrorText(i18n.Chinese, err); !strings.HasPrefix(zh, "第 ") || strings.Contains(zh, " line ") {
			t.Errorf("%q in Chinese: %s", doc, zh)
		}
	}
}

// A document is read back unchanged, whatever the memory contains.
func TestADocumentHoldsTheMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("-:\n\r\"'[],# \t茶\u2028\\"))))
		m, err := db.Memory{
			ID: "3f0c2a9e-0000-4000-8000-000000000001", Key: oc, Title: text.Draw(t, "title"),
			Text: text.Draw(t, "text"), Keywords: rapid.SliceOfN(text, 0, 4).Draw(t, "keywords"),
			Scope: db.UserScope, Of: rapid.StringMatching(`[ -~]{1,9}`).Draw(t, "of"),
			Version: rapid.IntRange(1, 9).Draw(t, "version"),
			Sources: rapid.SliceOfN(rapid.StringMatching(`om_[a-z]{1,9}`), 0, 3).Draw(t, "sources"),
			Created: time.UnixMilli(rapid.Int64Range(0, 1<<40).Draw(t, "created")).UTC(),
			Updated: time.UnixMilli(rapid.Int64Range(0, 1<<40).Draw(t, "updated")).UTC(),
		}.Tidy()
		if err != nil {
			t.Skip()
		}
		got, err := memdoc.Parse(memdoc.Format(m))
		if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("---\nchat: feishu:chat:oc_1\nkeywords:\n- a\n---\ntext")
	f.Fuzz(func(t *testing.T, doc string) {
		m, err := memdoc.Parse([]byte(doc))
		if err != nil {
			return
		}
		if m, err = m.Tidy(); err != nil {
			return
		}
		again, err := memdoc.Parse(memdoc.Format(m))
		if diff := cmp.Diff(m, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
}
