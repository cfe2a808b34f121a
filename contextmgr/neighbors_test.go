package contextmgr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// asked puts rounds of a question and its answer, as they were imported, among chatter.
func asked(rounds ...[2]string) evalChat {
	c := inLongChat()
	for i, r := range rounds {
		for k, text := range r {
			c.msgs = append(c.msgs, chat.Message{
				Key: c.key, ID: fmt.Sprintf("om_%d_%d", i, k), Role: []chat.Role{chat.User, chat.Assistant}[k],
				Class: chat.Talk, Text: text, Time: c.msgs[len(c.msgs)-1].Time.Add(time.Minute),
			})
		}
		for j := range 20 {
			m := c.msgs[0]
			m.ID, m.Text, m.Time = fmt.Sprintf("om_%d-%d", i, j), fmt.Sprintf("and more chatter %d-%d", i, j),
				c.msgs[len(c.msgs)-1].Time.Add(time.Hour)
			c.msgs = append(c.msgs, m)
		}
	}
	return c
}

// A question brings its answer, and an answer its question, before other messages that share a word.
func TestAQuestionAndItsAnswerAreRetrievedTogether(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][2]string{
		"How do I restart the staging cluster?": {"staging cluster hangs again, restart it how?", "kubectl rollout, then wait"},
		"Which command was kubectl rollout?":    {"staging cluster hangs again, restart it how?", "kubectl rollout, then wait"},
		"怎么续签网关证书？":                             {"网关证书快到期了，怎么续签", "跑一下 renew.sh 就行"},
		"renew.sh 是干什么的？":                       {"网关证书快到期了，怎么续签", "跑一下 renew.sh 就行"},
	} {
		c := asked(want, [2]string{"the other cluster is fine", "网关没有问题"}, [2]string{"which command, what cluster", "是的，证书和网关"})
		texts := recalledTexts(t, c, question, utf8.RuneCountInString(want[0]+want[1])+50)
		if !slices.Contains(texts, want[0]) || !slices.Contains(texts, want[1]) {
			t.Errorf("%q recalls %q", question, texts)
		}
	}
}

// In a group, others write between a question and its answer. They still belong together.
func TestAnAnswerIsRetrievedFarFromItsQuestion(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	n := 0
	say := func(class chat.Class, text string) {
		n++
		in := dbtest.Say(fmt.Sprintf("om_%d", n), text)
		in.Class, in.Kind = class, chat.Group
		dbtest.Accept(t, d, in)
	}
	chatter := func() {
		for i := range 30 {
			say(chat.Overheard, fmt.Sprintf("chatter %d-%d", n, i))
		}
	}
	const question, answer = "who mends the espresso machine?", "Call Giovanni, his number is 555 0199"
	say(chat.Talk, question)
	turn := dbtest.Claim(t, d, "s").Turn
	chatter()
	dbtest.Finish(t, d, db.TurnResult{Turn: turn, Answer: answer})
	chatter()
	m := New(d, utcDefaults(), zerolog.Nop())
	for _, text := range []string{"what about the espresso machine", "Giovanni"} {
		list, err := m.SearchHistory(t.Context(), HistoryQuery{
			Key: dbtest.Chat, Turn: 1 << 40, Text: text, Limit: 3, Length: 100,
		})
		if got := dbtest.Texts(list); err != nil || !strings.Contains(got, question) || !strings.Contains(got, answer) {
			t.Errorf("%s: %q, %v", text, dbtest.Texts(list), err)
		}
	}
}
