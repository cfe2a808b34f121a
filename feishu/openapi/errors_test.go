package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

func TestGone(t *testing.T) {
	for code, want := range map[int]bool{
		230011: true, 231003: true, 230110: true, 99992354: true, 230001: false, 0: false,
	} {
		err := errors.Join(errors.New("x"), &Error{Op: "send", Code: code})
		if errors.Is(err, chat.ErrGone) != want {
			t.Errorf("code %d: gone %v, want %v", code, !want, want)
		}
	}
}

// Reason tells people what is wrong, without the name of our call.
func TestReason(t *testing.T) {
	for _, tc := range []struct {
		err    Error
		en, zh string
	}{
		{Error{Op: "ask", Code: 10014, Msg: "app secret invalid", LogID: "1"}, "app secret invalid (code 10014)", "app secret invalid（代码 10014）"},
		{Error{Op: "ask", Err: syscall.ECONNREFUSED}, "the connection was refused", "连接被拒绝"},
		{Error{Op: "ask", Status: 502, Msg: "the answer is not JSON"}, "HTTP status 502", "HTTP 状态 502"},
	} {
		reason := tc.err.Reason()
		if en, zh := i18n.ErrorText(i18n.English, reason), i18n.ErrorText(i18n.Chinese, reason); en != tc.en || zh != tc.zh {
			t.Errorf("%v: %q, %q", &tc.err, en, zh)
		}
	}
}

// An error of a proxy is described in words, without the proxy's password.
func TestErrorsOfProxies(t *testing.T) {
	for text, want := range map[string]string{
		"Proxy Authentication Required": "代理拒绝了连接（HTTP 状态 407）", "Forbidden": "代理拒绝了连接（HTTP 状态 403）",
		`invalid proxy address "http://me:hush@ x": parse`: "环境变量 HTTPS_PROXY 里的代理地址无效",
		"other": "other",
	} {
		err := WithoutURL(&url.Error{Op: "Get", URL: "https://open.feishu.cn/id", Err: errors.New(text)})
		if got := i18n.ErrorText(i18n.Chinese, err); got != want || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
}

// The platform's error codes decide about a retry.
func TestClassesOfCodes(t *testing.T) {
	for code, want := range map[int]Class{
		230035: NoAccess, 230018: NoAccess, 230053: NoAccess, 230029: NoAccess, 230034: NoAccess, 230038: NoAccess,
		230075: NoAccess, 230002: NoAccess, 232009: NoAccess, 232011: NoAccess, 230006: NoAccess, 230013: NoAccess,
		99991662: NoAccess, 10012: NoAccess, 232025: NoAccess, 232034: NoAccess, 10003: NoAccess, 10014: NoAccess,
		230019: MessageGone, 230011: MessageGone, 200810: Busy, 230049: Busy, 230001: Refused, 230099: Refused,
		230027: Refused, 99991672: Refused, 99991400: RateLimited, 300317: SequenceUsed, 300309: StreamingOff,
		200740: EntityLost, 99991663: BadToken,
	} {
		if got := ClassOf(&Error{Code: code, Status: 400}); got != want {
			t.Errorf("%d: class %d, want %d", code, got, want)
		}
	}
	lock := &Error{Code: 230099, Status: 400, Msg: "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card action is lock"}
	if got := ClassOf(lock); got != Busy {
		t.Errorf("a card that somebody is pressing: class %d", got)
	}
	tables := &Error{Code: 230099, Status: 400, Msg: "ext=ErrCode: 11310; ErrMsg: card table number over limit"}
	if got := ClassOf(tables); got != Refused {
		t.Errorf("a card with too many tables: class %d", got)
	}
	for status, want := range map[int]Class{502: Unknown, 404: Unknown, 200: Unknown, 0: Unknown, 429: RateLimited, 413: Refused} {
		if got := ClassOf(&Error{Status: status}); got != want { // of a gateway, which gives no code
			t.Errorf("HTTP %d: class %d, want %d", status, got, want)
		}
	}
	if got := ClassOf(&Error{Code: 2200, Status: 500}); got != Unknown {
		t.Errorf("an internal error: class %d", got)
	}
	for _, code := range []int{230002, 232009, 232011, 230018, 230029, 230034, 230035, 230038, 230053, 230075} {
		if err := error(&Error{Code: code}); !errors.Is(err, chat.ErrUnreachable) {
			t.Errorf("%d: does not count as silenced", code)
		}
	}
	for code, want := range map[int][2]bool{ // silenced, forbidden
		230018: {true, false}, 230035: {true, false}, 230053: {true, false}, 230002: {}, 230075: {}, 230019: {}, 2200: {},
		230027: {false, true}, 99991672: {false, true}, 230006: {false, true}, 230013: {false, true}, 232025: {false, true},
		232034: {false, true}, 10003: {false, true}, 10012: {false, true}, 10014: {false, true}, 99991662: {false, true},
	} {
		err := error(&Error{Code: code})
		if got := [2]bool{errors.Is(err, chat.ErrSilenced), errors.Is(err, chat.ErrForbidden)}; got != want {
			t.Errorf("%d: silenced, forbidden: %v, want %v", code, got, want)
		}
	}
	for code, want := range map[int]chat.Obstacle{
		99991672: chat.NoPermission, 230027: chat.NotShared, 230013: chat.OutOfRange, 230006: chat.BotOff,
		232025: chat.BotOff, 10003: chat.WrongCredentials, 10012: chat.WrongCredentials, 10014: chat.WrongCredentials,
		99991662: chat.AppDisabled, 232034: chat.AppNotInstalled, 99991400: chat.NotAvailable, 200810: chat.NotAvailable,
		0: chat.NotAvailable, 230099: chat.UnknownObstacle, 230022: chat.UnknownObstacle,
	} {
		if got := (&Error{Code: code}).Obstacle(); got != want {
			t.Errorf("%d: obstacle %q, want %q", code, got, want)
		}
	}
	for _, code := range []int{
		230018, 230035, 230053, 230027, 99991662, 10012, 232025, 232034, 99991672, 230006, 230013, 230002, 232011, 10003,
	} {
		e := &Error{Op: "send", Code: code, Msg: "no"}
		if e.Hint() == nil {
			t.Errorf("%d: no hint", code)
		} else if zh := i18n.ErrorText(i18n.Chinese, e); !strings.HasPrefix(zh, fmt.Sprintf("no（代码 %d）；", code)) ||
			!strings.Contains(zh, i18n.ErrorText(i18n.Chinese, e.Hint())) || zh == e.Error() {
			t.Errorf("%d: in Chinese %s", code, zh)
		}
	}
	for code, words := range map[int][]string{ // terms of the developer console, or the possible meanings of a code
		230027: {"a permission", "an external group"}, 514: {"Receive events through persistent connection", "Events & Callbacks"},
		230013: {"Availability"},
	} {
		for _, word := range words {
			if hint := (&Error{Code: code}).Hint().Error(); !strings.Contains(hint, word) {
				t.Errorf("%d: the hint does not name %q: %s", code, word, hint)
			}
		}
	}
}
