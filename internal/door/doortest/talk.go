package doortest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/modelsim"
)

// followUp asks in two chats at once: each knows what was said there, and there alone.
func followUp(t *testing.T, _ Door, s Service) {
	type talk struct {
		Room
		name, id string
	}
	talks := []talk{{Room: s.Open(1), name: "小明"}, {Room: s.Open(1), name: "小红"}}
	for _, text := range []string{"我叫%s", "我叫什么名字？"} {
		for i, c := range talks {
			talks[i].id = c.Say(Asker, strings.ReplaceAll(text, "%s", c.name))
		}
		for _, c := range talks {
			got := answer(t, s, c, c.id).Text
			if !strings.Contains(got, c.name) || strings.HasSuffix(text, "？") && got != "你叫"+c.name+"。" {
				t.Errorf("%s is answered %q", c.name, got)
			}
		}
	}
}

// stream looks at an answer that is not complete.
func stream(t *testing.T, _ Door, s Service) {
	r := s.Open(1)
	first, second := make(chan struct{}), make(chan struct{})
	script(s, "写三段", modelsim.Text("第一段。"), modelsim.Hold(first), modelsim.Text("第二段。"), modelsim.Hold(second),
		modelsim.Text("第三段。"))
	id := r.Say(Asker, "写三段")
	growing(t, s, r, id, "第一段。")
	close(first)
	growing(t, s, r, id, "第一段。第二段。")
	close(second)
	if got := answer(t, s, r, id).Text; got != "第一段。第二段。第三段。" {
		t.Errorf("the answer is %q", got)
	}
}

// growing waits until the answer to a message says something and is not complete.
func growing(t *testing.T, s Service, r Room, id, text string) Shown {
	t.Helper()
	return shown(t, s, r, id, text, func(c Shown) bool {
		_, stops := c.Offers(doStop)
		return strings.Contains(c.Text, text) && stops
	})
}

func stopByWord(t *testing.T, _ Door, s Service) {
	stopped(t, s, "说点什么", func(r Room, _ Shown) {
		if got := ask(t, s, r, "/stop"); got != "已停止" {
			t.Errorf("the reply is %q", got)
		}
	})
}

func stopByButton(t *testing.T, _ Door, s Service) {
	stopped(t, s, "讲个故事", func(r Room, card Shown) {
		press(t, r, card, doStop)
	})
}

// stopped stops an answer: what was said stays, and the next question is answered.
func stopped(t *testing.T, s Service, question string, stop func(Room, Shown)) {
	t.Helper()
	r := s.Open(1)
	script(s, question, modelsim.Text("说到一半"), modelsim.Hang())
	id := r.Say(Asker, question)
	card := growing(t, s, r, id, "说到一半")
	stop(r, card)
	if got := answer(t, s, r, id); !strings.Contains(got.Text, "说到一半") ||
		!strings.Contains(got.Looks[len(got.Looks)-1], "已停止") {
		t.Errorf("the card says %q", got.Text)
	}
	if got := ask(t, s, r, "数到 3"); got != "1 2 3" {
		t.Errorf("the next answer is %q", got)
	}
	action, _ := card.Offers(doStop)
	if got, err := r.Press(Asker, card, action); err == nil && !strings.Contains(got, "已经结束") {
		t.Errorf("who stops it again is told %q", got)
	}
}

// press presses a button of a card.
func press(t *testing.T, r Room, on Shown, do string) {
	t.Helper()
	action, ok := on.Offers(do)
	if !ok {
		t.Fatalf("no button %q: %+v", do, on)
	}
	if _, err := r.Press(Asker, on, action); err != nil {
		t.Fatalf("pressed %q: %v", do, err)
	}
}

// newConversation begins a new conversation, which knows nothing of the one before.
func newConversation(t *testing.T, _ Door, s Service) {
	r := s.Open(1)
	ask(t, s, r, "我叫小白白")
	ask(t, s, r, "/new")
	if got := ask(t, s, r, "我叫什么名字？换一个对话"); strings.Contains(got, "小白白") {
		t.Errorf("the answer is %q", got)
	}
	for _, q := range s.Model().Requests() {
		if asksFor("换一个对话")(&q) && strings.Contains(q.AllText(), "小白白") {
			t.Errorf("the model was told %q", q.AllText())
		}
	}
}

// long asks for a long answer, all of which is shown once and in order.
func long(t *testing.T, _ Door, s Service) {
	const paragraphs = 600
	var text strings.Builder
	for i := range paragraphs {
		fmt.Fprintf(&text, "第 %d 段：鹊桥相会，金风玉露一相逢，便胜却人间无数。\n\n", i)
	}
	script(s, "写长一点", modelsim.Chunks(text.String(), 500, 0))
	r := s.Open(1)
	id := r.Say(Asker, "写长一点")
	var all string
	await(t, s, "the answer", func() bool {
		list := r.Answers(id)
		all = ""
		for _, part := range list {
			all += part.Text + "\n\n"
		}
		return strings.Contains(all, fmt.Sprintf("第 %d 段", paragraphs-1)) &&
			!slices.ContainsFunc(list, func(c Shown) bool { return !c.ended() })
	})
	last := -1
	for i := range paragraphs {
		paragraph := fmt.Sprintf("第 %d 段：", i)
		at := strings.Index(all, paragraph)
		if n := strings.Count(all, paragraph); n != 1 || at < last {
			t.Fatalf("%q is shown %d times, at %d after %d", paragraph, n, at, last)
		}
		last = at
	}
}

// redelivery brings a message again while it is answered, and after that: it is answered once.
func redelivery(t *testing.T, _ Door, s Service) {
	r, rest := s.Open(1), make(chan struct{})
	const question = "只说一次"
	script(s, question, modelsim.Text("好"), modelsim.Hold(rest), modelsim.Text("的。"))
	id := r.Say(Asker, question)
	growing(t, s, r, id, "好")
	r.Again(id)
	close(rest)
	answer(t, s, r, id)
	r.Again(id)
	ask(t, s, r, "数到 4") // after it, since a chat's questions are answered in order
	if list := r.Answers(id); len(list) != 1 || list[0].Text != "好的。" || asked(s, question) != 1 {
		t.Errorf("answered with %+v, the model was asked %d times", list, asked(s, question))
	}
}

// approval has an agent ask for permission: only who asked decides, once, and only by the button that there is.
func approval(t *testing.T, d Door, s Service) {
	r, other := s.Open(1), s.Open(1)
	if d.Several {
		r = s.Open(2)
	}
	id, card := asksPermission(t, s, r, "一")
	_, foreign := asksPermission(t, s, other, "二")
	allow, _ := card.Offers(doAllow)
	theirs, _ := foreign.Offers(doAllow)
	number, hash, _ := strings.Cut(allow.ID, ".")
	with := func(change func(*chat.Action)) chat.Action {
		a := allow
		change(&a)
		return a
	}
	old := answer(t, s, other, other.Say(Asker, "/status"))
	for name, forged := range map[string]struct {
		room   Room
		on     Shown
		action chat.Action
	}{
		"an unknown request":        {r, card, with(func(a *chat.Action) { a.ID = "3f0b5a52-7f3c-4d52-9a52-000000000000." + hash })},
		"another token":             {r, card, with(func(a *chat.Action) { a.ID = number + ".0123456789abcdef" })},
		"no token":                  {r, card, with(func(a *chat.Action) { a.ID = number })},
		"another turn":              {r, card, with(func(a *chat.Action) { a.Turn += 1000 })},
		"a request of another chat": {r, card, theirs},
		"from another chat":         {other, foreign, allow},
		"from another message":      {other, old, allow},
	} {
		if got, err := forged.room.Press(Asker, forged.on, forged.action); err == nil && !strings.Contains(got, "已失效") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if d.Several {
		for _, by := range []Person{Member, Stranger} {
			if got, err := r.Press(by, card, allow); err == nil && !strings.Contains(got, "只有提问的人") &&
				!strings.Contains(got, "你不能使用") {
				t.Errorf("person %d is told %q", by, got)
			}
		}
	}
	if ran := runs(t, s, "一") + runs(t, s, "二"); ran != 0 {
		t.Fatalf("commands ran %d times without permission", ran)
	}
	press(t, other, foreign, doRefuse)
	press(t, r, card, doAllow)
	await(t, s, "the end", func() bool {
		return slices.ContainsFunc(r.Answers(id), func(c Shown) bool { return c.ended() && c.Text == "做完了一" })
	})
	if got, err := r.Press(Asker, card, allow); err == nil && !strings.Contains(got, "已经处理过") &&
		!strings.Contains(got, "已失效") {
		t.Errorf("who allows it again is told %q", got)
	}
	if one, two := runs(t, s, "一"), runs(t, s, "二"); one != 1 || two != 0 {
		t.Errorf("the allowed command ran %d times, the refused one %d times", one, two)
	}
}

// asksPermission has an agent ask for a command that adds a line to a file of its project.
func asksPermission(t *testing.T, s Service, r Room, name string) (id string, card Shown) {
	t.Helper()
	question := "动手吧" + name
	s.Model().Script(
		modelsim.Rule{
			Match: func(q *modelsim.Request) bool { return AfterTool(q) && strings.Contains(q.AllText(), question) },
			Steps: []modelsim.Step{modelsim.Text("做完了" + name)},
		},
		modelsim.Rule{Match: asksFor(question), Steps: []modelsim.Step{runOnce(name)}})
	id = r.Say(Asker, question)
	await(t, s, "a request for permission", func() bool {
		i := slices.IndexFunc(r.Answers(id), func(c Shown) bool {
			_, asks := c.Offers(doAllow)
			if asks {
				card = c
			}
			return asks
		})
		return i >= 0
	})
	return id, card
}

// runOnce is a call of a tool that leaves a trace in the project each time it runs.
func runOnce(name string) modelsim.Step {
	return modelsim.Tool("Bash", map[string]string{"command": "echo run >> " + name + ".txt", "description": "试一试"})
}

// runs counts how often a command of [runOnce] has run.
func runs(t *testing.T, s Service, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Project(), name+".txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	return bytes.Count(data, []byte("run\n"))
}

// file has an agent send a file.
func file(t *testing.T, d Door, s Service) {
	if !d.Files {
		t.Skip("people get no files at this door")
	}
	r, data := s.Open(1), []byte("%PDF-1.7 words")
	if err := os.WriteFile(filepath.Join(s.Project(), "报告.pdf"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	script(s, "把报告发来", modelsim.Tool("mcp__magpie__send_file", map[string]any{"path": "报告.pdf"}))
	id := r.Say(Asker, "把报告发来")
	await(t, s, "the file and the answer", func() bool {
		list := r.Answers(id)
		return len(list) == 2 && !slices.ContainsFunc(list, func(c Shown) bool { return !c.ended() })
	})
	if !slices.ContainsFunc(r.Answers(id), func(c Shown) bool { return bytes.Equal(c.Data, data) }) {
		t.Errorf("shown %+v", r.Answers(id))
	}
}
