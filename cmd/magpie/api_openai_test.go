package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/modelsim"
)

// openAI asks with OpenAI's client.
func (c client) openAI(base, what string) gjson.Result {
	c.Helper()
	script := filepath.Join("..", "..", "scripts", "openai", "ask.mjs")
	out, err := exec.CommandContext(c.Context(), "node", script, base, c.secret, what).Output()
	must(c, err)
	return gjson.ParseBytes(out)
}

func (c client) base() string { return "http://" + c.prog.http.Addr().String() + "/v1" }

// OpenAI's own client finds everything where it looks for it.
func TestTheClientOfOpenAI(t *testing.T) {
	r := newRig(t, withPages)
	c := r.token("app")
	if got := c.openAI(c.base(), "models"); got.Get("got.list.0").String() != "magpie" || got.Get("got.one").String() != "magpie" {
		t.Errorf("models: %s", got)
	}
	if got := c.openAI(c.base(), "whole"); got.Get("got.text").String() != "1 2 3" || got.Get("got.finish").String() != "stop" ||
		got.Get("got.usage.total_tokens").Int() == 0 {
		t.Errorf("whole: %s", got)
	}
	if got := c.openAI(c.base(), "stream"); got.Get("got.text").String() != "1 2 3 4" || got.Get("got.usage.total_tokens").Int() == 0 {
		t.Errorf("stream: %s", got)
	}
	if got := c.openAI(c.base(), "memory"); got.Get("got.text").String() != "1 2" {
		t.Errorf("memory: %s", got)
	} else if q := r.lastRequest(); !strings.Contains(q.AllText(), "我叫阿明") {
		t.Error("the agent does not know what was said before")
	}
	chats := func() int { return r.count(`SELECT COUNT(*) FROM chats WHERE key LIKE 'http:room:%'`) }
	before := chats()
	if got := c.openAI(c.base(), "rooms"); got.Get("got.2.text").String() != "1 2 3 4" || chats() != before+2 {
		t.Errorf("rooms: %s in %d chats", got, chats()-before)
	}
	wrong := client{r, "mgp_wrong", nil}
	if got := wrong.openAI(c.base(), "whole"); got.Get("status").Int() != http.StatusUnauthorized || got.Get("code").String() != "invalid_api_key" {
		t.Errorf("a wrong token: %s", got)
	}
}

// The client repeats on its own what was cut, before it was taken in or after: there is one turn, whose answer it gets.
func TestTheClientOfOpenAIIsCutOff(t *testing.T) {
	for _, what := range []string{"slowly", "slowly streamed"} {
		for when, taken := range map[string]bool{"before": false, "after": true} {
			t.Run(what+" "+when, func(t *testing.T) {
				r := newRig(t, withPages)
				c := r.token("app")
				rest := make(chan struct{})
				r.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Steps: []modelsim.Step{
					modelsim.Text("前半，"), modelsim.Hold(rest), modelsim.Text("后半。"),
				}})
				target, err := url.Parse("http://" + r.prog.http.Addr().String())
				must(t, err)
				forward := httputil.NewSingleHostReverseProxy(target)
				forward.FlushInterval = -1
				var requests atomic.Int32
				proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					if requests.Add(1) > 1 {
						// Otherwise a server that begins its answer closes the request's body, perhaps before the proxy
						// has seen its end, and then the proxy cuts the answer.
						must(t, http.NewResponseController(w).EnableFullDuplex())
						forward.ServeHTTP(w, q)
						return
					}
					if taken {
						again, err := http.NewRequestWithContext(t.Context(), q.Method, target.String()+q.URL.Path, q.Body)
						must(t, err)
						again.Header, again.ContentLength = q.Header.Clone(), q.ContentLength
						ended := make(chan struct{})
						go func() {
							defer close(ended)
							if resp, err := http.DefaultClient.Do(again); err == nil {
								_, _ = io.Copy(io.Discard, resp.Body)
								_ = resp.Body.Close()
							}
						}()
						defer func() { <-ended }() // its body is this request's
						r.until("the question", func() bool { return len(r.model.Requests()) == 1 })
					}
					conn, _, err := w.(http.Hijacker).Hijack()
					if err == nil {
						_ = conn.Close()
					}
				}))
				t.Cleanup(proxy.Close)
				go func() {
					r.until("the retry", func() bool { return requests.Load() == 2 && len(r.model.Requests()) == 1 })
					close(rest)
				}()
				if got := c.openAI(proxy.URL+"/v1", what); got.Get("got.text").String() != "前半，后半。" {
					t.Errorf("the client gets %s", got)
				}
				if n := r.count(`SELECT COUNT(*) FROM turns`); n != 1 || requests.Load() != 2 {
					t.Errorf("%d turns, %d requests", n, requests.Load())
				}
			})
		}
	}
}
