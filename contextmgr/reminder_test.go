package contextmgr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// remembered is a chat with old messages, followed by many later ones.
func remembered(t *testing.T, kind chat.Kind, since int, said ...string) (*db.DB, chat.Key) {
	t.Helper()
	key, began := chat.FeishuChat("oc_1"), time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	tr := evalChat{name: "1", key: key, kind: kind}
	add := func(text, who string, at time.Time) {
		role := []chat.Role{chat.User, chat.Assistant}[len(tr.msgs)%2]
		tr.msgs = append(tr.msgs, chat.Message{
			Key: key, ID: fmt.Sprintf("om_%d", len(tr.msgs)), Role: role, Class: chat.Talk,
			Actor: chat.Actor{ID: who, Name: who}, Text: text, Time: at,
		})
	}
	for i, s := range said {
		add(s, "小明", began.Add(time.Duration(i)*time.Minute))
	}
	for i := range since {
		add(fmt.Sprintf("闲聊第 %d 句：", i)+strings.Repeat("天气不错，", 20), "小红", began.Add(time.Duration(i+1)*time.Hour))
	}
	return storeChats(t, tr), key
}

func about(key chat.Key, question string) Request {
	return Request{
		Key: key, Kind: chat.Private, Turn: 1 << 40, ResumeID: "s", Asked: []chat.Message{
			{Text: question, Time: time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)},
		},
	}
}

func utcDefaults() Config {
	c := Defaults()
	c.TimeZone = "UTC"
	return c
}

func TestWhatTheQuestionIsAboutIsRetrievedWithItsDate(t *testing.T) {
	d, key := remembered(t, chat.Private, 400, "服务器的管理密码放在哪里？", "在保险柜里，钥匙在罗成那儿。")
	m := New(d, utcDefaults(), zerolog.Nop())
	p := m.Build(t.Context(), about(key, "保险柜的钥匙在谁那里"))
	if len(p.Retrieved) < 2 || p.Stats.Retrieved != len(p.Retrieved) {
		t.Fatalf("recalled %v", p.Retrieved)
	}
	text := p.Text()
	want := "## [1] 用户 (2026-05-04):\n服务器的管理密码放在哪里？\n\n## [2] 助手 (2026-05-04):\n在保险柜里，钥匙在罗成那儿。\n\n## [3] "
	if !strings.Contains(text, want) || strings.Count(text, "在保险柜里") != 1 {
		t.Errorf("%.400s", text)
	}
	if again := m.Build(t.Context(), about(key, "保险柜的钥匙在谁那里")); again.Text() != text {
		t.Error("the same question leads to another prompt")
	}
	for _, smallTalk := range []string{"", "你好", "谢谢！", "ok", "！！！", "的了吗", "quantum entanglement"} {
		if p := m.Build(t.Context(), about(key, smallTalk)); len(p.Retrieved) != 0 {
			t.Errorf("%q recalls %v", smallTalk, p.Retrieved)
		}
	}
}

// No message is both in the recent part and among the retrieved ones, however large the recent part is.
func TestNothingComesTwice(t *testing.T) {
	d, key := remembered(t, chat.Private, 300, "钥匙在罗成那儿。")
	m := New(d, utcDefaults(), zerolog.Nop())
	for _, session := range []string{"s", ""} {
		r := about(key, "闲聊第 7 句说了什么？钥匙在谁那儿？天气如何？")
		r.ResumeID = session
		p := m.Build(t.Context(), r)
		if len(p.Retrieved) < 2 || len(p.History) < 10 {
			t.Fatalf("%d recalled, %d recent", len(p.Retrieved), len(p.History))
		}
		seen := map[int64]bool{}
		for _, x := range slices.Concat(p.Retrieved, p.History) {
			if seen[x.Seq] {
				t.Errorf("session %q: message %d comes twice", session, x.Seq)
			}
			seen[x.Seq] = true
		}
		for _, part := range [][]chat.Message{p.Retrieved, p.History} {
			if !slices.IsSortedFunc(part, func(a, b chat.Message) int { return int(a.Seq - b.Seq) }) {
				t.Error("not in order")
			}
		}
		if p.Stats.Tokens > Defaults().MaxTokens {
			t.Errorf("%d tokens", p.Stats.Tokens)
		}
	}
}

// A running process gets an older message once.
func TestARunningProcessGetsAnOlderMessageOnce(t *testing.T) {
	d, key := remembered(t, chat.Private, 300, "钥匙在罗成那儿。")
	m := New(d, utcDefaults(), zerolog.Nop())
	r := about(key, "钥匙在谁那儿？")
	r.Live, r.Seen = true, 1<<39
	p := m.Build(t.Context(), r)
	if len(p.Retrieved) == 0 || len(p.History) != 0 {
		t.Fatalf("%d recalled, %d recent", len(p.Retrieved), len(p.History))
	}
	if again := m.Build(t.Context(), r); len(again.Retrieved) != len(p.Retrieved) {
		t.Error("a preview counts as sent")
	}
	m.RecordSent(key, p, true)
	if again := m.Build(t.Context(), r); len(again.Retrieved) != 0 {
		t.Errorf("reminded again of %v", again.Retrieved)
	}
	m.RecordSent(key, Prompt{}, false) // a new process with a new session
	if again := m.Build(t.Context(), r); len(again.Retrieved) != len(p.Retrieved) {
		t.Errorf("a new process is reminded of %d messages", len(again.Retrieved))
	}
	m.RecordSent(key, p, true)
	m.RecordSent(key, Prompt{UseResume: true}, false) // a new process that resumes the session
	if again := m.Build(t.Context(), r); len(again.Retrieved) != 0 {
		t.Errorf("a session is reminded again of %v", again.Retrieved)
	}
}

// A session knows the messages of its own turns, but not those before its first. Nothing is sent twice.
func TestASessionDoesNotGetItsOwnTurns(t *testing.T) {
	d, key := remembered(t, chat.Private, 300, "旧的钥匙在何佳那儿。")
	turn := func(session, said string) int64 {
		e := db.Inbound{
			Incoming: chat.Incoming{Key: key, Kind: chat.Private, ID: session + said, Text: said,
				Time: time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)}, Class: chat.Talk,
		}
		if _, err := d.Messages().Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		c, err := d.Turns().Claim(t.Context(), key, db.Start{Session: session, Prompt: "p"})
		if err != nil {
			t.Fatal(err)
		}
		end := db.TurnResult{
			Turn: c.Turn, State: convo.Done, Answer: strings.Repeat("好的。", 400), Session: db.Session{ID: session},
		}
		if err := d.Turns().Finish(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		return c.Turn.ID
	}
	turn("other", "备用的钥匙在沈一凡那儿。")
	last := turn("s", "新的钥匙在罗成那儿。")
	for i := range 8 {
		last = turn("s", fmt.Sprintf("别的事 %d", i))
	}
	for _, mode := range []Mode{Hybrid, Economy} {
		cfg := utcDefaults()
		cfg.Mode = mode
		r := about(key, "钥匙在谁那儿？")
		r.Verified, r.Seen = true, last
		p := New(d, cfg, zerolog.Nop()).Build(t.Context(), r)
		var recalled strings.Builder
		for _, m := range p.Retrieved {
			recalled.WriteString(m.Text)
		}
		if got := recalled.String(); !strings.Contains(got, "何佳") || !strings.Contains(got, "沈一凡") ||
			strings.Contains(got, "罗成") {
			t.Errorf("%s recalls %q", mode, got)
		}
	}
}

func TestRetrievalKeepsItsBudget(t *testing.T) {
	long := strings.Repeat("这一段讲的是别的事情。", 400) + "备用钥匙在罗成那儿。" + strings.Repeat("后面也是别的事情。", 400)
	d, key := remembered(t, chat.Private, 300, long, "备用钥匙有两把。")
	for _, budget := range []int{0, 1, 6, 50, 300, 1000, 5000} {
		cfg := utcDefaults()
		cfg.RecallChars = budget
		p := New(d, cfg, zerolog.Nop()).Build(t.Context(), about(key, "备用钥匙在谁那儿"))
		chars := 0
		for _, m := range p.Retrieved {
			chars += utf8.RuneCountInString(m.Text)
		}
		if chars > budget {
			t.Errorf("%d characters recalled within %d", chars, budget)
		}
		if text := p.Text(); budget >= 1000 &&
			(!strings.Contains(text, "备用钥匙在罗成那儿。") || !strings.Contains(text, "此处省略")) {
			t.Errorf("within %d characters the relevant part is missing", budget)
		}
	}
	if _, err := d.Search().Find(t.Context(), chat.FeishuChat("oc_none"), 0, []string{"x"}, 10); err != nil {
		t.Errorf("a chat that does not exist: %v", err)
	}
}

// The question itself is not retrieved, nor are messages that wait to be asked.
func TestTheQuestionIsNotRetrieved(t *testing.T) {
	d := storeChats(t)
	key := chat.FeishuChat("oc_1")
	var turns []int64
	for i, text := range []string{"钥匙在哪里", "办公室的钥匙是谁拿走的？", "备用的钥匙放在仓库还是前台？"} {
		e := db.Inbound{
			Incoming: chat.Incoming{Key: key, Kind: chat.Private, ID: fmt.Sprint(i), Text: text, Time: time.Now()},
			Class:    chat.Talk,
		}
		a, err := d.Messages().Accept(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Turns().Claim(t.Context(), key, db.Start{Session: "s", Prompt: "p", Resume: true})
		if err == nil {
			err = d.Turns().Finish(t.Context(), db.TurnResult{Turn: c.Turn, State: convo.Done})
		}
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, a.Turn)
	}
	m := New(d, utcDefaults(), zerolog.Nop())
	for i, turn := range turns {
		asked := []chat.Message{{Text: "钥匙在哪里", Time: time.Now().Add(time.Hour)}}
		list, err := m.startSearch(t.Context(), Request{Key: key, Turn: turn, Asked: asked}).retrieve(nothing, 5000)
		if err != nil || len(list) != i {
			t.Errorf("turn %d recalls %d messages, want %d (%v)", turn, len(list), i, err)
		}
	}
}

func TestSomebodyWhoIsNamedAndADayThatIsNamed(t *testing.T) {
	d, key := remembered(t, chat.Group, 100, "周报我写好了", "好的", "预算是三万", "收到")
	m := New(d, utcDefaults(), zerolog.Nop())
	r := about(key, "5月4日说了什么？")
	r.Kind = chat.Group
	list, err := m.startSearch(t.Context(), r).retrieve(nothing, 200)
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, x := range list {
		if x.Time.Format(time.DateOnly) != "2026-05-04" {
			t.Errorf("%v is from another day", x)
		}
	}
}
