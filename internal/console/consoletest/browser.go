// Package consoletest drives the playground's page in a headless Chromium.
//
// Tests define what the page must show.
package consoletest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	patience = 5 * time.Minute  // for one condition or action on the page, and for the browser to start
	life     = 20 * time.Minute // of a browser
)

// Browser is a page in a headless Chromium of its own.
type Browser struct {
	t        *testing.T
	ctx      context.Context
	patience time.Duration

	mu         sync.Mutex
	complaints []string // exceptions, and what the browser itself logs as an error, such as violations of the policy
}

// Browse opens a page in Chinese.
func Browse(t *testing.T, url string) *Browser {
	t.Helper()
	return BrowseIn(t, url, "zh-CN")
}

// BrowseIn opens a page in a browser of this language.
func BrowseIn(t *testing.T, url, language string) *Browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium: ./scripts/test installs it")
	}
	// Without the sandbox, because tests also run as root and in containers, where it cannot be set up.
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WindowSize(1440, 900),
		chromedp.WSURLReadTimeout(patience), chromedp.Flag("lang", language), chromedp.Flag("accept-lang", language)}
	for _, flag := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync",
		"disable-dev-shm-usage",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, cancel := context.WithTimeout(t.Context(), life)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, closePage := chromedp.NewContext(ctx)
	t.Cleanup(closePage)
	b := &Browser{t: t, ctx: ctx, patience: patience}
	if err := chromedp.Listen(ctx, b.onEvent); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate(url))
	return b
}

// Do performs actions.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if _, err := bounded(b, chromedp.Steps(steps...)); err != nil {
		b.t.Fatal(err)
	}
}

// bounded performs an action, and gives up if the browser does not respond.
func bounded[T any](b *Browser, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeoutCause(b.ctx, b.patience,
		fmt.Errorf("the browser has not done it within %s", b.patience))
	defer cancel()
	out, err := chromedp.Run(ctx, action)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// Until waits for a JavaScript expression to be true and returns its value.
func (b *Browser) Until(expression string) string {
	b.t.Helper()
	v, err := b.until(expression, b.patience)
	if err != nil {
		b.t.Fatalf("until %s: %v\npage: %s", expression, err, b.Eval(`document.body.innerText`))
	}
	return v
}

func (b *Browser) until(expression string, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	// By itself and not by chromedp.Poll, which the page's policy stops as it compiles code from a string. Not at each
	// frame: the browser would draw all the time.
	script := `new Promise(found => { const look = () => {
		const v = (() => { try { return ` + expression + ` } catch { return null } })();
		if (v) found(String(v)); else setTimeout(look, 40);
	}; look(); })`
	return chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
}

// ClickUntil clicks the match of a CSS selector until a JavaScript expression is true: in a card that grows, what was
// under the pointer may have moved.
func (b *Browser) ClickUntil(selector, expression string) {
	b.t.Helper()
	for range 5 {
		ctx, cancel := context.WithTimeout(b.ctx, b.patience/10)
		_ = chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector))) // it may be gone if the previous click was a hit
		cancel()
		if _, err := b.until(expression, b.patience/10); err == nil {
			return
		}
	}
	b.Until(expression)
}

// Screen sets the size of the page in pixels, and a light or a dark theme.
func (b *Browser) Screen(width, height int64, theme string) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(width, height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

// Type waits for the match of a CSS selector, and presses keys there. Not chromedp.SendKeys, which reads the attributes
// of what it types into while they change: a data race in 0.22.1.
func (b *Browser) Type(selector, keys string) {
	b.t.Helper()
	b.Until(fmt.Sprintf(`(found => found && (found.focus(), document.activeElement === found))(document.querySelector(%q))`,
		selector))
	b.Do(chromedp.KeyEvent(keys))
}

// Press waits for a match of a CSS selector, and presses the last one: in a chat that grows it may move away from under
// a pointer.
func (b *Browser) Press(selector string) {
	b.t.Helper()
	const press = `(found => found && (found.click(), true))([...document.querySelectorAll(%q)].at(-1))`
	b.Until(fmt.Sprintf(press, selector))
}

// PressIn waits until the last of some elements that shows words contains a match of a CSS selector, and presses that.
// A button that was pressed a moment ago may still be there, in another element.
func (b *Browser) PressIn(elements, words, selector string) {
	b.t.Helper()
	b.Until(fmt.Sprintf(`(found => found && (found.click(), true))(
		[...document.querySelectorAll(%q)].filter(e => e.textContent.includes(%q)).at(-1).querySelector(%q))`,
		elements, words, selector))
}

// axe is the source of axe-core, as scripts/axe pins it, from the folder of a package that is two levels deep.
var axe = filepath.Join("..", "..", "scripts", "axe", "node_modules", "axe-core", "axe.min.js")

// RefuteBarriers fails the test if axe-core finds accessibility problems on the current page, at the screen that where
// names: serious or critical findings.
func (b *Browser) RefuteBarriers(where string) {
	b.t.Helper()
	if b.Eval(`typeof axe`) == "undefined" {
		source, err := os.ReadFile(axe)
		if err != nil {
			b.t.Skipf("no axe-core: ./scripts/test installs it (%v)", err)
		}
		b.Eval(`(() => { ` + string(source) + ` })()`)
	}
	found := b.Eval(`axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations
		.filter(v => v.impact === 'serious' || v.impact === 'critical')
		.map(v => v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 4).map(n => '  ' + n.html.slice(0, 160) + ' ' +
			n.any.map(c => c.message).join('; ')).join('\n')).join('\n'))`)
	if found != "" {
		b.t.Errorf("%s: %s", where, found)
	}
}

// Eval is a JavaScript expression's value as a string, or that of its promise.
func (b *Browser) Eval(expression string) string {
	b.t.Helper()
	v, err := b.eval(expression)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (b *Browser) eval(expression string) (string, error) {
	return bounded(b, chromedp.Evaluate[string](`Promise.resolve(`+expression+`).then(String)`, chromedp.EvalAwaitPromise))
}

// Picture is the element matching a CSS selector, as PNG.
func (b *Browser) Picture(selector string) []byte {
	b.t.Helper()
	data, err := bounded(b, chromedp.Screenshot(chromedp.CSS(selector)))
	if err != nil {
		b.t.Fatalf("picture of %s: %v", selector, err)
	}
	return data
}

// onEvent collects what the page complains about; a test fails on any of it.
func (b *Browser) onEvent(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.complaints = append(b.complaints, e.Entry.Text)
		}
	}
}

// RefuteComplaints fails the test if the page's own code went wrong.
func (b *Browser) RefuteComplaints() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.t.Errorf("the page complains: %q", b.complaints)
	}
}
