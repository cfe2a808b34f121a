package bridge

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// limitRig is a bridge whose first question was refused until two hours from now.
type limitRig struct {
	*bridgeRig
	asked chan string // questions that are asked from then on, which are answered
}

func newLimitRig(t *testing.T) *limitRig {
	t.Helper()
	l := &limitRig{bridgeRig: newRig(t), asked: make(chan string, 10)}
	refused := claude.Result{Failure: claude.FailRateLimit, Limit: "five_hour", Resets: time.Now().Add(2 * time.Hour)}
	l.answerWith(func(ctx context.Context, tn *turn) turncard.Outcome {
		if ctx.Err() != nil {
			return failedOutcome(zerolog.Ctx(ctx), context.Cause(ctx))
		}
		if refused.Failure == "" {
			l.asked <- tn.Asked[0].Text
			return turncard.OutcomeOf("")
		}
		end := l.outcome(ctx, tn, refused)
		refused = claude.Result{}
		return end
	})
	l.start()
	l.say("om_1", "第一个")
	l.until("the refusal", func() bool { return l.turns("state = 'failed'") == 1 })
	return l
}

func (l *limitRig) turns(where string) int {
	return l.count(`SELECT COUNT(*) FROM turns WHERE ` + where)
}

// sayIn says something in another chat.
func (l *limitRig) sayIn(room, id, text string) {
	l.Helper()
	m := incoming(id, text)
	m.Key = chat.FeishuChat(room)
	l.receive(m)
}

// waits waits until so many turns wait for the end of the limit.
func (l *limitRig) waits(n int) {
	l.Helper()
	l.until("turns that wait", func() bool { return l.turns("state = 'queued' AND due_at > 1") == n })
	select {
	case text := <-l.asked:
		l.Errorf("%q was asked while the model was limited", text)
	default:
	}
}

// asks waits until these questions have been asked, in any order.
func (l *limitRig) asks(want ...string) {
	l.Helper()
	left := map[string]bool{}
	for _, text := range want {
		left[text] = true
	}
	for len(left) > 0 {
		l.until("a question", func() bool {
			select {
			case text := <-l.asked:
				if !left[text] {
					l.Errorf("%q was asked", text)
				}
				delete(left, text)
				return true
			default:
				return false
			}
		})
	}
}

func (l *limitRig) press(id, do string, turn int64) string {
	l.Helper()
	toast, err := l.bridge.HandlePress(l.Context(), chat.Press{ID: id, Key: room, Actor: chat.Actor{ID: "ou_1"},
		Card: "card", Action: chat.Action{Do: do, Turn: turn}})
	l.must(err)
	return toast
}

// Questions of everybody wait until the limit ends, one card each, and are asked then; the one that was refused only if
// somebody has pressed its button, and once. It can be cancelled.
func TestQuestionsWaitForTheEndOfALimit(t *testing.T) {
	t.Parallel()
	l := newLimitRig(t)
	l.say("om_2", "第二个")
	l.sayIn("oc_2", "om_3", "第三个")
	l.sayIn("oc_2", "om_4", "第四个")
	l.waits(3)
	if toast := l.press("p1", turncard.DoAskAgain, 1); !strings.Contains(toast, "会再问一次") {
		t.Errorf("toast %q", toast)
	}
	if toast := l.press("p2", turncard.DoAskAgain, 1); !strings.Contains(toast, "没有正在进行") && strings.Contains(toast, "再问") {
		t.Errorf("second press: %q", toast)
	}
	l.waits(4)
	l.press("p3", turncard.DoStop, 2)
	l.until("the stop", func() bool { return l.turns("state = 'cancelled' AND id = 2") == 1 })
	l.sql(`UPDATE limits SET ends_at = 2`) // the time has come; first here, or a turn that is due would wait once more
	l.sql(`UPDATE turns SET due_at = 2 WHERE due_at > 0`)
	l.limits().look()
	l.asks("第一个", "第三个", "第四个")
	l.until("the answers", func() bool { return l.turns("state = 'done'") == 3 })
	if n := l.turns("due_at <> 0"); n != 0 {
		t.Errorf("%d ended turns still wait", n)
	}
}

// A limit may end earlier than was said: then nobody waits any longer.
func TestALimitThatEndsEarlier(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*limitRig){
		"the agent reports it": func(l *limitRig) {
			l.limits().report(l.Context(), l.chat(), claude.RateLimit{Allowed: true, Windows: []claude.LimitWindow{
				{Kind: "five_hour", Used: 0.1, Resets: time.Now().Add(time.Hour)}}})
		},
		"a later turn is answered": func(l *limitRig) {
			l.limits().lift(l.Context(), l.chat(), time.Now().Add(time.Second))
		},
		"another login": func(l *limitRig) { l.limits().loggedIn() },
		"another model": func(l *limitRig) { l.say("om_3", "/model sonnet") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLimitRig(t)
			l.say("om_2", "第二个")
			l.waits(1)
			end(l)
			l.asks("第二个")
		})
	}
}

// A turn that began before the limit was reached says nothing about whether it still lasts.
func TestAnEarlierAnswerDoesNotLiftALimit(t *testing.T) {
	t.Parallel()
	l := newLimitRig(t)
	l.limits().lift(t.Context(), l.chat(), time.Now().Add(-time.Hour))
	if l.limits().until(t.Context(), l.chat()).IsZero() {
		t.Error("the limit was lifted")
	}
}

// /status shows how much of each window is used.
func TestStatusShowsTheLimits(t *testing.T) {
	t.Parallel()
	l := newLimitRig(t)
	week := time.Now().Add(50 * time.Hour)
	l.limits().report(t.Context(), l.chat(), claude.RateLimit{Windows: []claude.LimitWindow{
		{Kind: "seven_day", Used: 0.124, Resets: week}}})
	l.say("om_2", "/status")
	var said string
	l.until("the reply", func() bool {
		list, _, _ := l.rec.SoFar()
		said = strings.Join(list, "\n")
		return strings.Contains(said, "项目")
	})
	for _, want := range []string{"5 小时内 已用完", "一周内 已用 12%，" + week.In(l.limits().zone).Format("01-02 15:04") + " 重置"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %q", want, said)
		}
	}
}

// What has begun is continued when the limit ends, not asked again.
func TestALimitInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	v := turncard.New(7, "zh", time.Now()).WithAnswer("先做了一半").
		Finish(turncard.Outcome{State: convo.Failed, Failure: string(claude.FailRateLimit), Until: "17:29"})
	b := v.Card(time.Now()).Buttons
	if len(b) != 1 || b[0].Action.Do != turncard.DoGoOn || !strings.Contains(b[0].Label, "17:29") {
		t.Errorf("buttons %+v", b)
	}
}
