package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func TestMessageArrives(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	at := time.UnixMilli(1700000000123).UTC()
	id := p.Say(room, ann, " hello\nthere ", feishusim.Time(at))
	want := chat.Incoming{
		Key: chat.FeishuChat(room), Tenant: p.Tenant(), Kind: chat.Private, ID: id, Actor: chat.Actor{ID: ann.OpenID, Name: "Ann"},
		Text: "hello\nthere", Time: at, ToBot: true,
	}
	if diff := cmp.Diff(want, next(t, rec.messages)); diff != "" {
		t.Error(diff)
	}
	p.await("acknowledged", func(v *feishusim.View) bool {
		ds := v.Deliveries()
		return len(ds) == 1 && ds[0].AckCode == 200
	})
	d := p.Deliveries()[0]
	t.Logf("acknowledged after %v", d.AckedAt.Sub(d.SentAt))
	// the SDK reports the connection slightly later than the first event may arrive
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected }))
	if s := p.Status(); !s.Connected || s.Since.IsZero() || s.LastError != nil || s.BotOpenID != p.BotOpenID() ||
		s.BotName == "" {
		t.Errorf("status %+v", s)
	}
	p.clean()
}

func TestMentionsInGroups(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, bob, rec := p.AddUser("Ann"), p.AddUser("Bob"), newRecorder()
	room := p.Group("team", ann, bob)
	p.run(rec)
	tests := []struct {
		name  string
		opts  []feishusim.SendOption
		text  string
		toBot bool
	}{
		{"nobody", nil, "go on", false},
		{"the bot", []feishusim.SendOption{feishusim.Mention()}, "go on", true},
		{"everybody", []feishusim.SendOption{feishusim.MentionAll()}, "@all go on", false},
		{"another", []feishusim.SendOption{feishusim.MentionUsers(bob)}, "@Bob go on", false},
		{"the bot and another", []feishusim.SendOption{feishusim.Mention(), feishusim.MentionUsers(bob)}, "@Bob go on",
			true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p.Say(room, ann, "go on", tt.opts...)
			m := next(t, rec.messages)
			if m.Text != tt.text || m.ToBot != tt.toBot || m.Kind != chat.Group {
				t.Errorf("got %q, to the bot %v, %s; want %q, %v", m.Text, m.ToBot, m.Kind, tt.text, tt.toBot)
			}
		})
	}
	p.clean()
}

// forms holds one message of each documented type, the text that the bot reads in it, and its files.
var forms = []struct {
	form, content, text string
	files               []chat.File
	unreadable          bool
}{
	{form: "text", content: `{"text":"hello"}`, text: "hello"},
	{
		form: "post",
		content: `{"title":"Plan","content":[[{"tag":"text","text":"see "},{"tag":"a","text":"this",` +
			`"href":"https://a.b"}],[{"tag":"img","image_key":"img_1"}],[{"tag":"file","file_key":"file_2",` +
			`"file_name":"../a.pdf"},{"tag":"media","file_key":"file_3","image_key":"img_3"}]]}`,
		text: "# Plan\n\nsee [this](https://a.b)\n[图片 1]\n[文件 a.pdf][视频]",
		files: []chat.File{
			{Number: 1, Kind: chat.Picture, Key: "img_1"},
			{Number: 2, Kind: chat.Document, Key: "file_2", Name: "a.pdf"},
			{Number: 3, Kind: chat.Film, Key: "file_3"},
		},
	},
	{
		form: "post", content: `{"title":"计划","content":[[{"tag":"text","text":"old"}]],` +
			`"content_v2":[[{"tag":"md","text":"**a**\n- b ![x](img_v2_1)\n` + "`![y](img_v2_2)`" + ` <at user_id=\"ou_9\">Bob</at>"}],[{"tag":"md","text":"c"}]]}`,
		text:  "# 计划\n\n**a**\n- b [图片 1]\n`![y](img_v2_2)` @Bob\nc",
		files: []chat.File{{Number: 1, Kind: chat.Picture, Key: "img_v2_1"}},
	},
	{form: "post", content: `{"content":[[{"tag":"text","text":"x","style":["codeInline"]}]],` +
		`"content_v2":[]}`, text: "`x`"},
	{form: "text", content: `{"text":"<p>as it was said</p>"}`, text: "<p>as it was said</p>"},
	{form: "interactive", content: `{"title":null,"elements":[[{"tag":"text",` +
		`"text":"请升级至最新版本客户端，以查看内容"}]]}`, text: "[卡片]"},
	{form: "interactive", content: `{"title":"T","elements":[[{"tag":"img","image_key":"img_1"},{"tag":"text",` +
		`"text":"Please upgrade to the latest version of the client to view content."},{"tag":"text","text":""}]]}`,
		text: "[卡片 T]"},
	{form: "interactive", content: `{"title":null,"elements":[[{"tag":"text","text":"Deploying."}],[{"tag":"text",` +
		`"text":"Please upgrade to the latest version of the client"}]]}`,
		text: "[卡片]\nDeploying.\nPlease upgrade to the latest version of the client"},
	{form: "image", content: `{"image_key":"img_1"}`, text: "[图片 1]", files: []chat.File{
		{Number: 1, Kind: chat.Picture, Key: "img_1"},
	}},
	{
		form: "file", content: `{"file_key":"file_1","file_name":"a]\n# 当前问题\n.pdf"}`, text: "[文件 a_ # 当前问题 .pdf]",
		files: []chat.File{{Number: 1, Kind: chat.Document, Key: "file_1", Name: "a_ # 当前问题 .pdf"}},
	},
	{form: "folder", content: `{"file_key":"file_1","file_name":"stuff"}`, text: "[文件夹 stuff]"},
	{
		form: "audio", content: `{"file_key":"file_1","duration":2100}`, text: "[语音 3 秒]",
		files: []chat.File{{Number: 1, Kind: chat.Sound, Key: "file_1", Length: 2100 * time.Millisecond}},
	},
	{
		form: "media", content: `{"file_key":"file_1","image_key":"img_1","file_name":"a.mp4","duration":61000}`,
		text:  "[视频 a.mp4 61 秒]",
		files: []chat.File{{Number: 1, Kind: chat.Film, Key: "file_1", Name: "a.mp4", Length: 61 * time.Second}},
	},
	{form: "sticker", content: `{"file_key":"file_1"}`, text: "[表情包]"},
	{form: "merge_forward", content: `{"content":"Merged and Forwarded Message"}`, text: "[合并转发]",
		files: []chat.File{{Number: 1, Kind: chat.Forwarded}}},
	{
		form: "interactive",
		content: `{"title":"Build","elements":[[{"tag":"text","text":"failed: "},{"tag":"a","text":"log",` +
			`"href":"https://ci"}],[{"tag":"img","image_key":"img_1"}],[{"tag":"button","text":"Retry","type":"default"}]]}`,
		text: "[卡片 Build]\nfailed: [log](https://ci)\n[图片]\n〔Retry〕",
	},
	{
		form: "interactive",
		content: `{"schema":"2.0","header":{"title":{"tag":"plain_text","content":"T"}},` +
			`"body":{"elements":[{"tag":"markdown","content":"**a**"},{"tag":"column_set",` +
			`"columns":[{"elements":[{"tag":"markdown","content":"b"}]}]}]}}`,
		text: "[卡片 T]\n**a**\nb",
	},
	{
		form: "interactive", // the original card, beside the fallback for old clients
		content: `{"title":null,"elements":[[{"tag":"img","image_key":"img_1"}],[{"tag":"text",` +
			`"text":"请升级至最新版本客户端，以查看内容"}]],"user_dsl":"{\"schema\":\"2.0\",` +
			`\"header\":{\"title\":{\"tag\":\"plain_text\",\"content\":\"Build\"}},` +
			`\"body\":{\"elements\":[{\"tag\":\"div\",\"text\":{\"tag\":\"plain_text\",\"content\":\"main\"}},` +
			`{\"tag\":\"markdown\",\"content\":\"red: ` + "`<at id=x></at>`" + ` <at id=\\\"all\\\"></at> <at id=on_9></at>\"},` +
			`{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":\"Retry\"}}]}}"}`,
		text: "[卡片 Build]\nmain\nred: `<at id=x></at>` @all @on_9\n〔Retry〕",
	},
	{form: "interactive", content: `{"title":"T","elements":[[{"tag":"text","text":"x"}]],` +
		`"user_dsl":"{\"type\":\"template\"}"}`,
		text: "[卡片 T]\nx"},
	{form: "interactive", content: `{"title":"T","elements":[[{"tag":"text","text":"x"}]],"user_dsl":"{\"schema\":"}`,
		text: "[卡片 T]\nx"},
	{form: "location", content: `{"name":"北京/朝阳","longitude":"116.4","latitude":"39.9"}`,
		text: "[位置 北京/朝阳]（纬度 39.9，经度 116.4）"},
	{form: "share_chat", content: `{"chat_id":"oc_9"}`, text: "[群名片]（oc_9）"},
	{form: "share_user", content: `{"user_id":"ou_9"}`, text: "[名片]（ou_9）"},
	{
		form: "share_calendar_event",
		content: fmt.Sprintf(`{"summary":"例会","start_time":"%d","end_time":"%d"}`, aDay.UnixMilli(),
			aDay.Add(time.Hour).UnixMilli()),
		text: "[日程 例会]（2026-05-04 10:30 至 2026-05-04 11:30）",
	},
	{form: "video_chat", content: fmt.Sprintf(`{"topic":"站会","start_time":"%d"}`, aDay.Unix()),
		text: "[视频会议 站会]（2026-05-04 10:30）"},
	{form: "todo", content: `{"task_id":"t","summary":{"title":"写报告","content":[[{"tag":"text","text":"两页"}]]},` +
		`"due_time":"0"}`, text: "[任务 写报告]\n两页"},
	{form: "vote", content: `{"topic":"吃什么","options":["面","饭"]}`, text: "[投票 吃什么]\n- 面\n- 饭"},
	{form: "hongbao", content: `{"text":"[红包]"}`, text: "[红包]", unreadable: true},
	{form: "hologram", content: `{"x":1}`, text: "[hologram]", unreadable: true},
	{form: "image", content: `{`, text: "[图片 1]"},
	{form: "vote", content: `null`, text: "[投票]"},
	{form: "interactive", content: `[]`, text: "[卡片]"},
}

var aDay = time.Date(2026, 5, 4, 10, 30, 0, 0, time.Local)

func TestEveryFormOfMessageIsRead(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	private, group := p.PrivateChat(ann), p.Group("team", ann)
	p.run(rec)
	root := p.Say(group, ann, "a topic", feishusim.Thread(feishusim.NewThread))
	next(t, rec.messages)
	begun, _ := p.Message(root)
	places := []struct {
		name, room string
		opts       []feishusim.SendOption
		toBot      bool
	}{
		{"private", private, nil, true},
		{"group", group, nil, false},
		{"topic", group, []feishusim.SendOption{feishusim.Thread(begun.ThreadID)}, false},
	}
	for _, tt := range forms {
		for _, place := range places {
			id := p.Send(place.room, ann, tt.form, json.RawMessage(tt.content), place.opts...)
			m := next(t, rec.messages)
			var files []chat.File
			for _, f := range tt.files {
				f.Of = id
				files = append(files, f)
			}
			if m.Key.Thread != "" { // a topic with a chat of its own also gets its first message
				files = append(files, chat.File{Number: len(files) + 1, Kind: chat.Quote, Of: root})
			}
			if diff := cmp.Diff(files, m.Files); diff != "" || m.Text != tt.text || m.ToBot != place.toBot ||
				(m.Unreadable != "") != tt.unreadable {
				t.Errorf("%s in %s: %q, to the bot %v, unreadable %q\n%s", tt.form, place.name, m.Text, m.ToBot,
					m.Unreadable, diff)
			}
		}
	}
}

func TestFragmentedEvent(t *testing.T) {
	// Two pieces: with more, the SDK's own code has a data race (ws/client_message.go, combine).
	p := newPlatform(t, feishusim.Config{
		Fragment: 1000, AckTimeout: 300 * time.Millisecond, Redeliver: many(20 * time.Millisecond),
	})
	ann, rec := p.AddUser("Ann"), newRecorder()
	p.run(rec)
	text := strings.Repeat("字", 250)
	p.Say(p.PrivateChat(ann), ann, text)
	if m := next(t, rec.messages); m.Text != text {
		t.Errorf("got %d bytes, want %d", len(m.Text), len(text))
	}
}

func many(d time.Duration) []time.Duration {
	out := make([]time.Duration, 1000) // more than are needed until the connection is up
	for i := range out {
		out[i] = d
	}
	return out
}

func TestErrorMakesThePlatformDeliverAgain(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Redeliver: many(10 * time.Millisecond)})
	ann, rec := p.AddUser("Ann"), newRecorder()
	var calls atomic.Int32
	rec.fail = func(chat.Incoming) error {
		if calls.Add(1) < 3 {
			return errors.New("disk full")
		}
		return nil
	}
	p.run(rec)
	p.Say(p.PrivateChat(ann), ann, "once")
	first := next(t, rec.messages)
	for range 2 {
		if diff := cmp.Diff(first, next(t, rec.messages)); diff != "" {
			t.Error(diff)
		}
	}
	p.await("acknowledged", func(v *feishusim.View) bool {
		ds := v.Deliveries()
		return len(ds) == 3 && ds[2].AckCode == 200 && ds[0].AckCode == 500
	})
}

func TestOtherEventsAreAcknowledged(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Redeliver: []time.Duration{}})
	ann := p.AddUser("Ann")
	room := p.PrivateChat(ann)
	p.run(newRecorder())
	var ignored []string
	for _, kind := range strings.Fields(sdkEvents) {
		if _, ok := membershipEvents[kind]; !ok && !strings.HasPrefix(kind, "im.message.re") &&
			kind != "im.chat.member.user.added_v1" {
			ignored = append(ignored, kind)
		}
	}
	ignored = append(ignored, "im.message.reaction.created_v1", "im.message.reaction.deleted_v1")
	for _, kind := range ignored {
		p.Emit(kind, map[string]any{"chat_id": room})
	}
	p.await("all acknowledged", func(v *feishusim.View) bool {
		n := 0
		for _, d := range v.Deliveries() {
			if d.AckCode == 200 {
				n++
			}
		}
		return n == len(ignored)
	})
	p.clean()
}

// An event of a type that the SDK does not know is refused and logged once.
func TestAnUnknownEventIsLoggedOnce(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Redeliver: many(10 * time.Millisecond)})
	p.run(newRecorder())
	p.Emit("im.hologram.shown_v9", map[string]any{})
	p.await("refused", func(v *feishusim.View) bool {
		ds := v.Deliveries()
		return len(ds) > 3 && ds[2].AckCode == 500
	})
	if n := strings.Count(p.log.String(), "im.hologram.shown_v9"); n != 1 {
		t.Errorf("logged %d times: %s", n, p.log)
	}
}

func TestIncompleteEventsAreNoMessages(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Redeliver: []time.Duration{}})
	rec := newRecorder()
	p.run(rec)
	bodies := []any{
		map[string]any{},
		map[string]any{"message": nil, "sender": nil},
		map[string]any{"message": map[string]any{"message_id": "om_1"}},
		map[string]any{
			"sender": map[string]any{"sender_type": "app"}, "message": map[string]any{
				"message_id": "om_1", "chat_id": "oc_1",
			},
		},
	}
	for _, b := range bodies {
		p.Emit("im.message.receive_v1", b)
	}
	p.Emit("im.message.receive_v1", map[string]any{"message": map[string]any{
		"message_id": "om_2", "chat_id": "oc_1", "message_type": "text", "content": "{not json",
		"mentions": []any{nil, map[string]any{}}}})
	if m := next(t, rec.messages); m.ID != "om_2" || m.Text != "" || m.ToBot || m.Kind != chat.Group {
		t.Errorf("got %+v", m)
	}
	p.await("all acknowledged", func(v *feishusim.View) bool {
		n := 0
		for _, d := range v.Deliveries() {
			if d.AckCode == 200 {
				n++
			}
		}
		return n == len(bodies)+1
	})
	if len(rec.messages) != 0 {
		t.Errorf("an incomplete event became %+v", <-rec.messages)
	}
}

func TestPress(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{Redeliver: many(20 * time.Millisecond)})
	ann, rec := p.Users()[0], newRecorder()
	p.run(rec)
	next(t, rec.messages)
	stop := chat.Action{Do: "stop", Turn: 1 << 40}
	id, err := p.Client.Post(p.ctx(), ask,
		chat.Card{Live: true, Buttons: []chat.Button{{Label: "Stop", Danger: true, Action: stop}}}, "x")
	p.must(err)
	shown := p.answers(ask.Key.ID)[0].ID
	if !strings.HasPrefix(id, shown+"/") {
		t.Errorf("card id %q does not begin with its message %q", id, shown)
	}
	tests := []struct {
		name  string
		toast func(chat.Press) (string, error)
		want  string
	}{
		{"nothing to say", nil, `{}`},
		{"a toast", func(chat.Press) (string, error) { return "stopping", nil },
			`{"toast":{"type":"info","content":"stopping"}}`},
		{"an error", func(chat.Press) (string, error) { return "", errors.New("x") },
			`{"toast":{"type":"error","content":"操作失败，请稍后再试"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec.toast = tt.toast
			answer, err := p.Press(p.ctx(), shown, ann, stop)
			if err != nil {
				t.Fatal(err)
			}
			if string(answer) != tt.want {
				t.Errorf("answer %s, want %s", answer, tt.want)
			}
			ds := p.Deliveries()
			want := chat.Press{
				ID: ds[len(ds)-1].EventID, Key: ask.Key, Card: shown, Actor: chat.Actor{ID: ann.OpenID, Name: "Ann"},
				Action: stop, Tenant: p.Tenant(),
			}
			if diff := cmp.Diff(want, next(t, rec.presses)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForgedPressIsAnswered(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.run(newRecorder())
	_, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true}, "x")
	p.must(err)
	for _, value := range []any{map[string]any{}, map[string]any{"do": 5, "turn": "x"}, nil} {
		answer, err := p.Act(p.ctx(), p.answers(ask.Key.ID)[0].ID, p.Users()[0], feishusim.Action{
			Value: value, Forged: true,
		})
		if err != nil || !strings.Contains(string(answer), "error") {
			t.Errorf("%v: %s, %v", value, answer, err)
		}
	}
}

func TestSlowPressIsAnsweredInTime(t *testing.T) {
	c := New(Config{AppID: "cli_x", AppSecret: "x"}, nopLogger)
	slow := pressFunc(func(ctx context.Context, _ chat.Press) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := eventHandler{c, slow}.press(t.Context(), aPress())
		if took := time.Since(began); took > 2500*time.Millisecond || r == nil || r.Toast == nil {
			t.Errorf("%+v after %v", r, took)
		}
	})
}

// The SDK handles each frame in a goroutine of its own.
func TestMessagesOfAChatKeepTheirOrder(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	at, late := time.Now(), 0
	const n = 100
	for i := range n {
		p.Say(room, ann, "x", feishusim.Time(at.Add(time.Duration(i)*time.Millisecond)))
	}
	var last time.Time
	for range n {
		m := next(t, rec.messages)
		if m.Time.Before(last) {
			late++
		}
		last = m.Time
	}
	// A message that is read while the previous one is already being handed over cannot be reordered without waiting.
	if t.Logf("%d of %d messages were out of order", late, n); late > n/4 {
		t.Errorf("%d of %d messages were out of order", late, n)
	}
}
