package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/workplace"
	"magpie/db/dbtest"
	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// client is a program that asks over HTTP.
type client struct {
	*rig
	secret string
	header http.Header
}

// token makes a program that may ask.
func (r *rig) token(name string) client { return r.tokenOf(programs.Token{Name: name}) }

// tokenFor makes a program that may start something, and nothing else.
func (r *rig) tokenFor(name, runs string) client {
	return r.tokenOf(programs.Token{Name: name, Runs: runs})
}

func (r *rig) tokenOf(like programs.Token) client {
	r.Helper()
	t, secret := api.NewToken(like)
	must(r, r.store().Programs().Add(r.Context(), t))
	return client{r, secret, http.Header{}}
}

// with is the program with another header.
func (c client) with(name, value string) client {
	c.header = c.header.Clone()
	c.header.Set(name, value)
	return c
}

// post asks; the messages are those of the user, with an answer after each but the last.
func (c client) post(ctx context.Context, stream bool, asked ...string) (*http.Response, error) {
	c.Helper()
	var messages []map[string]string
	for i, text := range asked {
		if i > 0 {
			messages = append(messages, map[string]string{"role": "assistant", "content": "..."})
		}
		messages = append(messages, map[string]string{"role": "user", "content": text})
	}
	return c.send(ctx, map[string]any{"model": "magpie", "messages": messages, "stream": stream})
}

func (c client) send(ctx context.Context, body any) (*http.Response, error) {
	c.Helper()
	data, err := json.Marshal(body)
	must(c, err)
	url := "http://" + c.prog.http.Addr().String() + "/v1/chat/completions"
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	must(c, err)
	q.Header = c.header.Clone()
	q.Header.Set("Authorization", "Bearer "+c.secret)
	return http.DefaultClient.Do(q)
}

// gets asks and returns the whole reply.
func (c client) gets(asked ...string) (status int, body string) {
	c.Helper()
	resp, err := c.post(c.Context(), false, asked...)
	return c.read(resp, err)
}

func (c client) read(resp *http.Response, err error) (status int, body string) {
	c.Helper()
	must(c, err)
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(resp.Body)
	must(c, err)
	return resp.StatusCode, string(data)
}

// answers asks and returns the answer.
func (c client) answers(asked ...string) string {
	c.Helper()
	status, body := c.gets(asked...)
	if status != http.StatusOK {
		c.Fatalf("%v: %d %s", asked, status, body)
	}
	return gjson.Get(body, "choices.0.message.content").String()
}

// later asks, and passes on the answer, or what went wrong.
func (c client) later(text string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		resp, err := c.post(c.Context(), false, text)
		if err != nil {
			answer <- err.Error()
			return
		}
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if said := gjson.GetBytes(data, "choices.0.message.content"); err == nil && said.Exists() {
			answer <- said.String()
			return
		}
		answer <- fmt.Sprintf("%d %s %v", resp.StatusCode, data, err)
	}()
	return answer
}

// streamed is what came in a stream: the text, and the events.
func (c client) streamed(resp *http.Response, err error) (text string, events []string) {
	c.Helper()
	status, body := c.read(resp, err)
	if status != http.StatusOK {
		c.Fatalf("%d %s", status, body)
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			events = append(events, data)
			text += gjson.Get(data, "choices.0.delta.content").String()
		}
	}
	return text, events
}

// A program asks, and goes on with what it has said before, as it or its user calls that.
func TestAProgramAsks(t *testing.T) {
	r := newRig(t, withPages)
	c, other := r.token("ci"), r.token("web")
	status, body := c.gets("我叫阿明")
	if status != http.StatusOK || gjson.Get(body, "usage.total_tokens").Int() == 0 ||
		gjson.Get(body, "usage.completion_tokens").Int() == 0 || gjson.Get(body, "choices.0.finish_reason").String() != "stop" {
		t.Fatalf("%d %s", status, body)
	}
	chats := func() int { return r.count(`SELECT COUNT(*) FROM chats WHERE key LIKE 'http:room:%'`) }
	prompts := func() string { q := r.lastRequest(); return q.AllText() }
	if text, events := c.streamed(c.post(t.Context(), true, "我叫阿明", "数到 3")); text != "1 2 3" ||
		events[len(events)-1] != "[DONE]" || len(events) < 4 {
		t.Errorf("streamed %q in %v", text, events)
	}
	if n := chats(); n != 1 || !strings.Contains(prompts(), "我叫阿明") {
		t.Errorf("a further question is in %d chats", n)
	}
	// What the program calls the chat counts more than what it says was said.
	room := c.with("X-Magpie-Room", "部署")
	room.answers("数到 4")
	if got := room.answers("数到 5"); got != "1 2 3 4 5" || chats() != 2 || !strings.Contains(prompts(), "数到 4") {
		t.Errorf("%q, %d chats", got, chats())
	}
	other.with("X-Magpie-Room", "部署").answers("数到 2")
	if chats() != 3 || strings.Contains(prompts(), "数到 4") {
		t.Errorf("another token is in the same chat, %d chats", chats())
	}
	for _, body := range []map[string]any{{"user": "u1"}, {"prompt_cache_key": "u1"}} {
		body["model"], body["messages"] = "magpie", []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "数到 2"}}}}
		before := chats()
		for range 2 {
			if status, answer := c.read(c.send(t.Context(), body)); status != http.StatusOK {
				t.Errorf("%d %s", status, answer)
			}
		}
		if chats() != before+1 {
			t.Errorf("%v: %d new chats", body, chats()-before)
		}
	}
	if got := c.with("X-Magpie-Room", "部署").answers("/new"); got == "" || strings.Contains(got, "/new") {
		t.Errorf("a command is answered with %q", got)
	}
}

// Pictures come with a question as OpenAI's API has them, and files by the plain API. Nothing is fetched for a program.
func TestAProgramSendsFiles(t *testing.T) {
	r := newRig(t, withPages, withFiles)
	c := r.token("ci").with("X-Magpie-Room", "r")
	picture := deliverytest.Picture(t)
	part := func(url string) any {
		return map[string]any{"model": "magpie", "messages": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": "这是什么？"}, map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}},
		}}}}
	}
	if status, body := c.read(c.send(t.Context(), part("data:image/png;base64,"+base64.StdEncoding.EncodeToString(picture)))); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if q := r.lastRequest(); !strings.Contains(string(q.Body), base64.StdEncoding.EncodeToString(picture)[:40]) && !strings.Contains(q.AllText(), "picture.png") {
		t.Errorf("the agent is told %s", q.AllText())
	}
	for _, url := range []string{"http://127.0.0.1/x.png", "file:///etc/passwd", "data:text/html;base64,PGI+", "data:image/png,x", "data:image/png;base64,%"} {
		if status, body := c.read(c.send(t.Context(), part(url))); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
	arrived := func() int { return r.count(`SELECT COUNT(*) FROM files WHERE state = 'here'`) }
	if n := arrived(); n != 1 {
		t.Errorf("%d pictures have arrived", n)
	}
	_, text := c.call(http.MethodPost, "/api/chats", `{"name": "r"}`)
	path := "/api/chats/" + gjson.Get(text, "chat").String() + "/messages"
	status, text := c.call(http.MethodPost, path, `{"files": [{"name": "../../报告.txt", "data": "`+base64.StdEncoding.EncodeToString([]byte("words"))+`"}], "text": "看一下"}`)
	if status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	if n := r.count(`SELECT COUNT(*) FROM chats WHERE key LIKE 'http:room:%'`); n != 1 {
		t.Errorf("a name is that of %d chats", n)
	}
	r.until("the file", func() bool { return arrived() == 2 })
	r.until("the answer", func() bool { return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 2 })
	if n := r.count(`SELECT COUNT(*) FROM files WHERE name = '报告.txt'`); n != 1 {
		t.Errorf("%d files have the name", n)
	}
	if status, text := c.call(http.MethodPost, path, `{"files": [{"name": "a.txt"}]}`); status != http.StatusBadRequest {
		t.Errorf("a file without data: %d %s", status, text)
	}

	// The same key and name of another program mean another file.
	other := r.token("web").with("Idempotency-Key", "1")
	c = c.with("Idempotency-Key", "1").with("X-Magpie-Room", "other")
	blue, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
	must(t, err)
	for n, who := range map[int]client{0: c, 1: other} {
		data := [][]byte{picture, blue}[n]
		if status, body := who.read(who.send(t.Context(), part("data:image/png;base64,"+base64.StdEncoding.EncodeToString(data)))); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		if q := r.lastRequest(); !strings.Contains(string(q.Body), base64.StdEncoding.EncodeToString(data)[:60]) {
			t.Errorf("the agent of program %d has another picture", n)
		}
	}
}

// While an answer takes long, something that means nothing is written. A whole answer comes after that, and the error of a turn
// that fails; a client that asks again gets that with its status. A token that is revoked meanwhile lets in nothing more.
func TestALongAnswerOfAProgram(t *testing.T) {
	r := newRig(t, withPages)
	r.prog.api.Every = 10 * time.Millisecond
	c := r.token("ci").with("X-Magpie-Room", "r")
	rest := make(chan struct{})
	long := modelsim.Rule{Match: asksFor("慢慢"), Times: 1, Steps: []modelsim.Step{modelsim.Hold(rest), modelsim.Text("说完了。")}}
	r.model.Script(long)
	// first reads the first byte of an answer, which is the rest's turn to come.
	first := func(c client) (*http.Response, string) {
		resp, err := c.post(t.Context(), false, "慢慢说")
		must(t, err)
		var head [3]byte
		_, err = io.ReadFull(resp.Body, head[:])
		must(t, err)
		return resp, string(head[:])
	}
	resp, head := first(c)
	close(rest)
	status, body := c.read(resp, nil)
	if head != "   " || status != http.StatusOK || gjson.Get(body, "choices.0.message.content").String() != "说完了。" {
		t.Errorf("%q, then %d %s", head, status, body)
	}
	for _, again := range []bool{false, true} {
		rest, c := make(chan struct{}), c
		if again {
			c = c.with("X-Stainless-Retry-Count", "0")
		}
		r.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Times: 1, Steps: []modelsim.Step{modelsim.Hold(rest), modelsim.Hang()}})
		resp, _ = first(c)
		c.answers("/stop")
		data, err := io.ReadAll(resp.Body)
		close(rest)
		if again != (err != nil) || !again && gjson.GetBytes(data, "error.message").String() == "" {
			t.Errorf("again %v: %s, %v", again, data, err)
		}
		if again {
			if status, body := c.with("X-Stainless-Retry-Count", "1").gets("慢慢说"); status != http.StatusUnprocessableEntity {
				t.Errorf("asked again: %d %s", status, body)
			}
		}
	}
	held := make(chan struct{})
	defer close(held)
	r.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Times: 1, Steps: []modelsim.Step{modelsim.Hold(held)}})
	resp, _ = first(c)
	must(t, r.store().Programs().Revoke(t.Context(), "ci"))
	if _, body := c.read(resp, nil); gjson.Get(body, "error.code").String() != "invalid_api_key" {
		t.Errorf("a revoked token gets %s", body)
	}
}

// A request that is marked as a retry of one that never arrived is a first one: it does not end up where the same was asked
// long ago.
func TestARetryOfWhatNeverArrived(t *testing.T) {
	r := newRig(t, withPages)
	c := r.token("ci")
	c.answers("数到 3")
	r.sql(`UPDATE shown SET seq = seq - 86400000`)
	c.with("X-Stainless-Retry-Count", "1").answers("数到 3")
	if n := r.count(`SELECT COUNT(*) FROM chats WHERE key LIKE 'http:room:%'`); n != 2 {
		t.Errorf("%d chats", n)
	}
}

// What was shown so long ago that it is deleted is answered from the History.
func TestAnOldAnswerOfAProgram(t *testing.T) {
	r := newRig(t, withPages)
	c := r.token("ci").with("Idempotency-Key", "nightly")
	if got := c.answers("数到 3"); got != "1 2 3" {
		t.Errorf("%q", got)
	}
	r.sql(`DELETE FROM shown`)
	if got := c.answers("数到 3"); got != "1 2 3" || len(r.model.Requests()) != 1 {
		t.Errorf("%q after %d requests", got, len(r.model.Requests()))
	}
}

// Requests that come at the same time in a chat have an answer each, though people's questions there are answered together.
func TestRequestsInAChatAtOnce(t *testing.T) {
	r := newRig(t, withPages)
	c, rest := r.token("ci").with("X-Magpie-Room", "r"), make(chan struct{})
	r.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Times: 1, Steps: []modelsim.Step{modelsim.Hold(rest), modelsim.Text("说完了。")}})
	got := map[string]<-chan string{"说完了。": c.later("慢慢说")}
	r.until("the first one", func() bool { return len(r.model.Requests()) == 1 })
	for text, want := range map[string]string{"数到 2": "1 2", "数到 3": "1 2 3", "数到 4": "1 2 3 4"} {
		got[want] = c.later(text)
	}
	r.until("the others", func() bool { return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) == 4 })
	_, room := c.call(http.MethodPost, "/api/chats", `{"name": "r"}`)
	if status, body := c.call(http.MethodPost, "/api/chats/"+gjson.Get(room, "chat").String()+"/messages", `{"text": "数到 5"}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	close(rest)
	for want, answer := range got {
		if text := <-answer; text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
	r.until("five answers", func() bool { return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 5 })
}

// A program that asks in a chat of people does not take over what waits there: people are asked what their question needs,
// and see its answer.
func TestQuestionsWaitForTheirOwnDoor(t *testing.T) {
	r := newRig(t, withPages)
	rest := make(chan struct{})
	r.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Times: 1, Steps: []modelsim.Step{modelsim.Hold(rest), modelsim.Text("说完了。")}},
		modelsim.Rule{Match: asksFor("动手"), Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
	r.sim.Say(r.chat, r.user, "慢慢说")
	r.until("the first one", func() bool { return len(r.model.Requests()) == 1 })
	asked := r.sim.Say(r.chat, r.user, "动手吧")
	waits := func(n int) func() bool {
		return func() bool { return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) == n }
	}
	r.until("the person's question", waits(2))
	answer := r.tokenOf(programs.Token{Name: "ci", Chat: chat.FeishuChat(r.chat).Room()}).later("数到 3")
	r.until("the program's question", waits(3))
	r.sim.Say(r.chat, r.user, "数到 2")
	r.until("another question", waits(4))
	close(rest)
	r.press(r.approval(r.chat, asked, 1), doAllow)
	if got := <-answer; got != "1 2 3" {
		t.Errorf("the program is answered %q", got)
	}
	r.checkRuns("out.txt", 1)
	r.until("the answers", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 4 && r.count(`SELECT COUNT(*) FROM outbox`) == 0
	})
	r.awaitMessage("1 2\n")
}

// Whoever is in [access] deny gets nothing at any address.
func TestADeniedProgram(t *testing.T) {
	r := newRig(t, withPages)
	c := r.token("ci")
	_, text := c.call(http.MethodPost, "/api/chats", `{"name": "r"}`)
	room := "/api/chats/" + gjson.Get(text, "chat").String()
	list, err := r.store().Programs().List(t.Context())
	must(t, err)
	r.setAccess(access.Config{Allow: []string{"*"}, Deny: []string{list[0].ID}})
	for _, q := range [][3]string{
		{http.MethodGet, room + "/messages"}, {http.MethodGet, room + "/events"}, {http.MethodPost, "/api/chats", `{}`}, {http.MethodGet, "/v1/models"},
		{http.MethodPost, "/v1/chat/completions", `{"model": "magpie-once", "messages": [{"role": "user", "content": "标题"}]}`},
	} {
		if status, body := c.call(q[0], q[1], q[2]); status != http.StatusForbidden {
			t.Errorf("%v: %d %s", q, status, body)
		}
	}
}

// Only the last question must be one that can be asked: what else is in a request may be what other models have said and got.
func TestWhatIsNotAskedIsNotRead(t *testing.T) {
	r := newRig(t, withPages)
	c := r.token("ci")
	ask := func(last string) (int, string) {
		return c.call(http.MethodPost, "/v1/chat/completions", `{"model": "magpie", "messages": [
			{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, {"type": "input_audio"}]},
			{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, {"role": "tool", "content": 1},
			{"role": "user", "content": `+last+`}]}`)
	}
	if status, body := ask(`"数到 3"`); status != http.StatusOK || gjson.Get(body, "choices.0.message.content").String() != "1 2 3" {
		t.Errorf("%d %s", status, body)
	}
	for _, last := range []string{`[{"type": "refusal"}]`, `1`, `[{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]`} {
		if status, body := ask(last); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", last, status, body)
		}
	}
}

// An answer whose last state waits to be shown is waited for.
func TestAnAnswerThatIsShownLate(t *testing.T) {
	r := newRig(t, withPages)
	late := dbtest.Trigger{Name: "late", On: "BEFORE UPDATE ON shown", If: `NEW.content LIKE '%"closed":true%'`}
	r.sql(late.Create())
	c, got := r.token("ci"), make(chan string, 1)
	go func() {
		resp, err := c.post(t.Context(), false, "数到 3")
		if err != nil {
			got <- err.Error()
			return
		}
		data, err := io.ReadAll(resp.Body)
		got <- fmt.Sprint(string(data), errors.Join(err, resp.Body.Close()))
	}()
	r.until("an attempt", func() bool {
		return r.count(`SELECT COUNT(*) FROM outbox WHERE attempts > 0`) == 1 && r.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1
	})
	r.sql(late.Drop())
	if body := <-got; gjson.Get(body, "choices.0.message.content").String() != "1 2 3" || gjson.Get(body, "usage.total_tokens").Int() == 0 {
		t.Errorf("%s", body)
	}
}

// What two programs send in the same chat is two messages, even under the same key.
func TestTwoProgramsInAChat(t *testing.T) {
	r := newRig(t, withPages)
	r.ask("你好")
	for i, of := range []string{"ci", "monitor"} {
		c := r.tokenOf(programs.Token{Name: of, Chat: chat.FeishuChat(r.chat).Room()}).with("Idempotency-Key", "2026-11-29")
		if got := c.answers(fmt.Sprintf("数到 %d", i+2)); got != []string{"1 2", "1 2 3"}[i] {
			t.Errorf("%s is answered %q", of, got)
		}
		path := "/api/chats/" + url.PathEscape(chat.FeishuChat(r.chat).String()) + "/"
		for _, what := range []string{"messages", "stop"} {
			if status, body := c.call(http.MethodPost, path+what, `{"text": "数到 4"}`); status != http.StatusAccepted {
				t.Errorf("%d %s", status, body)
			}
		}
	}
	r.until("the messages", func() bool { return r.count(`SELECT COUNT(*) FROM messages WHERE content = '数到 4'`) == 2 })
	r.until("the stops", func() bool { return r.count(`SELECT COUNT(*) FROM messages WHERE content = '/stop'`) == 2 })
}

// call sends a request to the plain API.
func (c client) call(method, path, body string) (status int, text string) {
	c.Helper()
	q, err := http.NewRequestWithContext(c.Context(), method, "http://"+c.prog.http.Addr().String()+path, strings.NewReader(body))
	must(c, err)
	maps.Copy(q.Header, c.header)
	q.Header.Set("Authorization", "Bearer "+c.secret)
	return c.read(http.DefaultClient.Do(q))
}

// The models are the agent, the agent in a project, and an answer without History and tools, which is paid for.
func TestTheModelsOfAProgram(t *testing.T) {
	folder := t.TempDir()
	r := newRig(t, withPages, func(c *config.Config) { c.Projects = map[string]workplace.Project{"app": {Path: folder}} })
	c := r.token("ci").with("X-Magpie-Room", "r")
	ask := func(model string, stream bool, messages ...any) (*http.Response, error) {
		return c.send(t.Context(), map[string]any{"model": model, "messages": messages, "stream": stream})
	}
	message := func(role, text string) any { return map[string]any{"role": role, "content": text} }
	_, list := c.call(http.MethodGet, "/v1/models", "")
	if got := gjson.Get(list, "data.#.id").String(); got != `["magpie","magpie-once","magpie/app"]` {
		t.Errorf("models: %s", got)
	}
	if status, body := c.call(http.MethodGet, "/v1/models/magpie/app", ""); status != http.StatusOK || gjson.Get(body, "id").String() != "magpie/app" {
		t.Errorf("%d %s", status, body)
	}
	c.answers("数到 3")
	if status, body := c.read(ask("magpie/app", false, message("user", "数到 4"))); status != http.StatusOK || gjson.Get(body, "model").String() != "magpie/app" {
		t.Errorf("%d %s", status, body)
	}
	if q := r.lastRequest(); strings.Contains(q.AllText(), "数到 3") || !strings.Contains(string(q.Body), folder) {
		t.Error("the chat in the project is the one outside")
	}
	turns := r.count(`SELECT COUNT(*) FROM turns`)
	r.model.Script(modelsim.Rule{Match: asksFor("标题"), Steps: []modelsim.Step{modelsim.Text("一个标题")}})
	status, body := c.read(ask("magpie-once", false, message("system", "You make titles."), message("user", "给这段对话一个标题")))
	if status != http.StatusOK || gjson.Get(body, "choices.0.message.content").String() != "一个标题" {
		t.Errorf("%d %s", status, body)
	}
	if q := r.lastRequest(); len(q.Tools) != 0 || strings.Contains(q.AllText(), "数到") || !strings.Contains(q.System, "You make titles.") {
		t.Errorf("asked once with the tools %v: %s", q.Tools, q.AllText())
	}
	if text, events := c.streamed(ask("magpie-once", true, message("user", "再给一个标题"))); text != "一个标题" || events[len(events)-1] != "[DONE]" {
		t.Errorf("%q %v", text, events)
	}
	if n := r.count(`SELECT COUNT(*) FROM turns`); n != turns || r.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'once' AND user_id LIKE 'http:%' AND tokens > 0`) != 2 {
		t.Errorf("%d turns instead of %d, or the cost is not booked", n, turns)
	}
	r.setBudget(budget.Limits{UserDayUSD: 0.000001})
	if status, body := c.read(ask("magpie-once", false, message("user", "第三个标题"))); status != http.StatusUnprocessableEntity {
		t.Errorf("with nothing left: %d %s", status, body)
	}
}

// A program that may not ask, or asks what nobody can answer, is told so, and nothing is stored.
func TestAProgramIsRefused(t *testing.T) {
	r := newRig(t, withPages, func(c *config.Config) { c.HTTP.PublicURL = "https://magpie.example.com" })
	c := r.token("ci")
	wrong := client{r, "mgp_wrong", http.Header{}}
	is := func(status int, body string, want int, code string) {
		t.Helper()
		if status != want || gjson.Get(body, "error.code").String() != code || gjson.Get(body, "error.message").String() == "" {
			t.Errorf("%d %s, want %d %s", status, body, want, code)
		}
	}
	status, body := wrong.gets("你好")
	is(status, body, http.StatusUnauthorized, "invalid_api_key")
	for code, request := range map[string]any{
		"model_not_found": map[string]any{"model": "gpt-5", "messages": []any{}},
		"invalid_request": map[string]any{"model": "magpie", "messages": []any{map[string]any{"role": "user", "content": " "}}},
	} {
		status, body := c.read(c.send(t.Context(), request))
		is(status, body, map[string]int{"model_not_found": 404, "invalid_request": 400}[code], code)
	}
	status, body = c.read(c.send(t.Context(), map[string]any{"model": "magpie", "messages": []any{map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "http://127.0.0.1/x"}}},
	}}}))
	is(status, body, http.StatusBadRequest, "invalid_request")
	must(t, r.store().Programs().Revoke(t.Context(), "ci"))
	status, body = c.gets("你好")
	is(status, body, http.StatusUnauthorized, "invalid_api_key")
	if n := r.count(`SELECT COUNT(*) FROM messages`); n != 0 || len(r.model.Requests()) != 0 {
		t.Errorf("%d messages are stored", n)
	}
	// What has no login is not served under the address for programs of other machines.
	for path, want := range map[string]int{"/metrics": 404, "/healthz": 404, "/readyz": 404, "/v1/models": 401, "/api/openapi.yaml": 200} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.prog.http.Addr().String()+path, nil)
		must(t, err)
		q.Host = "magpie.example.com"
		if status, body := c.read(http.DefaultClient.Do(q)); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// A client of OpenAI repeats a request on its own whose connection is cut. The agent works once.
func TestARetryJoinsTheTurn(t *testing.T) {
	for name, header := range map[string]string{"by the client's mark": "X-Stainless-Retry-Count", "by a key": "Idempotency-Key"} {
		for _, room := range []string{"", "r"} {
			t.Run(name+" in room "+room, func(t *testing.T) {
				r := newRig(t, withPages)
				c := r.token("ci")
				if room != "" {
					c = c.with("X-Magpie-Room", room)
				}
				rest := make(chan struct{})
				r.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Steps: []modelsim.Step{
					modelsim.Text("前半，"), modelsim.Hold(rest), modelsim.Text("后半。"),
				}})
				first, again := c, c.with(header, "1")
				if header == "Idempotency-Key" {
					first = again
				}
				ctx, cut := context.WithCancel(t.Context())
				resp, err := first.post(ctx, true, "慢慢说")
				must(t, err)
				var seen [1]byte
				for text := ""; !strings.Contains(text, "前半"); text += string(seen[:]) {
					_, err := io.ReadFull(resp.Body, seen[:])
					must(t, err)
				}
				cut()
				_ = resp.Body.Close()
				joined := make(chan string)
				go func() {
					defer close(joined) // also if that fails
					text, _ := again.streamed(again.post(t.Context(), true, "慢慢说"))
					joined <- text
				}()
				r.until("the retry", func() bool { return r.prog.api.Waiting() == 1 })
				close(rest)
				if got := <-joined; got != "前半，后半。" {
					t.Errorf("the retry gets %q", got)
				}
				if got, _ := again.streamed(again.post(t.Context(), true, "慢慢说")); got != "前半，后半。" {
					t.Errorf("after the end a retry gets %q", got)
				}
				if n := r.count(`SELECT COUNT(*) FROM turns`); n != 1 || len(r.model.Requests()) != 1 {
					t.Errorf("%d turns, %d requests", n, len(r.model.Requests()))
				}
				// The same words once more are another question.
				if got := c.answers("慢慢说"); header != "Idempotency-Key" && (got != "前半，后半。" || len(r.model.Requests()) != 2) {
					t.Errorf("%q, %d requests", got, len(r.model.Requests()))
				}
			})
		}
	}
}

// What an agent asks for is refused at once where nobody can decide: the program sees text only. It is tried again if that
// cannot be stored.
func TestNobodyDecidesForAProgram(t *testing.T) {
	r := newRig(t, withPages)
	c := r.token("ci")
	r.calls(bash(appendLine("out.txt")), modelsim.Text("那就算了。"))
	held := dbtest.Trigger{Name: "held", On: "BEFORE UPDATE OF state ON approvals", If: "NEW.state = 'refused'"}
	r.sql(held.Create())
	answer := c.later("写一个文件")
	r.awaitLog("a message or press over HTTP is not stored")
	r.sql(held.Drop())
	if got := <-answer; got != "那就算了。" {
		t.Errorf("answer: %q", got)
	}
	if r.project("out.txt") != "" {
		t.Error("the command ran")
	}
	if n := r.count(`SELECT COUNT(*) FROM approvals WHERE state = 'refused'`); n != 1 {
		t.Errorf("%d approvals are refused", n)
	}
}

// A turn that fails is an error after which a client does not ask again, also within a stream.
func TestAFailedTurnOfAProgram(t *testing.T) {
	r := newRig(t, withPages, func(c *config.Config) { c.Budget.UserDayUSD = 0.000001 })
	c := r.token("ci").with("X-Magpie-Room", "r")
	c.answers("数到 3") // after which nothing is left
	status, body := c.gets("数到 4")
	if status != http.StatusUnprocessableEntity || gjson.Get(body, "error.message").String() == "" {
		t.Errorf("%d %s", status, body)
	}
	// Why there is no answer is none, also while it is not stored yet that it was shown.
	held, streamed := dbtest.Trigger{Name: "held", On: "BEFORE DELETE ON outbox"}, make(chan *http.Response, 1)
	r.sql(held.Create())
	go func() {
		resp, _ := c.post(t.Context(), true, "数到 5")
		streamed <- resp
	}()
	r.until("that it is shown", func() bool {
		return r.count(`SELECT COUNT(*) FROM shown WHERE content LIKE '%"closed":true%' AND content LIKE '%额度%'`) == 2
	})
	r.sql(held.Drop())
	if status, body := c.read(<-streamed, nil); status != http.StatusUnprocessableEntity || gjson.Get(body, "error.message").String() == "" {
		t.Errorf("%d %s", status, body)
	}
	r.setBudget(budget.Limits{})
	r.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Steps: []modelsim.Step{modelsim.Text("前半，"), modelsim.Hang()}})
	resp, err := c.post(t.Context(), true, "慢慢说") // it returns with the first words: before them, a stop is no stream's
	c.answers("/stop")
	_, events := c.streamed(resp, err)
	if last := events[len(events)-1]; gjson.Get(last, "error.message").String() == "" || strings.Contains(last, "[DONE]") {
		t.Errorf("%v", events)
	}
}

// What is somebody else's is told like what is not there, and the plain API refuses in the same way whatever is wrong.
func TestAProgramSeesOnlyItsOwn(t *testing.T) {
	r := newRig(t, withPages)
	r.ask("数到 3")
	call := func(secret, method, path, body string) (status int, text string) {
		t.Helper()
		return client{rig: r, secret: secret}.call(method, path, body)
	}
	one, two := r.token("one"), r.token("two")
	status, text := call(one.secret, http.MethodPost, "/api/chats", `{"name": "a"}`)
	own := "/api/chats/" + gjson.Get(text, "chat").String()
	if _, again := call(one.secret, http.MethodPost, "/api/chats", `{"name": "a"}`); status != http.StatusOK || again != text {
		t.Fatalf("%d %s, then %s", status, text, again)
	}
	status, text = call(one.secret, http.MethodPost, own+"/messages", `{"text": "数到 4"}`)
	if status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	id := gjson.Get(text, "id").String()
	r.until("the answer", func() bool {
		_, text = call(one.secret, http.MethodGet, own+"/messages", "")
		return gjson.Get(text, "messages.#").Int() == 2
	})
	if gjson.Get(text, "messages.0.id").String() != id || gjson.Get(text, "messages.1.text").String() != "1 2 3 4" {
		t.Errorf("history: %s", text)
	}
	requests := map[string]string{"/messages": `{"text": "数到 5"}`, "/presses": `{"card": "x", "action": {"do": "stop"}}`, "/stop": `{}`}
	var missing string
	for _, chats := range []string{"/api/chats/http:room:x", "/api/chats/" + chat.FeishuChat(r.chat).String(), "/api/chats/x", own} {
		for path, body := range requests {
			status, text := call(two.secret, http.MethodPost, chats+path, body)
			if missing == "" {
				missing = text
			}
			if status != http.StatusNotFound || text != missing {
				t.Errorf("%s%s: %d %s, not %s", chats, path, status, text, missing)
			}
		}
		for _, path := range []string{"/messages", "/events", "/files/x"} {
			if status, text := call(two.secret, http.MethodGet, chats+path, ""); status != http.StatusNotFound || text != missing {
				t.Errorf("%s%s: %d %s, not %s", chats, path, status, text, missing)
			}
		}
	}
	for path, body := range map[string]string{"/messages": `{"text": " "}`, "/presses": `[]`, "/messages?": `x`} {
		if status, text := call(one.secret, http.MethodPost, own+path, body); status != http.StatusBadRequest || gjson.Get(text, "detail").String() == "" {
			t.Errorf("%s %s: %d %s", path, body, status, text)
		}
	}
	if status, text := call(one.secret, http.MethodPost, own+"/presses", `{"card": "om_x", "action": {"do": "stop", "turn": 1}}`); status != http.StatusNotFound {
		t.Errorf("a press on a card of Feishu: %d %s", status, text)
	}
	if status, _ := call("mgp_wrong", http.MethodPost, own+"/messages", `{"text": "x"}`); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", status)
	}
	if n := r.count(`SELECT COUNT(*) FROM turns`); n != 2 {
		t.Errorf("%d turns", n)
	}
}

// No address or name of the HTTP door reaches the chats of others: also if a program chooses it.
func TestAProgramStaysInItsRooms(t *testing.T) {
	r := newRig(t, withPages)
	r.ask("数到 3")
	c := r.token("ci")
	for _, name := range []string{r.chat, chat.FeishuChat(r.chat).String(), "http:room:x", "../x", "a\x00b", strings.Repeat("x", 5000)} {
		resp, err := c.with("X-Magpie-Room", strings.ReplaceAll(name, "\x00", "")).post(t.Context(), false, "数到 4")
		if status, body := c.read(resp, err); status != http.StatusOK {
			t.Errorf("%q: %d %s", name, status, body)
		}
		if q := r.lastRequest(); strings.Contains(q.AllText(), "数到 3") {
			t.Errorf("%q leads into a chat of Feishu", name)
		}
	}
	if n := r.count(`SELECT COUNT(*) FROM messages WHERE chat_key NOT LIKE 'http:room:%' AND chat_key <> '` + chat.FeishuChat(r.chat).String() + `'`); n != 0 {
		t.Errorf("%d messages are somewhere else", n)
	}
}
