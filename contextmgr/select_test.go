package contextmgr

import (
	"slices"
	"testing"
	"time"

	"magpie/internal/chat"
)

func TestModes(t *testing.T) {
	first, lost := Request{}, Request{Lost: true}
	unsure, verified := Request{ResumeID: "s"}, Request{ResumeID: "s", Synced: Synced{Verified: true}}
	incomplete, live := Request{ResumeID: "s", Synced: Synced{Verified: true, Incomplete: true}}, Request{
		ResumeID: "s", Live: true, Synced: Synced{Verified: true},
	}
	for _, tc := range []struct {
		mode Mode
		r    Request
		want historyPart
	}{
		{Hybrid, first, recent}, {Hybrid, lost, recent}, {Hybrid, unsure, recent}, {Hybrid, verified, recent},
		{Hybrid, incomplete, recent}, {Hybrid, live, unseen},
		{Resume, first, recent}, {Resume, lost, recent}, {Resume, unsure, none}, {Resume, verified, none},
		{Resume, incomplete, unseen}, {Resume, live, none},
		{Database, first, recent}, {Database, lost, recent},
		{Economy, first, recent}, {Economy, lost, recent}, {Economy, unsure, recent}, {Economy, verified, unseen},
		{Economy, incomplete, unseen}, {Economy, live, unseen},
	} {
		if got := (Config{Mode: tc.mode, SessionMode: Stable}).historyFor(tc.r); got != tc.want {
			t.Errorf("%s %+v: prefix %v, want %v", tc.mode, tc.r, got, tc.want)
		}
	}
	for _, mode := range []Mode{Hybrid, Resume, Database, Economy} {
		if got := (Config{Mode: mode, SessionMode: Fresh}).historyFor(first); got != recent {
			t.Errorf("%s, a new session for every message: prefix %v, or the agent knows nothing", mode, got)
		}
	}
}

// endingAt is a conversation whose newest message has that time.
func endingAt(msgs []chat.Message, newest time.Time) []chat.Message {
	for i := range msgs {
		msgs[i].Time = newest.Add(time.Duration(i-len(msgs)+1) * time.Minute)
	}
	return msgs
}

func TestTheMinimumsGrow(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	limits := Limits{MinChars: 1000, MinUserMessages: 3, MaxTokens: 20_000}
	asked := limits
	asked.AskedAt = now
	for _, tc := range []struct {
		name   string
		limits Limits
		silent time.Duration
		want   int // messages of 100 characters
	}{
		{"in the middle of a conversation", asked, time.Minute, 10},
		{"after 6 hours", asked, 6 * time.Hour, 10},
		{"after more than 6 hours", asked, 6*time.Hour + time.Second, 20},
		{"after a year", asked, 365 * 24 * time.Hour, 20},
		{"when it is not known when it was asked", limits, 365 * 24 * time.Hour, 10},
		{"without a session", asked.forNewSession(), time.Minute, 40},
		{"without a session, after a night", asked.forNewSession(), 8 * time.Hour, 80},
	} {
		pulled := 0
		got, err := selectRecent(backwards(endingAt(talk(100, 100, 100), now.Add(-tc.silent)), &pulled), tc.limits)
		if err != nil || len(got) != tc.want || pulled != tc.want {
			t.Errorf("%s: %d messages, %d read, want %d (%v)", tc.name, len(got), pulled, tc.want, err)
		}
	}
	tight := asked.forNewSession()
	tight.MaxTokens = 1500
	pulled := 0
	got, err := selectRecent(backwards(endingAt(talk(100, 100, 100), now.Add(-24*time.Hour)), &pulled), tight)
	tokens := 0
	for _, m := range got {
		tokens += EstimateTokens(m.Text)
	}
	if err != nil || tokens < 1500 || tokens > 1700 {
		t.Errorf("%d tokens in %d messages, the budget is 1500 (%v)", tokens, len(got), err)
	}
}

// Messages that are not in the session are selected even when the minimums are met without them.
func TestSelectTakesAllMessagesOutsideTheSession(t *testing.T) {
	msgs := talk(50, 100, 100)
	for i := range msgs {
		msgs[i].Turn = int64(i/2 + 1)
	}
	limits := Limits{MinChars: 1000, MinUserMessages: 3, MaxTokens: 20_000}
	for held, want := range map[int64]int{0: 10, 50: 10, 46: 10, 45: 10, 44: 12, 10: 80} {
		limits.SessionTurn = held
		pulled := 0
		got, err := selectRecent(backwards(slices.Clone(msgs), &pulled), limits)
		if err != nil || len(got) != want || pulled > want+1 {
			t.Errorf("holds %d: %d messages, want %d, %d read (%v)", held, len(got), want, pulled, err)
		}
	}
}
