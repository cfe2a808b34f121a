package contextmgr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// memoryRig is a manager with the memories of one chat.
type memoryRig struct {
	*testing.T
	d   *db.DB
	key chat.Key
	m   *contextmgr.Manager
}

func newMemoryRig(t *testing.T, change ...func(*contextmgr.Config)) *memoryRig {
	t.Helper()
	d, key := store(t, 2)
	cfg := contextmgr.Defaults()
	for _, f := range change {
		f(&cfg)
	}
	return &memoryRig{T: t, d: d, key: key, m: contextmgr.New(d, cfg, zerolog.Nop())}
}

func (m *memoryRig) save(x db.Memory) db.Memory {
	m.Helper()
	x.Key = m.key
	x, err := m.d.Memories().Save(m.Context(), x, db.Change{Who: "ou_1", Why: "test"})
	if err != nil {
		m.Fatal(err)
	}
	return x
}

// asked is what a prompt contains when a question is asked.
func (m *memoryRig) asked(question string, change ...func(*contextmgr.Request)) []contextmgr.Memory {
	r := contextmgr.Request{
		Key: m.key, Kind: chat.Private, Turn: 2, Asked: []chat.Message{{Text: question, Actor: chat.Actor{ID: "ou_1"}}},
	}
	for _, f := range change {
		f(&r)
	}
	m.m.Build(m.Context(), r) // a preview of the prompt, not sent
	p := m.m.Build(m.Context(), r)
	m.m.RecordSent(m.key, p, r.Live)
	return p.Memories
}

func titles(list []contextmgr.Memory) string {
	var s []string
	for _, m := range list {
		s = append(s, m.Title)
	}
	return strings.Join(s, " ")
}

func live(r *contextmgr.Request) { r.Live = true }

func TestFewMemoriesAreAllInThePrompt(t *testing.T) {
	m := newMemoryRig(t)
	m.save(db.Memory{Title: "one", Text: "deploys are on Tuesday"})
	m.save(db.Memory{Title: "two", Text: "小明喜欢喝茶"})
	if got := titles(m.asked("what about the weather?")); got != "one two" {
		t.Errorf("told %q", got)
	}
}

func TestOnlyMemoriesOfTheScopeAreInThePrompt(t *testing.T) {
	m := newMemoryRig(t)
	m.save(db.Memory{Title: "all", Text: "x"})
	m.save(db.Memory{Title: "mine", Text: "x", Scope: db.UserScope, Of: "ou_1"})
	m.save(db.Memory{Title: "hers", Text: "x", Scope: db.UserScope, Of: "ou_2"})
	m.save(db.Memory{Title: "here", Text: "x", Scope: db.ProjectScope, Of: "/srv/a"})
	m.save(db.Memory{Title: "elsewhere", Text: "x", Scope: db.ProjectScope, Of: "/srv/b"})
	m.save(db.Memory{Title: "waiting", Text: "x", Proposed: true})
	inProject := func(project string) func(*contextmgr.Request) {
		return func(r *contextmgr.Request) { r.Project = project }
	}
	if got := titles(m.asked("?", inProject("/srv/a"))); got != "all mine here" {
		t.Errorf("told %q", got)
	}
	hers := func(r *contextmgr.Request) {
		r.Asked = append(r.Asked, chat.Message{Text: "?", Actor: chat.Actor{ID: "ou_2"}})
	}
	if got := titles(m.asked("?", inProject("/srv/b"), hers)); got != "all mine hers elsewhere" {
		t.Errorf("told both %q", got)
	}
	if got := titles(m.asked("?")); got != "all mine" {
		t.Errorf("without a project the prompt has %q", got)
	}
}

// With more memories than fit, those that are relevant to the question are chosen, in whatever language they are.
func TestRelevantMemoriesAreInThePrompt(t *testing.T) {
	m := newMemoryRig(t)
	tea := m.save(db.Memory{Title: "Tea", Text: "小明早上喝龙井茶，不加糖。", Keywords: []string{"tea", "drink", "茶", "饮料"}})
	m.save(db.Memory{
		Title: "Deploy", Text: "Deploys of the payment service go out on Tuesday at nine.",
		Keywords: []string{"release", "发布", "上线"},
	})
	for i := range 60 {
		m.save(db.Memory{Title: fmt.Sprintf("note %d", i), Text: fmt.Sprintf("第 %d 条随手记下的事情，和别的都没有关系，只是占个位置。", i)})
	}
	for question, want := range map[string]string{
		"他早上喝什么茶？": "Tea", "which drink does he like?": "Tea", "支付服务什么时候上线": "Deploy",
		"when is the next RELEASE?": "Deploy",
	} {
		got := m.asked(question)
		if !slices.ContainsFunc(got, func(x contextmgr.Memory) bool { return x.Title == want }) {
			t.Errorf("%s: told %q", question, titles(got))
		}
		runes := 0
		for _, x := range got {
			runes += utf8.RuneCountInString(x.Title + x.Text)
		}
		if runes > 1500 || runes < 1200 {
			t.Errorf("%s: %d runes in the prompt", question, runes)
		}
	}
	found, err := m.m.SearchMemories(t.Context(), contextmgr.Audience{Key: m.key}, "龙井 drink", 5)
	if err != nil || len(found) != 1 || found[0].ID != tea.ID {
		t.Errorf("found %+v, %v", found, err)
	}
}

// Five similar memories do not displace one that is unique.
func TestSimilarMemoriesComeLast(t *testing.T) {
	m := newMemoryRig(t, func(c *contextmgr.Config) { c.Memory.MaxChars = 120 })
	m.save(db.Memory{Title: "other", Text: "the server room password lies in the safe of the office"})
	for i := range 5 {
		m.save(db.Memory{Title: fmt.Sprint("same", i), Text: "the server password is changed every month"})
	}
	if got := titles(m.asked("server password")); got != "other same4" {
		t.Errorf("told %q", got)
	}
}

func TestALongMemoryIsCut(t *testing.T) {
	m := newMemoryRig(t)
	m.save(db.Memory{Title: "long", Text: strings.Repeat("字", 5000)})
	m.save(db.Memory{Title: "short", Text: "x"})
	got := m.asked("字字字")
	if len(got) != 1 || utf8.RuneCountInString(got[0].Title+got[0].Text) > 1500 ||
		!strings.HasSuffix(got[0].Text, "字…") {
		t.Errorf("told %d memories: %.30q", len(got), titles(got))
	}
	none := newMemoryRig(t, func(c *contextmgr.Config) { c.Memory.MaxChars = 0 })
	none.save(db.Memory{Text: "x"})
	if got := none.asked("x"); len(got) != 0 {
		t.Errorf("told %q", titles(got))
	}
}

// A running process gets each memory once; a new process gets all of them.
func TestARunningProcessGetsAMemoryOnce(t *testing.T) {
	m := newMemoryRig(t)
	a := m.save(db.Memory{Title: "a", Text: "x"})
	if got := titles(m.asked("?")); got != "a" {
		t.Errorf("a new process got %q", got)
	}
	if got := titles(m.asked("?", live)); got != "" {
		t.Errorf("told again: %q", got)
	}
	m.save(db.Memory{Title: "b", Text: "x"})
	if got := titles(m.asked("?", live)); got != "b" {
		t.Errorf("after a new memory, it got %q", got)
	}
	a.Text = "y"
	m.save(a)
	if got := titles(m.asked("?", live)); got != "a" {
		t.Errorf("after a change, it got %q", got)
	}
	if got := titles(m.asked("?")); got != "b a" && got != "a b" { // both have the same timestamp
		t.Errorf("a new process got %q", got)
	}
}

func TestMemoriesByMode(t *testing.T) {
	for mode, want := range map[contextmgr.Mode]string{
		contextmgr.Hybrid: "a", contextmgr.Database: "a", contextmgr.Economy: "a", contextmgr.Resume: "",
	} {
		m := newMemoryRig(t, func(c *contextmgr.Config) { c.Mode = mode })
		m.save(db.Memory{Title: "a", Text: "x"})
		if got := titles(m.asked("?", func(r *contextmgr.Request) { r.ResumeID = "s" })); got != want {
			t.Errorf("%s: told %q", mode, got)
		}
	}
}

// Memories that cannot be read do not delay an answer.
func TestWithoutMemoriesThereIsAnAnswer(t *testing.T) {
	m := newMemoryRig(t)
	m.save(db.Memory{Title: "a", Text: "x"})
	if err := m.d.Close(); err != nil {
		t.Fatal(err)
	}
	p := m.m.Build(t.Context(), contextmgr.Request{
		Key: m.key, Kind: chat.Private, Turn: 2, Asked: []chat.Message{{Text: "now"}},
	})
	if p.Current != "now" || p.Text() != "now" {
		t.Errorf("%+v", p)
	}
}

func TestATooSmallLimitForMemories(t *testing.T) {
	if err := (contextmgr.MemoryConfig{MaxChars: -1}).Validate(); err == nil {
		t.Error("a negative budget")
	}
	if err := contextmgr.MemoryDefaults().Validate(); err != nil {
		t.Error(err)
	}
}
