package contextmgr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
)

// Several nearly identical messages are retrieved once, which leaves room for others.
func TestARepeatedMessageIsRetrievedOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lines    []string
		question string
	}{
		"zh": {[]string{
			"部署脚本在 /opt/deploy/run.sh，用 make deploy 运行，完成后看 Grafana。",
			"部署脚本在 /opt/deploy/run.sh，用 make deploy 运行，完成后看 Grafana",
			"提醒：部署脚本在 /opt/deploy/run.sh，用 make deploy 运行，完成后看 Grafana！",
			"部署脚本在 /opt/deploy/run.sh，用 make deploy 运行，完成后看 Grafana 哦",
			"再说一次：部署脚本在 /opt/deploy/run.sh，用 make deploy 运行，完成后看 Grafana。",
		}, "部署脚本在哪里？"},
		"en": {[]string{
			"The deploy script is /opt/deploy/run.sh, start it with make deploy, then look at Grafana.",
			"the deploy script is /opt/deploy/run.sh, start it with make deploy, then look at Grafana",
			"Reminder: the deploy script is /opt/deploy/run.sh, start it with make deploy, then look at Grafana!",
			"The deploy script is /opt/deploy/run.sh; start it with make deploy, then look at Grafana, please.",
			"Again: the deploy script is /opt/deploy/run.sh, start it with make deploy, then look at Grafana.",
		}, "Where is the deploy script?"},
		"zh_short": {[]string{
			"例会改到周三下午三点", "例会改到周四下午三点。", "例会改到周二下午三点！", "例会改到周一下午三点", "例会改到周五下午三点",
		}, "例会是什么时候？"},
		"en_short": {[]string{
			"Standup is at 9:30 in room Oslo", "standup is at 9:45 in room Oslo", "Standup at 9:50 in room Oslo.",
			"the standup is at 9:20 in room Oslo", "Standup is at 9:15 in room Oslo!",
		}, "When is the standup?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := chat.FeishuChat("oc_" + name)
			began := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
			c := evalChat{name: name, key: key, kind: chat.Private}
			add := func(text string) {
				n := len(c.msgs)
				c.msgs = append(c.msgs, chat.Message{
					Key: key, ID: fmt.Sprintf("om_%d", n), Role: chat.User, Class: chat.Talk, Text: text,
					Time: began.Add(time.Duration(n) * time.Hour),
				})
			}
			for i, line := range tc.lines {
				add(line)
				for j := range 8 { // messages in between
					add(fmt.Sprintf("message %d-%d is about %s", i, j, strings.Repeat(string(rune('a'+j)), 5)))
				}
			}
			other := "部署脚本 deploy script, 例会 standup: Lina knows, ask her about rollbacks."
			add(other)
			q := evalQuestion{Question: tc.question, AskedAt: began.AddDate(0, 0, 10)}
			same, found, newest := 0, false, false
			for _, m := range ours(t, storeChats(t, c))(c, q)(5000) {
				if slices.Contains(tc.lines, m.Text) {
					same++
					newest = m.Text == tc.lines[len(tc.lines)-1]
				}
				found = found || m.Text == other
			}
			if same != 1 || !newest || !found {
				t.Errorf("%d times, the newest: %v, the other message found: %v", same, newest, found)
			}
		})
	}
}

// A message that mostly repeats a better one comes after a less relevant one with new content. What messages on one
// subject share anyway does not count as repetition.
func TestTheNewGoesBeforeTheRepeated(t *testing.T) {
	t.Parallel()
	terms := func(from, to int) (s signature) { // of 30 terms, as in a message of two lines
		for i := from; i < to; i++ {
			s[i/64] |= 1 << (i % 64)
		}
		return s
	}
	best := hit{Message: chat.Message{Seq: 1}, about: terms(0, 30), score: 1, chars: 100}
	fresh := hit{Message: chat.Message{Seq: 3}, about: terms(100, 130), score: 0.75, chars: 100}
	for shared, want := range map[int]int64{24: 3, 12: 2} {
		second := hit{Message: chat.Message{Seq: 2}, about: terms(30-shared, 60-shared), score: 0.9, chars: 100}
		got := selectHits([]hit{best, second, fresh}, 200, 100)
		if len(got) != 2 || got[0].Seq != 1 || got[1].Seq != want {
			t.Errorf("%d of 30 terms shared: %+v", shared, got)
		}
	}
}

// Long texts fill their signatures, which does not make them equal.
func TestLongTextsAreNotTheSame(t *testing.T) {
	t.Parallel()
	text := func(begin int) (s signature) {
		for i := range 2000 {
			s.add(fmt.Sprint(begin + i))
		}
		return s
	}
	one, other := text(0), text(100_000)
	if one.similarity(other) < nearlySame || one.nearlySame(other) {
		t.Errorf("similarity %.2f, the same: %v", one.similarity(other), one.nearlySame(other))
	}
}
