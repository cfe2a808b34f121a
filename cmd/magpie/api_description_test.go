package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/tidwall/gjson"

	"magpie/bridge/budget"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/modelsim"
)

// described sends requests to the API, and checks them and what comes back against its description.
type described struct {
	*rig
	router routers.Router
	secret string
	seen   map[string]bool // operations with their statuses
}

func (d described) call(method, path, body string) (text string) {
	d.Helper()
	q, err := http.NewRequestWithContext(d.Context(), method, path, strings.NewReader(body))
	must(d, err)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+d.secret)
	route, params, err := d.router.FindRoute(q)
	must(d, err)
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	in := &openapi3filter.RequestValidationInput{Request: q, PathParams: params, Route: route, Options: options}
	wrong := openapi3filter.ValidateRequest(d.Context(), in)

	base, err := url.Parse("http://" + d.prog.http.Addr().String())
	must(d, err)
	q.URL, q.Host = base.ResolveReference(q.URL), ""
	q.Body = io.NopCloser(strings.NewReader(body))
	resp, err := http.DefaultClient.Do(q)
	must(d, err)
	defer resp.Body.Close() //nolint:errcheck // only read
	var data []byte
	if options.ExcludeResponseBody = strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"); options.ExcludeResponseBody {
		data = make([]byte, 1<<16) // it does not end
		n, err := io.ReadAtLeast(resp.Body, data, 100)
		must(d, err)
		data = data[:n]
	} else {
		data, err = io.ReadAll(resp.Body)
		must(d, err)
	}
	if (wrong != nil) != (resp.StatusCode == http.StatusBadRequest) && resp.StatusCode != http.StatusNotFound {
		d.Errorf("%s %s %s: %s, and by the description %v", method, path, body, resp.Status, wrong)
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(data)), Options: options,
	}
	if err := openapi3filter.ValidateResponse(d.Context(), out); err != nil {
		d.Errorf("%s %s %s: %v", method, path, body, err)
	}
	d.seen[method+" "+route.Path+" "+strconv.Itoa(resp.StatusCode)] = true
	return string(data)
}

// What the API answers is what its description says, and whatever that says happens, but for a database that is away.
func TestTheAPIIsAsDescribed(t *testing.T) {
	r := newRig(t, withPages)
	doc, err := openapi3.NewLoader().LoadFromData(api.Description)
	must(t, err)
	must(t, doc.Validate(context.Background()))
	router, err := legacy.NewRouter(doc)
	must(t, err)
	one, two := r.token("one"), r.token("two")
	d := described{r, router, one.secret, map[string]bool{}}
	theirs := described{r, router, two.secret, d.seen}
	stranger := described{r, router, "mgp_wrong", d.seen}

	const asks = `{"model": "magpie", "messages": [{"role": "user", "content": "数到 3"}]}`
	d.call("POST", "/v1/chat/completions", asks)
	d.call("POST", "/v1/chat/completions", `{"model": "magpie", "messages": []}`)
	d.call("POST", "/v1/chat/completions", `{"model": "gpt-5", "messages": []}`)
	stranger.call("POST", "/v1/chat/completions", asks)
	d.call("GET", "/v1/models", "")
	stranger.call("GET", "/v1/models", "")
	d.call("GET", "/v1/models/magpie", "")
	d.call("GET", "/v1/models/gpt-5", "")

	room := "/api/chats/" + gjson.Get(d.call("POST", "/api/chats", `{"name": "a"}`), "chat").String()
	d.call("POST", "/api/chats", `[]`)
	stranger.call("POST", "/api/chats", `{}`)
	r.calls(bash(appendLine("out.txt")), modelsim.Text("好。"))
	d.call("POST", room+"/messages", `{"text": "写一个文件"}`)
	d.call("POST", room+"/messages", `{"words": "x"}`)
	theirs.call("POST", room+"/messages", `{"text": "x"}`)
	r.until("the request", func() bool {
		return r.count(`SELECT COUNT(*) FROM approvals WHERE state = 'waiting' AND card_id <> ''`) == 1
	})
	var event gjson.Result
	r.until("its card", func() bool {
		for line := range strings.Lines(d.call("GET", room+"/events", "")) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && gjson.Get(data, "asks").Bool() {
				event = gjson.Parse(data)
			}
		}
		return event.Get("buttons.0").Exists()
	})
	theirs.call("GET", room+"/events", "")
	must(t, r.store().Programs().AddFile(t.Context(), roomKey(room), "1-a.txt", []byte("words")))
	if got := d.call("GET", room+"/files/1-a.txt", ""); got != "words" {
		t.Errorf("a file: %q", got)
	}
	theirs.call("GET", room+"/files/1-a.txt", "")
	if err := doc.Components.Schemas["Event"].Value.VisitJSON(event.Value()); err != nil {
		t.Errorf("%s: %v", event.Raw, err)
	}
	refuse := event.Get(`buttons.#(action.do=="refuse").action`).Raw
	press := `{"card": "` + event.Get("id").String() + `", "action": ` + refuse + `}`
	theirs.call("POST", room+"/presses", press)
	d.call("POST", room+"/presses", `{"card": 1}`)
	d.call("POST", room+"/presses", press)
	d.call("POST", room+"/stop", "")
	theirs.call("POST", room+"/stop", "")
	r.until("the end", func() bool { return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0 })
	d.call("GET", room+"/messages", "")
	theirs.call("GET", room+"/messages", "")

	must(t, r.store().Schedules().Make(t.Context(), roomKey(room), schedules.Change{Is: schedules.Schedule{
		Key: roomKey(room), Number: 1, State: schedules.Active, Task: "x", Name: "ci",
	}}))
	caller := described{r, router, r.tokenFor("caller", schedules.Schedule{Key: roomKey(room), Number: 1}.Ref()).secret, d.seen}
	caller.call("POST", "/api/triggers/ci", `"`+strings.Repeat("x", 17<<20)+`"`)
	caller.call("POST", "/api/triggers/ci", `{"a": 1}`)
	d.call("POST", "/api/triggers/ci", `{"a": 1}`)
	r.sql(`UPDATE schedules SET state = 'paused'`)
	caller.call("POST", "/api/triggers/ci", `{"a": 1}`)
	r.sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
		INSERT INTO calls (chat_key, number, id, file, called_at) SELECT s.chat_key, s.number, 'call ' || i, '', 0 FROM schedules s, n`)
	caller.call("POST", "/api/triggers/ci", `{"a": 1}`)

	r.setBudget(budget.Limits{UserDayUSD: 0.000001})
	d.call("POST", "/v1/chat/completions", asks)
	r.sql(`UPDATE grants SET state = 'ignored' WHERE subject LIKE 'http:%'`)
	d.call("POST", "/v1/chat/completions", asks)
	d.call("POST", room+"/presses", press)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				if operation := method + " " + path + " " + status; status != "503" && !d.seen[operation] {
					t.Errorf("%s is described and was not seen", operation)
				}
			}
		}
	}
}

// roomKey is the chat at an address.
func roomKey(path string) chat.Key {
	key, _ := chat.ParseKey(strings.TrimPrefix(path, "/api/chats/"))
	return key
}
