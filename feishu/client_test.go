package feishu

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"magpie/internal/chat"
)

func TestConfig(t *testing.T) {
	good := []Config{
		{AppID: "cli_1", AppSecret: "s"},
		{AppID: "cli_1", AppSecret: "s", BaseURL: "lark"},
		{AppID: "cli_1", AppSecret: "s", BaseURL: "http://127.0.0.1:80/"},
	}
	for _, c := range good {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	err := Config{BaseURL: "nowhere"}.Validate()
	for _, key := range []string{"[feishu] app_id", "[feishu] app_secret", "[feishu] base_url"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	if err := (Config{AppID: "1", AppSecret: "hush"}).Validate(); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v", err)
	}
	bad := Defaults()
	if !bad.Topics || !bad.GroupMention.Known() || !bad.SendFiles || bad.LongAnswer == 0 || bad.AnswerBots {
		t.Errorf("defaults %+v", bad)
	}
	bad.GroupMention, bad.LongAnswer = "sometimes", -1
	for _, key := range []string{"[feishu] group_mention", "[feishu] answer_file_chars"} {
		if err := bad.Validate(); !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	if got := good[1].baseURL(); got != hostLark {
		t.Errorf("lark is %s", got)
	}
	if got := good[2].baseURL(); got != "http://127.0.0.1:80" {
		t.Errorf("address is %s", got)
	}
}

// The language of a bot, and of those to whom nobody has spoken yet.
func TestLanguageOfTheBot(t *testing.T) {
	for _, tc := range []struct{ lang, base, spoken, first, toast string }{
		{"auto", "", "", "zh", staleButton.zh}, {"", "", "", "zh", staleButton.zh}, {"auto", "lark", "", "en", staleButton.en},
		{"en", "", "en", "zh", staleButton.en}, {"zh", "lark", "zh", "en", staleButton.zh},
	} {
		c := Config{AppID: "cli_1", AppSecret: "s", Lang: tc.lang, BaseURL: tc.base}
		if err := c.Validate(); err != nil || c.Spoken() != tc.spoken || c.NewLang() != tc.first || c.words(staleButton) != tc.toast {
			t.Errorf("%+v: %q %q %q %v", tc, c.Spoken(), c.NewLang(), c.words(staleButton), err)
		}
	}
	if err := (Config{AppID: "cli_1", AppSecret: "s", Lang: "fr"}).Validate(); err == nil || !strings.Contains(err.Error(), "[feishu] lang") {
		t.Errorf("%v", err)
	}
}

func TestSDKLogHidesWhatIsSecret(t *testing.T) {
	buf := &syncBuffer{}
	l := sdkLogger{zerolog.New(buf)}
	l.Debug(t.Context(), "receive message, payload: hello")
	l.Info(t.Context(), "connected to wss://host/ws?ticket=abc&access_key=def [conn_id=1]")
	l.Error(t.Context(), `handle failed, payload: {"text":"private words"}`)
	for _, secret := range []string{"abc", "def", "private", "hello"} {
		if strings.Contains(buf.String(), secret) {
			t.Errorf("the log has %q: %s", secret, buf)
		}
	}
	if !strings.Contains(buf.String(), "connected to wss://host/ws") {
		t.Errorf("log: %s", buf)
	}
}

// most is the largest number of calls in any span of that length.
func most(at []time.Time, span time.Duration) int {
	n := 0
	for i := range at {
		j := i
		for j < len(at) && at[j].Sub(at[i]) <= span {
			j++
		}
		n = max(n, j-i)
	}
	return n
}

func TestLimitsAreKept(t *testing.T) {
	tests := []struct {
		name  string
		limit *rate.Limiter
		calls int
		span  time.Duration
		want  int
	}{
		{"card", cardRate(), 100, time.Second, 10},
		{"chat", new(limits).of("a"), 50, time.Second, 5},
		{"plain card", patchRate(), 20, time.Second, 4},
		{"app in a second", newLimits(1).second, 300, time.Second, 50},
		{"app in a minute", newLimits(1).minute, 3000, time.Minute, 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				for range tt.calls {
					if err := errors.Join(idle(t.Context(), tt.limit, 1), take(t.Context(), tt.limit)); err != nil {
						t.Fatal(err)
					}
					at = append(at, time.Now())
				}
				if got := most(at, tt.span); got > tt.want {
					t.Errorf("%d calls within %v, the platform takes %d", got, tt.span, tt.want)
				}
			})
		})
	}
}

// A platform of one's own takes what the public one refuses.
func TestThePaceIsAMultipleOfTheRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pace, calls = 100, 5000
		began, l := time.Now(), newLimits(pace)
		for range calls {
			if err := l.app(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("%d calls took %v", calls, took)
		}
	})
	if err := (Config{AppID: "cli_1", AppSecret: "x", Pace: -1}).Validate(); err == nil || !strings.Contains(err.Error(), "pace") {
		t.Errorf("a negative pace: %v", err)
	}
}

// When the machine has stood still, those who waited do not all go at once.
func TestOneCallWaitsForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(1)
		for range l.second.Burst() {
			if err := l.app(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var calls sync.WaitGroup
		for range 30 {
			calls.Go(func() {
				if err := l.app(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if taken := -l.second.Tokens(); taken > 1 {
			t.Errorf("%v calls have their time already", taken)
		}
		calls.Wait()
	})
}

func TestIdleTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := cardRate()
		began := time.Now()
		for range 10 {
			if err := idle(t.Context(), l, 1); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := take(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("waited %v", d)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rate.NewLimiter(rate.Every(time.Hour), 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := take(ctx, l); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := take(ctx, l); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := idle(ctx, l, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("idle: %v", err)
		}
	})
}

func TestPersist(t *testing.T) {
	tests := []struct {
		err   error
		calls int
	}{
		{&Error{Code: 230001, Status: 400}, 1},
		{&Error{Code: 230002, Status: 400}, 1},
		{&Error{Status: 502}, 4},
		{&Error{Code: 99991400, Status: 429}, 4},
		{&Error{Code: 200810, Status: 400}, 4},
		{context.Canceled, 1},
		{nil, 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := persist(t.Context(), 4, func() error { calls++; return tt.err })
			if calls != tt.calls || !errors.Is(err, tt.err) {
				t.Errorf("%v: %d calls, want %d; %v", tt.err, calls, tt.calls, err)
			}
		})
	}
}

func TestGone(t *testing.T) {
	for code, want := range map[int]bool{230011: true, 231003: true, 230110: true, 99992354: true, 230001: false, 0: false} {
		err := errors.Join(errors.New("x"), &Error{Op: "send", Code: code})
		if errors.Is(err, chat.ErrGone) != want {
			t.Errorf("code %d: gone %v, want %v", code, !want, want)
		}
	}
}

func TestAnswersDoNotWaitBehindWhatMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(1)
		ctx, cancel := context.WithCancel(t.Context())
		var background sync.WaitGroup
		for range 4 {
			background.Go(func() {
				for errors.Join(l.spare(ctx), l.app(ctx)) == nil {
				}
			})
		}
		if err := sleep(ctx, time.Minute); err != nil { // what may wait has used up all that it gets
			t.Fatal(err)
		}
		began := time.Now()
		for range 40 {
			if err := l.app(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 1100*time.Millisecond { // the app's own rate
			t.Errorf("40 urgent calls waited %v", took)
		}
		cancel()
		background.Wait()
	})
}
