package contextmgr

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

func TestTheNewestOfWhatWasOverheardFits(t *testing.T) {
	said := func(texts ...string) (msgs []chat.Message) {
		for _, text := range texts {
			msgs = append(msgs, chat.Message{Text: text})
		}
		return msgs
	}
	for name, tc := range map[string]struct {
		msgs []chat.Message
		want string
	}{
		"all":        {said("一二", "三四", "五六"), "一二|三四|五六"},
		"the newest": {said("一二三四", "五六七八", "九十甲乙"), "五六七八|九十甲乙"},
		"no gap":     {said("一", "二三四五六七八九", "十甲乙"), "十甲乙"},
		"blank":      {said("一", " \n", "", " 二 "), "一|二"},
		"cut":        {said("一", strings.Repeat("二", 50)), "二二二二二二二\n…（此处省略 40 字）…\n二二二"},
		"nothing":    {nil, ""},
	} {
		var got []string
		for _, m := range newestWithin(tc.msgs, 10, "zh") {
			got = append(got, m.Text)
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, "|"), tc.want)
		}
	}
}

// group is a group with that many messages, of which every tenth is a question to the bot that has a turn.
func group(t *testing.T, n int) (d *db.DB, key chat.Key, turns []int64) {
	t.Helper()
	d = dbtest.New(t)
	key = chat.FeishuChat("oc_group")
	for i := 1; i <= n; i++ {
		e := db.Inbound{Class: chat.Overheard, Incoming: chat.Incoming{
			Key: key, Kind: chat.Group, ID: fmt.Sprint("om_", i), Text: fmt.Sprint("m", i),
			Actor: chat.Actor{Name: "小红"}, Time: time.Unix(int64(i), 0),
		}}
		if i%10 == 0 {
			e.Class = chat.Talk
		}
		if _, err := d.Messages().Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if e.Class == chat.Talk {
			c, err := d.Turns().Claim(t.Context(), key, db.Start{Session: "s", Resume: true})
			if err == nil {
				err = d.Turns().Finish(t.Context(), db.TurnResult{
					Turn: c.Turn, State: convo.Done, Session: db.Session{ID: "s"},
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, c.Turn.ID)
		}
	}
	return d, key, turns
}

func TestWhatWasOverheardOfAGroup(t *testing.T) {
	d, key, turns := group(t, 65) // six turns, then m61 to m65
	unseen := "m61 m62 m63 m64 m65"
	var recent []string
	for i := 65; len(recent) < 25; i-- {
		if i%10 != 0 {
			recent = append([]string{fmt.Sprint("m", i)}, recent...)
		}
	}
	all := strings.Join(recent, " ")
	for name, tc := range map[string]struct {
		change func(*Config)
		r      Request
		want   string
	}{
		"new process with its session": {nil, Request{ResumeID: "s", Synced: Synced{Seen: turns[5]}}, unseen},
		"living process":               {nil, Request{ResumeID: "s", Synced: Synced{Seen: turns[5]}, Live: true}, unseen},
		"economy":                      {func(c *Config) { c.Mode = Economy }, Request{ResumeID: "s", Synced: Synced{Seen: turns[5]}}, unseen},
		"a session that is behind": {nil, Request{ResumeID: "s", Synced: Synced{Seen: turns[4]}},
			"m51 m52 m53 m54 m55 m56 m57 m58 m59 " + unseen},
		"no session":       {nil, Request{}, all},
		"database":         {func(c *Config) { c.Mode = Database }, Request{}, all},
		"fewer are wanted": {func(c *Config) { c.AutoChatContext = 2 }, Request{}, "m64 m65"},
		"none are wanted":  {func(c *Config) { c.AutoChatContext = 0 }, Request{}, ""},
		"resume":           {func(c *Config) { c.Mode = Resume }, Request{ResumeID: "s", Synced: Synced{Seen: turns[5]}}, ""},
		"private":          {nil, Request{Kind: chat.Private}, ""},
		"an earlier question": {nil, Request{
			ResumeID: "s", Synced: Synced{Seen: turns[5]}, Asked: []chat.Message{{Time: time.Unix(63, 0)}}},
			"m61 m62 m63"},
		"after /new":   {nil, Request{Epoch: 1}, ""},
		"another chat": {nil, Request{Key: chat.FeishuChat("oc_other")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Defaults()
			if tc.change != nil {
				tc.change(&cfg)
			}
			if tc.r.Key == (chat.Key{}) {
				tc.r.Key = key
			}
			if tc.r.Kind == "" {
				tc.r.Kind = chat.Group
			}
			if tc.r.Asked == nil {
				tc.r.Asked = []chat.Message{{Time: time.Unix(1000, 0)}}
			}
			tc.r.Turn = turns[5] + 1
			p := New(d, cfg, zerolog.Nop()).Build(t.Context(), tc.r)
			var got []string
			for _, m := range p.Overheard {
				got = append(got, m.Text)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" || p.Stats.Overheard != len(got) {
				t.Errorf("%d counted: %s", p.Stats.Overheard, diff)
			}
		})
	}
}

// However much people talk, overheard messages take little room.
func TestWhatWasOverheardIsBounded(t *testing.T) {
	d, key, _ := group(t, 9)
	long := db.Inbound{Class: chat.Overheard, Incoming: chat.Incoming{
		Key: key, Kind: chat.Group, ID: "om_long", Text: strings.Repeat("长", 100_000), Time: time.Unix(100, 0),
	}}
	if _, err := d.Messages().Accept(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	p := New(d, Defaults(), zerolog.Nop()).Build(t.Context(), Request{
		Key: key, Kind: chat.Group, Turn: 1, Asked: []chat.Message{{Text: "?", Time: time.Unix(1000, 0)}},
	})
	if n := utf8.RuneCountInString(p.Text()); len(p.Overheard) != 1 || n > overheardChars+200 {
		t.Errorf("%d messages in a prompt of %d characters", len(p.Overheard), n)
	}
}

// A message that is in the overheard part is not retrieved again because the question is about it.
func TestWhatWasOverheardIsNotRetrieved(t *testing.T) {
	d, key, _ := group(t, 19)
	for i, text := range []string{"项目代号是蓝鲸", "大家好"} {
		e := db.Inbound{Class: chat.Overheard, Incoming: chat.Incoming{
			Key: key, Kind: chat.Group, ID: fmt.Sprint("om_x", i), Text: text, Time: time.Unix(int64(100+i), 0),
		}}
		if _, err := d.Messages().Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	asked := []chat.Message{{Text: "项目代号是什么？", Time: time.Unix(1000, 0)}}
	for name, r := range map[string]Request{
		"new process": {}, "living process": {ResumeID: "s", Synced: Synced{Seen: 1}, Live: true},
	} {
		r.Key, r.Kind, r.Turn, r.Asked = key, chat.Group, 2, asked
		p := New(d, Defaults(), zerolog.Nop()).Build(t.Context(), r)
		if n := strings.Count(p.Text(), "蓝鲸"); n != 1 {
			t.Errorf("%s: it is there %d times: %s", name, n, p.Text())
		}
	}
}

// A retrieved message shows whether it was addressed to the bot.
func TestWhatWasOverheardIsMarkedWhenItIsRetrieved(t *testing.T) {
	c := Context{Retrieved: []chat.Message{
		{Role: chat.User, Class: chat.Talk, Actor: chat.Actor{Name: "小明"}, Text: "代号是蓝鲸"},
		{Role: chat.User, Class: chat.Overheard, Actor: chat.Actor{Name: "小红"}, Text: "蓝鲸下周发布"},
		{Role: chat.Assistant, Class: chat.Talk, Text: "记住了"},
	}}
	got := Prefix(c, chat.Group, "什么时候？")
	for _, want := range []string{"## [1] 用户(小明) (", "## [2] 旁听(小红) (", "## [3] 助手 ("} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}
