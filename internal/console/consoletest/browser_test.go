package consoletest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// page serves one page.
func page(t *testing.T, body string) *Browser {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>-</title>"+body)
	}))
	t.Cleanup(site.Close)
	return Browse(t, site.URL)
}

// The button of a request that was just decided is still visible when the next request is shown.
func TestPressInPressesTheButtonOfTheWordsAtHand(t *testing.T) {
	b := page(t, `<p>first <button onclick="document.title += 'first'">yes</button></p><p id=later>working</p>`)
	b.Eval(`requestAnimationFrame(() => requestAnimationFrame(() => { const p = document.querySelector('#later');
		p.textContent = 'second '; requestAnimationFrame(() => {
			const yes = document.createElement('button'); yes.onclick = () => { document.title += 'second'; }; p.append(yes); }); }))`)
	b.PressIn("p", "second", "button")
	if got := b.Eval(`document.title`); got != "-second" {
		t.Errorf("pressed: %s", got)
	}
}

// When the browser does not respond, the test fails with a message.
func TestABrowserThatDoesNotAnswerIsGivenUp(t *testing.T) {
	b := page(t, "")
	b.patience = 10 * time.Millisecond
	_, err := b.eval(`new Promise(() => {})`)
	if err == nil || !strings.Contains(err.Error(), "within 10ms") {
		t.Errorf("%v", err)
	}
}
