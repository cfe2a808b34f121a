package bridge

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

// loginTime is the timeout of a login, from the command to the code.
const loginTime = 5 * time.Minute

// Reasons why a login ends without success.
var (
	errLoginTime  = errors.New("no code was pasted in time")
	errLoginEnded = errors.New("the login was cancelled")
)

// logins lets an admin log the agent's CLI in from a private chat, one login at a time. The pasted code goes only to
// the CLI: it is in no log, no table and no prompt.
type logins struct {
	pool     *claude.Pool
	out      delivery.Messenger
	jobs     *workqueue.Queue // runs the login
	log      zerolog.Logger
	patience time.Duration // timeout of a login
	loggedIn func()        // called after a login

	mu  sync.Mutex
	now *loginDialog // nil = no login in progress
}

// loginStep is what a message does to the login in progress.
type loginStep string

// The steps of a login.
const (
	beginLogin  loginStep = "begin"
	cancelLogin loginStep = "cancel"
	handCode    loginStep = "code" // which is in the dialog alone, since no code is stored
)

// loginDialog is one login.
type loginDialog struct {
	key    chat.Key
	who    string
	to     chat.Ref // the message that requested it
	lang   i18n.Lang
	codes  chan string
	pasted map[string]string // the codes, by the ID of the message
	asked  bool              // the link was shown; the next message is the code
	cancel context.CancelCauseFunc
}

// logIn is the command /login.
func (cs *commandSet) logIn(_ context.Context, o invocation) (commandResult, error) {
	if o.Kind != chat.Private {
		return o.say(i18n.LoginPrivate)
	}
	switch strings.ToLower(o.args) {
	case "":
		if cs.logins.isRunning() {
			return o.say(i18n.LoginBusy)
		}
		return commandResult{reply: i18n.LoginBegun.In(o.lang), login: beginLogin}, nil
	case "cancel", "取消":
		if !cs.logins.isRunning() {
			return o.say(i18n.LoginNone)
		}
		return commandResult{reply: i18n.LoginCancelled.In(o.lang), login: cancelLogin}, nil
	}
	return o.say(i18n.LoginUsage)
}

func (ls *logins) isRunning() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.now != nil
}

// finishLogin cancels the login in progress.
func (ls *logins) finishLogin() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.now != nil {
		ls.now.asked = false // the next message is talk again, even before the CLI has ended
		ls.now.cancel(errLoginEnded)
	}
}

// startLogin starts a login, unless one is in progress.
func (ls *logins) startLogin(o invocation) {
	halt, cancel := context.WithCancelCause(context.Background())
	t := &loginDialog{
		key: o.Key, who: o.Actor.ID, to: chat.Ref{Key: o.Key, ID: o.ID}, lang: o.lang,
		codes: make(chan string, 1), pasted: map[string]string{}, cancel: cancel,
	}
	ls.mu.Lock()
	// Checked again under the lock: the command's own check was made earlier.
	defer ls.mu.Unlock()
	if ls.now != nil {
		cancel(nil)
		return
	}
	ls.now = t
	ls.jobs.Enqueue(func(ctx context.Context) {
		defer cancel(nil)
		ctx, leave := context.WithCancelCause(ctx)
		defer leave(nil)
		defer context.AfterFunc(halt, func() { leave(context.Cause(halt)) })()
		ls.run(ctx, t)
	})
}

// run carries out a login and reports how it ended. The report is not stored: after a restart it would be wrong.
func (ls *logins) run(ctx context.Context, t *loginDialog) {
	bounded, stop := context.WithTimeoutCause(ctx, ls.patience, errLoginTime)
	defer stop()
	said := 0
	say := func(text string) {
		said++
		idem := fmt.Sprintf("login:%s:%d", t.to.ID, said)
		if _, err := ls.out.Reply(context.WithoutCancel(ctx), t.to, text, idem); err != nil {
			ls.log.Error().Err(err).Msg("reply failed")
		}
	}
	err := ls.pool.LogIn(bounded, t.key.String(), claude.Dialog{
		Link:  func(url string) { ls.expectCode(t); say(fmt.Sprintf(i18n.LoginLink.In(t.lang), url)) },
		Again: func() { ls.expectCode(t); say(i18n.LoginAgain.In(t.lang)) },
		Codes: t.codes,
	})
	ls.mu.Lock()
	ls.now = nil
	ls.mu.Unlock()
	ls.log.Info().Err(err).Str("user", t.who).Msg("login of the agent ended")
	switch {
	case errors.Is(err, errLoginEnded), ctx.Err() != nil && err != nil: // already reported, or a shutdown
	case err == nil:
		ls.loggedIn()
		say(i18n.LoginDone.In(t.lang))
	case errors.Is(err, errLoginTime):
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
func (ls *logins) expectCode(t *loginDialog) {
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

// withoutCodes removes login codes from a text. Within a text, a code must mix digits, capitals and small letters: a
// URL with a fragment can be as long.
func withoutCodes(text string) string {
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

// formWithoutCodes returns a copy of the form values without login codes. It copies because others handle the same
// event.
func formWithoutCodes(filled map[string][]string) map[string][]string {
	clean := maps.Clone(filled)
	for name, values := range filled {
		clean[name] = slices.Clone(values)
		for i, v := range values {
			clean[name][i] = withoutCodes(v)
		}
	}
	return clean
}

// stripCode removes a login code from a message before anything else sees it; only the fact that there was one is
// stored. It returns false for other messages. Anything that looks like a code is never stored, no matter who sends it
// and when.
func (ls *logins) stripCode(m *chat.Incoming) (plan, bool) {
	ls.mu.Lock()
	t := ls.now
	awaited := t != nil && t.asked && t.key == m.Key && t.who == m.Actor.ID && m.Unreadable == "" &&
		strings.IndexAny(strings.TrimSpace(m.Text), "/／") != 0
	code := m.Text
	if awaited {
		t.pasted[m.ID] = code
	}
	ls.mu.Unlock()
	switch {
	case awaited:
		m.Text, m.Files = codeTaken, nil
		return func(_ context.Context, o invocation) (commandResult, error) {
			return commandResult{reply: i18n.LoginTaken.In(t.lang), login: handCode}, nil
		}, true
	case loginCode.MatchString(code):
		m.Text, m.Files = codeTaken, nil
		return say(i18n.LoginUnexpected), true
	}
	m.Text = withoutCodes(m.Text)
	return nil, false
}

// handCode passes the code of a message to the CLI, unless its login has ended.
func (ls *logins) handCode(message string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t := ls.now
	if t == nil {
		return
	}
	code, ok := t.pasted[message]
	if !ok {
		return
	}
	t.asked = false // the next message is talk again
	select {
	case t.codes <- code:
	default: // a code is already on its way
	}
}
