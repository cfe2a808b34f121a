package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// subscription makes the agents use a subscription, with which the CLI is told of limits.
func subscription(command string) func(*config.Config) {
	return func(c *config.Config) {
		c.Claude.Command = command
		for i, kv := range c.Claude.Environ {
			if strings.HasPrefix(kv, "ANTHROPIC_API_KEY=") {
				c.Claude.Environ[i] = "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-test"
			}
		}
		c.Context.TimeZone = "Asia/Shanghai"
	}
}

// unified are the headers about a subscription whose five hours are used to this share.
func unified(status, used string, ends time.Time) map[string]string {
	reset := fmt.Sprint(ends.Unix())
	return map[string]string{
		"anthropic-ratelimit-unified-status": status, "anthropic-ratelimit-unified-reset": reset,
		"anthropic-ratelimit-unified-5h-status": status, "anthropic-ratelimit-unified-5h-reset": reset,
		"anthropic-ratelimit-unified-5h-utilization": used, "anthropic-ratelimit-unified-5h-surpassed-threshold": "0.9",
		"anthropic-ratelimit-unified-representative-claim": "five_hour",
		"anthropic-ratelimit-unified-overage-status":       "rejected",
	}
}

// limited is the answer of a subscription whose limit is reached.
func limited(ends time.Time) modelsim.Step {
	header := unified("rejected", "1.0", ends)
	header["content-type"], header["retry-after"], header["x-should-retry"] = "application/json", "7800", "false"
	return modelsim.Reply(http.StatusTooManyRequests, header, `{"type":"error","error":{"type":"rate_limit_error",
		"message":"This request would exceed your account's rate limit. Please try again later."}}`)
}

// With a subscription whose limit is reached, the question that was refused says until when, and is asked again only if
// somebody wants that; whatever is asked meanwhile, by anybody, waits and is not refused. All that survives a restart.
func TestALimitOfTheSubscription(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := makeRig(t, feishusim.Config{}, subscription(command))
		r.start()
		t.Cleanup(func() { r.stop(); r.clean() })
		ends := time.Now().Add(2 * time.Hour).Truncate(time.Second)
		zone, err := time.LoadLocation("Asia/Shanghai")
		must(t, err)
		clock := ends.In(zone).Format("15:04")
		r.model.Script(modelsim.Rule{Steps: []modelsim.Step{limited(ends)}})
		first := r.sim.Say(r.chat, r.user, "第一个问题")
		card := r.answer(r.chat, first)
		if text := visibleText(card); !strings.Contains(text, clock+" 恢复") {
			t.Errorf("the limit's end %s is not in %q", clock, text)
		}
		if label := string(card.Last().Card); !strings.Contains(label, clock+" 再问一次") {
			t.Errorf("no button to ask again at %s in %s", clock, label)
		}
		asked := len(r.model.Requests())

		other := r.sim.AddUser("小红")
		room := r.sim.PrivateChat(other)
		second := r.sim.Say(room, other, "第二个问题")
		r.shows(room, second, clock+" 恢复后会自动提问")
		r.shows(r.chat, first, clock+" 恢复")
		if got := r.press(r.answer(r.chat, first), "ask_again"); !strings.Contains(got, clock) {
			t.Errorf("toast %s", got)
		}
		r.shows(r.chat, first, clock+" 会再问一次")
		if got := visibleText(r.answer(r.chat, r.sim.Say(r.chat, r.user, "/status"))); !strings.Contains(got, "5 小时内") ||
			!strings.Contains(got, clock+" 重置") {
			t.Errorf("/status: %q", got)
		}

		r.stop()
		r.start()
		third := r.sim.Say(room, other, "第三个问题")
		r.shows(room, third, clock+" 恢复后会自动提问")
		m := replyTo(r, room, third)
		if _, err := r.sim.Press(t.Context(), m.ID, other, r.button(m, "stop")); err != nil {
			t.Error(err)
		}
		r.shows(room, third, "已停止")
		if n := len(r.model.Requests()); n != asked {
			t.Errorf("the model was asked %d times while it was limited", n-asked)
		}

		r.model.Reset()
		r.stop()
		r.sql(`UPDATE turns SET due_at = 2 WHERE due_at > 0`) // the time has come
		r.sql(`UPDATE limits SET ends_at = 2 WHERE reached = 1`)
		r.start()
		r.await("both answers", func(v *feishusim.View) bool {
			a, b := replies(v, r.chat, first), replies(v, room, second)
			return len(a) == 1 && len(b) == 1 && !running(a[0]) && !running(b[0])
		})
		var questions []string
		for _, q := range r.model.Requests() {
			questions = append(questions, q.LastUser())
		}
		all := strings.Join(questions, "\n")
		if !strings.Contains(all, "第一个问题") || !strings.Contains(all, "第二个问题") || slices.ContainsFunc(questions,
			func(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), "第三个问题") }) {
			t.Errorf("asked: %q", questions)
		}
	})
}

// replyTo is the bot's reply to a message.
func replyTo(r *rig, chatID, messageID string) (m feishusim.Message) {
	r.Helper()
	r.await("a reply", func(v *feishusim.View) bool {
		list := replies(v, chatID, messageID)
		if len(list) == 1 {
			m = list[0]
		}
		return len(list) == 1
	})
	return m
}

// A question that waits for the end of a limit still waits after the program was killed, and says so. It is asked when
// the time has come, unless it was stopped by then.
func TestALimitIsWaitedForAfterAKill(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]bool{"asked": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, subscription(claudetest.Command(t)))
			ends := time.Now().Add(2 * time.Hour).Truncate(time.Second)
			s.model.Script(modelsim.Rule{Steps: []modelsim.Step{limited(ends)}})
			s.run()
			s.connected()
			s.answer(s.chat, s.sim.Say(s.chat, s.user, "第一个问题"))
			second := s.sim.Say(s.chat, s.user, "第二个问题")
			s.shows(s.chat, second, "恢复后会自动提问")
			s.until("the question in the store", func() bool {
				return s.count(`SELECT COUNT(*) FROM turns WHERE state = 'queued' AND due_at > 0`) == 1
			})
			asked := len(s.model.Requests())
			s.kill()
			s.run()
			s.connected()
			third := s.sim.Say(s.chat, s.user, "/status") // by its answer the earlier turns were recovered
			s.answer(s.chat, third)
			s.shows(s.chat, second, "恢复后会自动提问")
			if n := s.count(`SELECT COUNT(*) FROM turns WHERE state = 'queued' AND due_at > 0`); n != 1 ||
				len(s.model.Requests()) != asked {
				t.Errorf("%d questions wait, %d were asked", n, len(s.model.Requests())-asked)
			}
			if m := replyTo(s.rig, s.chat, second); stopped {
				_, err := s.sim.Press(t.Context(), m.ID, s.user, s.button(m, "stop"))
				must(t, err)
				s.shows(s.chat, second, "已停止")
			}
			s.model.Reset()
			s.kill()
			s.sql(`UPDATE turns SET due_at = 2 WHERE due_at > 0`) // the time has come
			s.sql(`UPDATE limits SET ends_at = 2 WHERE reached = 1`)
			s.run()
			s.connected()
			if stopped {
				s.answer(s.chat, s.sim.Say(s.chat, s.user, "/status"))
				s.shows(s.chat, second, "已停止")
			} else {
				s.await("the answer", func(v *feishusim.View) bool {
					list := replies(v, s.chat, second)
					return len(list) == 1 && !running(list[0]) && strings.Contains(visibleText(list[0]), "第二个问题")
				})
			}
			if n := len(s.model.Requests()); (n == 0) != stopped {
				t.Errorf("the model was asked %d times", n)
			}
			s.terminate()
			s.clean()
		})
	}
}
