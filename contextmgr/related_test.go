package contextmgr

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
)

// inLongChat is a conversation with these texts among many others, far from each other.
func inLongChat(texts ...string) evalChat {
	began := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	c := evalChat{name: "long", key: chat.FeishuChat("oc_long"), kind: chat.Private}
	add := func(text string) {
		n := len(c.msgs)
		c.msgs = append(c.msgs, chat.Message{
			Key: c.key, ID: fmt.Sprintf("om_%d", n), Role: chat.User, Class: chat.Talk, Text: text,
			Time: began.Add(time.Duration(n) * time.Hour),
		})
	}
	for i, text := range texts {
		for j := range 40 {
			add(fmt.Sprintf("chatter %d-%d 闲话第 %d 句", i, j, j))
		}
		add(text)
	}
	for j := range 40 {
		add(fmt.Sprintf("more chatter %d", j))
	}
	return c
}

// recalledTexts are the texts that are retrieved for a question, oldest first.
func recalledTexts(t *testing.T, c evalChat, question string, chars int) (texts []string) {
	t.Helper()
	q := evalQuestion{Question: question, AskedAt: c.msgs[len(c.msgs)-1].Time.Add(time.Hour)}
	for _, m := range ours(t, storeChats(t, c))(c, q)(chars) {
		texts = append(texts, m.Text)
	}
	return texts
}

// A question finds a message in other words.
func TestAParaphraseIsRetrieved(t *testing.T) {
	t.Parallel()
	for question, said := range map[string]string{
		"Which physician treated her headaches?": "Dr Weber finally found out why the migraine keeps coming back",
		"老板对我辞职怎么说？":                             "经理听说我要离职，只叹了口气",
		"谁的女儿生病了？":                               "小周的闺女昨晚发烧到 39 度",
		"Where is the backup of the database?":   "数据库的备份放在第二台服务器上",
	} {
		if texts := recalledTexts(t, inLongChat(said), question, 300); !slices.Contains(texts, said) {
			t.Errorf("%q recalls %q", question, texts)
		}
	}
}

// The same word counts more than a related one.
func TestTheSameWordWinsOverARelatedOne(t *testing.T) {
	t.Parallel()
	for question, said := range map[string][2]string{
		"What did the physician advise?": {"my physician called back at last", "my doctor said something today"},
		"那位大夫建议什么":                       {"大夫昨天跟我讲了两句", "医生今早倒是来了电话"},
	} {
		// only one of them fits, and the related word is in the newer message, which would win a tie
		texts := recalledTexts(t, inLongChat(said[:]...), question, utf8.RuneCountInString(said[0]))
		if !slices.Equal(texts, said[:1]) {
			t.Errorf("%q recalls %q", question, texts)
		}
	}
}

// Both messages that an answer needs are retrieved, though they are far apart and use other words.
func TestBothHalvesOfAQuestionAreRetrieved(t *testing.T) {
	t.Parallel()
	for question, said := range map[string][]string{
		"What did the plumber want for fixing the boiler at first, and how much did we pay him in the end?": {
			"Kowalski looked at the boiler, he'd do the repair for 240 euros",
			"the invoice for the boiler is here: 310, because of the new valve",
		},
		"修锅炉最早报价多少，最后一共付了多少钱？": {"老周看了锅炉，开价 240", "锅炉的发票来了，一共 310，多了个阀门"},
	} {
		texts := recalledTexts(t, inLongChat(said...), question, 300)
		for _, s := range said {
			if !slices.Contains(texts, s) {
				t.Errorf("%q recalls %q without %q", question, texts, s)
			}
		}
	}
}

// If a question asks for a number, messages with one come first. Questions come after answers.
func TestAnswersAreRetrievedBeforeQuestions(t *testing.T) {
	t.Parallel()
	for question, said := range map[string][2]string{
		"How many tiles do we need?":   {"we need 64 tiles", "we need tiles, again"},
		"瓷砖要多少块？":                      {"瓷砖要六十块", "瓷砖要看颜色"},
		"Which colour have the tiles?": {"white colour, for the tiles", "grey colour for tiles maybe?"},
	} {
		// only one of them fits, and the newer one would win a tie
		texts := recalledTexts(t, inLongChat(said[:]...), question, utf8.RuneCountInString(said[0]))
		if !slices.Equal(texts, said[:1]) {
			t.Errorf("%q recalls %q", question, texts)
		}
	}
}

// The answer may share no word with the question, but some with the best match.
func TestASecondStepIsRetrieved(t *testing.T) {
	t.Parallel()
	for question, said := range map[string][2]string{
		"Who repaired our boiler, and what became of that man?": {
			"The boiler was repaired by Kowalski from Wilhelmshaven.",
			"Sad news from the paper: Kowalski has moved away, to Wilhelmshaven again.",
		},
		"锅炉是谁修的，他后来怎样了？": {"锅炉是欧阳师傅修的", "听说欧阳师傅搬回老家养蜂去了"},
	} {
		texts := recalledTexts(t, inLongChat(said[:]...), question, 300)
		for _, s := range said {
			if !slices.Contains(texts, s) {
				t.Errorf("%q recalls %q without %q", question, texts, s)
			}
		}
	}
}
