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

// Of lines that say one thing in other words, the newest is retrieved, which leaves room for others.
func TestOneThingInOtherWordsIsRetrievedOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		question, other string
		lines           []string
	}{
		{"How is our home network set up?", "The network cable to the attic is broken", []string{
			"Configured the Omada router, set VLAN 10 for IoT devices in our home network",
			"Omada router at home configured, moved IoT to VLAN 10 of the network",
			"IoT gadgets in the home network now live in VLAN 10, set on the Omada router",
			"On the home router (Omada) all IoT devices of the network were put into VLAN 10",
			"Omada: IoT devices have VLAN 10 in the home network now",
		}},
		{"家里的网络是怎么配置的？", "阁楼的网线断了，网络要等下周修", []string{
			"配置了家里网络的 Omada 路由器，给 IoT 设备划了 VLAN 10", "家里网络的 Omada 路由器配好了，IoT 都移到 VLAN 10",
			"把家里网络的智能设备放到 VLAN 10，在 Omada 上设置的", "家里的网络，路由器（Omada）上 IoT 设备现在都在 VLAN 10",
			"IoT 设备用 VLAN 10，已经在家里网络的 Omada 路由器里改好",
		}},
		{"网络怎么了？", "网络中心的老王周五退休", []string{
			"网络连接失败", "网络连不上", "连接网络出错", "无法连接到网络", "网络又连接不上了",
		}},
		{"什么是神经网络？", "神经网络那本书在小李桌上", []string{
			"神经网络由很多层神经元组成", "多层神经元构成了神经网络", "一个神经网络包含许多层的神经元", "神经网络就是一层一层的神经元",
			"神经元分成多层，组成神经网络",
		}},
		{"Why is the network at the office so slow?", "The network at the office was paid for until May", []string{
			"the office network is too slow", "office internet is really slow", "The network at the office is very slow today",
			"our office wifi is so slow", "slow network in the office again",
		}},
		{"视频会议为什么卡？", "视频会议改用新的摄像头", []string{
			"网络延迟很高，视频会议卡顿", "视频会议总是卡，因为网络延迟高", "开视频会的时候很卡，网络延迟太大了", "延迟高，网络不好，视频会议卡住",
			"视频会议卡顿是网络延迟造成的",
		}},
		{"When is the database backed up?", "The database backup needs 40 GB", []string{
			"The database backup runs at 3 am every night", "Every night at 3 am the database is backed up",
			"Backups of the database happen nightly at 3 am", "At 3 am each night we back up the database", "nightly database backup: 3 am",
		}},
	} {
		texts := recalledTexts(t, inLongChat(append(slices.Clone(tc.lines), tc.other)...), tc.question, 5000)
		same := slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return !slices.Contains(tc.lines, s) })
		if !slices.Equal(same, tc.lines[len(tc.lines)-1:]) || !slices.Contains(texts, tc.other) {
			t.Errorf("%q recalls %q", tc.question, texts)
		}
	}
}

// Lines that share most words may still say different things: of another person, number, place or author.
func TestDifferentThingsInTheSameWordsAreRetrieved(t *testing.T) {
	t.Parallel()
	for question, lines := range map[string][]string{
		"Who is allergic?":                {"Tom is allergic to peanuts", "Ann is allergic to peanuts"},
		"谁过敏？":                            {"小明对花生过敏", "小红对花生过敏", "小明对猫毛过敏"},
		"Which phone numbers do we have?": {"Ann's phone number is 555-1234", "the plumber's phone number is 555-9876"},
		"Where are the databases?":        {"the database for staging is on 10.0.0.5", "production has its database on 10.0.0.9"},
		"数据库在哪里？":                         {"测试环境的数据库放在 10.0.0.5", "10.0.0.9 上是生产环境的数据库"},
		"跑步跑了多少公里？":                       {"周一跑步 5 公里，28 分钟", "跑步周三 8 公里，47 分钟"},
	} {
		texts := recalledTexts(t, inLongChat(lines...), question, 5000)
		for _, l := range lines {
			if !slices.Contains(texts, l) {
				t.Errorf("%q recalls %q without %q", question, texts, l)
			}
		}
	}
	mine := inLongChat("I am allergic to peanuts and cats", "I am allergic to peanuts, cats")
	for i := range mine.msgs {
		mine.msgs[i].Actor = chat.Actor{ID: fmt.Sprint("ou_", i%2), Name: "Ann"}
	}
	texts := recalledTexts(t, mine, "Who is allergic to peanuts?", 5000)
	if !slices.Contains(texts, "I am allergic to peanuts and cats") || !slices.Contains(texts, "I am allergic to peanuts, cats") {
		t.Errorf("of two people is recalled %q", texts)
	}
}
