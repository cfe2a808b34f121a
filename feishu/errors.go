package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"magpie/internal/chat"
)

// Error is a call that the platform did not confirm.
type Error struct {
	Op     string // what was tried, in our words
	Code   int    // the platform's code; 0 when it gave none
	Msg    string // the platform's words
	LogID  string // X-Tt-Logid, by which the platform's support finds the call
	Status int    // of HTTP; 0 when no answer came
	Err    error  // why there was no answer; nil when there was one

	wait time.Duration // until the platform takes calls again
}

// Error tells what was tried, what the platform said, and what the operator can do about it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("feishu: " + e.Op)
	switch {
	case e.Code != 0:
		fmt.Fprintf(&b, ": code %d: %s", e.Code, e.Msg)
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	default:
		fmt.Fprintf(&b, ": HTTP %d: %s", e.Status, e.Msg)
	}
	if hint := hintOf(e.Code); hint != "" {
		b.WriteString(" (" + hint + ")")
	}
	if e.LogID != "" {
		b.WriteString(" [log id " + e.LogID + "]")
	}
	return b.String()
}

// Unwrap gives why there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is work for [chat.ErrGone], [chat.ErrUnreachable], [chat.ErrRefused] and [chat.ErrTooBig].
func (e *Error) Is(target error) bool {
	switch target {
	case chat.ErrGone:
		return verdictOf(e) == gone
	case chat.ErrUnreachable:
		return slices.Contains(unreachable, e.Code)
	case chat.ErrRefused:
		return slices.Contains(censored, e.Code)
	case chat.ErrTooBig:
		return e.Code == 234037 // more than 100 MB (page im-v1/message/get-2)
	}
	return false
}

// unreachable are the codes that say that the bot was removed from the chat, or that the chat was dissolved. What an
// operator can put right, such as the app's availability, is not among them.
var unreachable = []int{230002, 232009, 232011}

// censored are the codes that say that a text holds words that are not allowed (page im-v1/message/create).
var censored = []int{230022, 230028}

// A verdict says what to do about an error. The codes are those of the pages "Generic error code",
// im-v1/message/{create,reply,patch} and cardkit-v1/card/{create,update}, card-element/content.
type verdict int

const (
	refused     verdict = iota // as it is, the platform will not take it
	unknown                    // it may or may not have been done: the same call again
	limited                    // too many calls: the same call after a pause
	interacting                // somebody presses a button just now: the same call in a moment
	outdated                   // a sequence that was used already
	closed                     // streaming mode is off
	lost                       // the card entity is gone or not ours
	gone                       // the message is gone, or there never was one of this id
	hopeless                   // the bot cannot reach this chat
	badToken                   // the access token is not valid
	away                       // it was not done, since the platform does not answer
)

func verdictOf(err error) verdict {
	var e *Error
	if !errors.As(err, &e) {
		return refused
	}
	switch e.Code {
	case 0:
		if errors.Is(e.Err, errAway) {
			return away
		}
		return unknown
	case 99991661, 99991663, 99991664, 99991671, 99991677:
		return badToken
	case 99991400, 230020, 11232:
		return limited
	case 200810, 230049: // the latter: the message is still being sent
		return interacting
	case 300317:
		return outdated
	case 300309, 200850:
		return closed
	case 200740, 200750, 300311:
		return lost
	case 230011, 230110, 231003, 99992354: // the latter: no message has this id
		return gone
	case 230002, 230006, 230013, 232009, 232011, 10003, 10014:
		return hopeless
	}
	switch {
	case e.Status >= http.StatusInternalServerError:
		return unknown
	case e.Status == http.StatusTooManyRequests:
		return limited
	}
	return refused
}

// pauseFor says how long to wait before the same call is made again, if that makes sense at all.
func pauseFor(err error, attempt int) (time.Duration, bool) {
	switch verdictOf(err) {
	case unknown:
		return min(200*time.Millisecond<<min(attempt, 6), 5*time.Second), true
	case limited:
		var e *Error
		errors.As(err, &e)
		return max(e.wait, time.Second), true
	case interacting:
		return 200 * time.Millisecond, true
	}
	return 0, false
}

// persist makes a call until its outcome is known, so many times at most. The call carries an idempotency key or
// sets a value, so that doing it twice does no harm.
func persist(ctx context.Context, most int, call func() error) error {
	for attempt := 0; ; attempt++ {
		err := call()
		pause, again := pauseFor(err, attempt)
		if !again || attempt+1 >= most {
			return err
		}
		if sleep(ctx, pause) != nil {
			return err
		}
	}
}

// sleep waits, or returns early with ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Hint says what the operator can do about the error; empty when that is not known.
func (e *Error) Hint() string { return hintOf(e.Code) }

// hintOf says what the operator can do about a code.
func hintOf(code int) string {
	switch code {
	case 10003, 10014, 1000040344, 1000040345:
		return "check [feishu] app_id and [feishu] app_secret, and that a version of the app is published"
	case 1000040351:
		return "the app lives on the other platform: set [feishu] base_url to \"lark\" for Lark, leave it empty for Feishu"
	case 1000040350:
		return "too many connections of this app: stop other programs that use it"
	case 403, 514:
		return "the long connection is refused: choose it in the console under Events & Callbacks, and check the app's status"
	case 99991672, 230027:
		return "a permission is missing: add it in the console and publish a new version"
	case 230006:
		return "turn the app's bot on in the console and publish a new version"
	case 230013:
		return "the person is outside of the app's availability range"
	case 230002, 232011:
		return "the bot is not in this chat"
	}
	return ""
}
