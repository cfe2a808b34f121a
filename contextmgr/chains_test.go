package contextmgr

import (
	"slices"
	"testing"
	"time"
)

// Days that messages name, sent on Wednesday, 2026-05-20.
func TestDaysThatMessagesName(t *testing.T) {
	sent := time.Date(2026, 5, 20, 15, 4, 5, 0, time.UTC)
	for text, want := range map[string][]string{
		"we met yesterday":                          {"2026-05-19"},
		"the parcel comes tomorrow":                 {"2026-05-21"},
		"they deliver the day after tomorrow":       {"2026-05-22"},
		"on Friday she moves":                       {"2026-05-22", "2026-05-15"},
		"next Monday at ten":                        {"2026-05-25"},
		"it was April 3":                            {"2026-04-03"},
		"in April":                                  nil, // too long
		"上周三签的合同":                                   {"2026-05-13"},
		"下周三去签":                                     {"2026-05-27"},
		"后天验收":                                      {"2026-05-22"},
		"4月3日到货":                                    {"2026-04-03"},
		"nothing of the kind":                       nil,
		"every birthday is a good day for the cake": nil,
	} {
		var got []string
		for _, s := range daysNamed(text, sent) {
			got = append(got, s.from.Format(time.DateOnly))
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%q names %v, want %v", text, got, want)
		}
	}
}

// onDays puts each text among chatter, each on its day.
func onDays(texts map[string]string) evalChat {
	c := inLongChat()
	began := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for i := range c.msgs {
		c.msgs[i].Time = began.Add(time.Duration(i) * time.Minute)
	}
	chatter := c.msgs[0]
	for day := range 60 {
		at := began.AddDate(0, 0, day+1)
		for k := range 6 {
			m := chatter
			m.ID, m.Time = at.Format("om_0102")+string(rune('a'+k)), at.Add(time.Duration(k)*10*time.Minute)
			m.Text = "chatter of hour " + string(rune('a'+k)) + at.Format(" 0102")
			if text, ok := texts[at.Format(time.DateOnly)]; ok && k == 5 {
				m.Text = text
			}
			c.msgs = append(c.msgs, m)
		}
	}
	return c
}

// A day that the first hits name, or an event of which the question speaks, leads to the messages of that day.
func TestADayLeadsToItsMessages(t *testing.T) {
	t.Parallel()
	for question, texts := range map[string]map[string]string{
		"what is known of the notary?": {
			"2026-04-20": "the notary is booked, we saw her on April 6", "2026-04-06": "signed, sealed, and coffee after it",
		},
		"公证处那边怎么样": {"2026-04-20": "公证处约好了，材料 4月6日 交的", "2026-04-06": "全部盖章，顺利"},
		"what went wrong the day after the zeppelin launch?": {
			"2026-04-06": "the zeppelin launch is done", "2026-04-07": "half of the lamps are dark",
		},
		"飞艇上线的第二天出了什么毛病？": {"2026-04-06": "飞艇上线了", "2026-04-07": "一半的灯都黑了"},
	} {
		c := onDays(texts)
		var want []string
		for _, text := range texts {
			want = append(want, text)
		}
		got := recalledTexts(t, c, question, 500)
		for _, text := range want {
			if !slices.Contains(got, text) {
				t.Errorf("%q recalls %q without %q", question, got, text)
			}
		}
	}
}
