// Package login logs the agent's CLI in for an admin who asks for it in a private chat, and keeps the codes of logins out
// of everything that is stored.
//
// It does not decide who may log in.
package login

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/bridge/workqueue"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// Patience is the timeout of a login, from the command to the code.
const Patience = 5 * time.Minute

// Reasons why a login ends without success.
var (
	errTime  = errors.New("no code was pasted in time")
	errEnded = errors.New("the login was cancelled")
)

// Logins lets an admin log the agent's CLI in from a private chat, one login at a time. The pasted code goes only to
// the CLI: it is in no log, no table and no prompt.
type Logins struct {
	Pool     *claude.Pool
	Out      delivery.Messenger
	Jobs     *workqueue.Queue // runs the login
	Log      zerolog.Logger
	Patience time.Duration // timeout of a login
	LoggedIn func()        // called after a login

	mu  sync.Mutex
	now *dialog // nil = no login in progress
}

// Step is what a message does to the login in progress; empty = nothing.
type Step string

// The steps of a login.
const (
	begin  Step = "begin"
	cancel Step = "cancel"
	code   Step = "code" // which is in the dialog alone, since no code is stored
)

// dialog is one login.
type dialog struct {
	key    chat.Key
	who    string
	to     chat.Ref // the message that requested it
	lang   i18n.Lang
	codes  chan string
	pasted map[string]string // the codes, by the ID of the message
	asked  bool              // the link was shown; the next message is the code
	cancel context.CancelCauseFunc
}

// Order is what the command /login with these arguments is answered with, and what it does once it is stored.
func (ls *Logins) Order(args string) (i18n.Phrase, Step) {
	switch strings.ToLower(args) {
	case "":
		if ls.IsRunning() {
			return i18n.LoginBusy, ""
		}
		return i18n.LoginBegun, begin
	case "cancel", "取消":
		if !ls.IsRunning() {
			return i18n.LoginNone, ""
		}
		return i18n.LoginCancelled, cancel
	}
	return i18n.LoginUsage, ""
}

// Take takes the step of a message that is stored, which was answered in that language.
func (ls *Logins) Take(s Step, m chat.Incoming, l i18n.Lang) {
	switch s {
	case begin:
		ls.start(m, l)
	case cancel:
		ls.finish()
	case code:
		ls.handCode(m.ID)
	}
}

// IsRunning reports whether a login is in progress.
func (ls *Logins) IsRunning() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.now != nil
}

// finish cancels the login in progress.
func (ls *Logins) finish() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.now != nil {
		ls.now.asked = false // the next message is talk again, even before the CLI has ended
		ls.now.cancel(errEnded)
	}
}

// start starts a login, unless one is in progress.
func (ls *Logins) start(m chat.Incoming, l i18n.Lang) {
	halt, leave := context.WithCancelCause(context.Background())
	t := &dialog{
		key: m.Key, who: m.Actor.ID, to: chat.Ref{Key: m.Key, ID: m.ID}, lang: l,
		codes: make(chan string, 1), pasted: map[string]string{}, cancel: leave,
	}
	ls.mu.Lock()
	// Checked again under the lock: the command's own check was made earlier.
	defer ls.mu.Unlock()
	if ls.now != nil {
		leave(nil)
		return
	}
	ls.now = t
	ls.Jobs.Enqueue(func(ctx context.Context) {
		defer leave(nil)
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer context.AfterFunc(halt, func() { end(context.Cause(halt)) })()
		ls.run(ctx, t)
	})
}

// run carries out a login and reports how it ended. The report is not stored: after a restart it would be wrong.
func (ls *Logins) run(ctx context.Context, t *dialog) {
	bounded, stop := context.WithTimeoutCause(ctx, ls.Patience, errTime)
	defer stop()
	said := 0
	say := func(text string) {
		said++
		idem := fmt.Sprintf("login:%s:%d", t.to.ID, said)
		if _, err := ls.Out.Reply(context.WithoutCancel(ctx), t.to, text, idem); err != nil {
			ls.Log.Error().Err(err).Msg("reply failed")
		}
	}
	err := ls.Pool.LogIn(bounded, t.key.String(), claude.Dialog{
		Link:  func(url string) { ls.expectCode(t); say(fmt.Sprintf(i18n.LoginLink.In(t.lang), url)) },
		Again: func() { ls.expectCode(t); say(i18n.LoginAgain.In(t.lang)) },
		Codes: t.codes,
	})
	ls.mu.Lock()
	ls.now = nil
	ls.mu.Unlock()
	ls.Log.Info().Err(err).Str("user", t.who).Msg("login of the agent ended")
	switch {
	case errors.Is(err, errEnded), ctx.Err() != nil && err != nil: // already reported, or a shutdown
	case err == nil:
		ls.LoggedIn()
		say(i18n.LoginDone.In(t.lang))
	case errors.Is(err, errTime):
		say(i18n.LoginLate.In(t.lang))
	case errors.Is(err, claude.ErrLoginOffline):
		say(i18n.LoginOffline.In(t.lang))
	case errors.Is(err, claude.ErrLoginRefused):
		say(i18n.LoginRefused.In(t.lang))
	default:
		say(i18n.LoginFailed.In(t.lang))
	}
}

// expectCode notes that the next message is the code.
func (ls *Logins) expectCode(t *dialog) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t.asked = true
}

// loginCode matches a message that is a login code. No question looks like this.
var loginCode = regexp.MustCompile(`^\s*[A-Za-z0-9_-]{20,}#[A-Za-z0-9_-]{20,}\s*$`)

// codeTaken replaces a message that was a code.
const codeTaken = "[login code]"

// codeAmong matches possible codes within a text. The part of a URL before its # contains a slash or a dot.
var codeAmong = regexp.MustCompile(`(^|[^A-Za-z0-9_#/.-])([A-Za-z0-9_-]{20,}#[A-Za-z0-9_-]{20,})`)

// WithoutCodes removes login codes from a text. Within a text, a code must mix digits, capitals and small letters: a
// URL with a fragment can be as long.
func WithoutCodes(text string) string {
	if loginCode.MatchString(text) {
		return codeTaken
	}
	if !strings.Contains(text, "#") {
		return text
	}
	return codeAmong.ReplaceAllStringFunc(text, func(found string) string {
		m := codeAmong.FindStringSubmatch(found)
		for _, letters := range []string{"0-9", "A-Z", "a-z"} {
			among := func(r rune) bool { return r >= rune(letters[0]) && r <= rune(letters[2]) }
			if !strings.ContainsFunc(m[2], among) {
				return found
			}
		}
		return m[1] + codeTaken
	})
}

// FormWithoutCodes returns a copy of the form values without login codes. It copies because others handle the same
// event.
func FormWithoutCodes(filled map[string][]string) map[string][]string {
	clean := maps.Clone(filled)
	for name, values := range filled {
		clean[name] = slices.Clone(values)
		for i, v := range values {
			clean[name][i] = WithoutCodes(v)
		}
	}
	return clean
}

// StripCode removes a login code from a message before anything else sees it; only the fact that there was one is
// stored. It returns what is said about the code, nil for other messages, and what the message does once it is stored.
// Anything that looks like a code is never stored, no matter who sends it and when.
func (ls *Logins) StripCode(m *chat.Incoming) (say func(i18n.Lang) string, s Step) {
	ls.mu.Lock()
	t := ls.now
	awaited := t != nil && t.asked && t.key == m.Key && t.who == m.Actor.ID && m.Unreadable == "" &&
		strings.IndexAny(strings.TrimSpace(m.Text), "/／") != 0
	text := m.Text
	if awaited {
		t.pasted[m.ID] = text
	}
	ls.mu.Unlock()
	switch {
	case awaited:
		m.Text, m.Files = codeTaken, nil
		return func(i18n.Lang) string { return i18n.LoginTaken.In(t.lang) }, code
	case loginCode.MatchString(text):
		m.Text, m.Files = codeTaken, nil
		return i18n.LoginUnexpected.In, ""
	}
	m.Text = WithoutCodes(text)
	return nil, ""
}

// handCode passes the code of a message to the CLI, unless its login has ended.
func (ls *Logins) handCode(message string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t := ls.now
	if t == nil {
		return
	}
	pasted, ok := t.pasted[message]
	if !ok {
		return
	}
	t.asked = false // the next message is talk again
	select {
	case t.codes <- pasted:
	default: // a code is already on its way
	}
}
