package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// postFile posts a message of Ann and returns its files as the Handler gets them.
func (p *platform) postFile(rec *recorder, room, form, content string) chat.Incoming {
	p.t.Helper()
	p.Send(room, p.Users()[0], form, json.RawMessage(content))
	return next(p.t, rec.messages)
}

func TestFilesAreDownloaded(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	picture := p.Server.Upload("x.png", "image/png", []byte("a picture"))
	report := p.Server.Upload("a.json", "application/json", []byte(`["code",1]`))
	film := p.Server.Upload("a.mp4", "video/mp4", []byte("a film"))
	post := fmt.Sprintf(`{"content":[[{"tag":"text","text":"see"},{"tag":"img","image_key":%q},{"tag":"media",`+
		`"file_key":%q,"image_key":"img_x"}]]}`, picture, film)
	for _, tt := range []struct{ form, content, want string }{
		{"image", fmt.Sprintf(`{"image_key":%q}`, picture), "a picture"},
		{"file", fmt.Sprintf(`{"file_key":%q,"file_name":"a.json"}`, report), `["code",1]`},
		{"media", fmt.Sprintf(`{"file_key":%q,"image_key":"img_x","file_name":"a.mp4","duration":2500}`, film),
			"a film"},
		{"post", post, "a picturea film"},
	} {
		m := p.postFile(rec, room, tt.form, tt.content)
		var got bytes.Buffer
		for _, f := range m.Files {
			p.must(p.Download(p.ctx(), f, 1000, &got))
		}
		if got.String() != tt.want || m.Unreadable != "" {
			t.Errorf("%s: %q of %+v", tt.form, got.String(), m)
		}
	}
	p.clean()
}

// slack is how much may still be buffered in a loopback connection that is no longer read.
const slack = 16 << 20

func TestDownloadsAreBounded(t *testing.T) {
	const most = 1 << 20
	for _, tt := range []struct {
		name   string
		stream feishusim.Stream
		within time.Duration
		want   error
		served int64
	}{
		{"a gigabyte, as told", feishusim.Stream{Size: 1 << 30, Declare: true}, time.Minute, chat.ErrTooBig, most +
			slack},
		{"a gigabyte, untold", feishusim.Stream{Size: 1 << 30}, time.Minute, chat.ErrTooBig, most + slack},
		{"one byte too much", feishusim.Stream{Size: most + 1}, time.Minute, chat.ErrTooBig, most + 1},
		{"just enough", feishusim.Stream{Size: most}, time.Minute, nil, most},
		{"drop by drop", feishusim.Stream{Size: 1 << 30, Piece: 1, Pause: 5 * time.Millisecond}, 300 * time.Millisecond,
			context.DeadlineExceeded, 10_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlatform(t, feishusim.Config{})
			ann, rec := p.AddUser("Ann"), newRecorder()
			room := p.PrivateChat(ann)
			p.run(rec)
			key := p.UploadStream("big.bin", "application/octet-stream", tt.stream)
			m := p.postFile(rec, room, "file", fmt.Sprintf(`{"file_key":%q,"file_name":"big.bin"}`, key))
			ctx, cancel := context.WithTimeout(p.ctx(), tt.within)
			defer cancel()
			var got bytes.Buffer
			if err := p.Download(ctx, m.Files[0], most, &got); !errors.Is(err, tt.want) ||
				(err == nil) != (tt.want == nil) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if got.Len() > most+1 || p.Served(key) > tt.served {
				t.Errorf("took %d bytes, and %d were sent; want %d at most", got.Len(), p.Served(key), tt.served)
			}
			p.clean()
		})
	}
}

func TestDownloadsThatFail(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	key := p.Server.Upload("a.txt", "text/plain", []byte("words"))
	m := p.postFile(rec, room, "file", fmt.Sprintf(`{"file_key":%q,"file_name":"a.txt"}`, key))
	var got bytes.Buffer
	p.ExpireTokens()
	p.must(p.Download(p.ctx(), m.Files[0], 100, &got))
	if got.String() != "words" {
		t.Errorf("with a token that was revoked: %q", got.String())
	}
	wrong := m.Files[0]
	wrong.Key = "file_v3_none"
	var e *openapi.Error
	if err := p.Download(p.ctx(), wrong, 100, &got); !errors.As(err, &e) || e.Code != 234003 {
		t.Errorf("an unknown key: %v", err)
	}
	huge := p.Server.Upload("h.bin", "application/octet-stream", make([]byte, 100<<20+1))
	h := p.postFile(rec, room, "file", fmt.Sprintf(`{"file_key":%q,"file_name":"h.bin"}`, huge))
	if err := p.Download(p.ctx(), h.Files[0], 1<<40, &got); !errors.Is(err, chat.ErrTooBig) {
		t.Errorf("larger than the platform's limit: %v", err)
	}
	p.Recall(m.ID)
	if err := p.Download(p.ctx(), m.Files[0], 100, &got); !errors.Is(err, chat.ErrGone) {
		t.Errorf("of a recalled message: %v", err)
	}
}

func TestQuotes(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	bob := p.AddUser("Bob")
	room, other := p.Group("team", ann, bob), p.PrivateChat(ann)
	p.run(rec)
	key := p.Server.Upload("a.txt", "text/plain", []byte("words"))
	first := p.Send(room, bob, "file", json.RawMessage(fmt.Sprintf(`{"file_key":%q,"file_name":"a.txt"}`, key)))
	next(t, rec.messages)
	p.Say(room, ann, "sum it up", feishusim.Mention(), feishusim.ReplyTo(first))
	m := next(t, rec.messages)
	if len(m.Files) != 1 || m.Files[0].Kind != chat.Quote || m.Quoted() != first || m.Text != "sum it up" {
		t.Fatalf("got %+v", m)
	}
	q, err := p.FetchQuoted(p.ctx(), m.Key, first)
	p.must(err)
	if q.Actor.Name != "Bob" || q.Text != "[文件 a.txt]" || len(q.Files) != 1 || q.Files[0].Of != first ||
		q.Files[0].Key != key {
		t.Errorf("quoted %+v", q)
	}
	answer, err := p.Reply(p.ctx(), chat.Ref{Key: m.Key, ID: m.ID}, "done", "seed")
	p.must(err)
	if q, err := p.FetchQuoted(p.ctx(), m.Key, answer); err != nil || q.Actor != (chat.Actor{}) ||
		!strings.Contains(q.Text, "done") {
		t.Errorf("the bot's own: %+v, %v", q, err)
	}
	if _, err := p.FetchQuoted(p.ctx(), chat.FeishuChat(other), first); !errors.Is(err, chat.ErrGone) {
		t.Errorf("a message of another chat: %v", err)
	}
	p.Recall(first)
	if _, err := p.FetchQuoted(p.ctx(), m.Key, first); !errors.Is(err, chat.ErrGone) {
		t.Errorf("a recalled one: %v", err)
	}
	p.Say(room, ann, "in a topic", feishusim.Mention(), feishusim.ReplyTo(m.ID), feishusim.Thread(feishusim.NewThread))
	if m := next(t, rec.messages); len(m.Files) != 0 && m.Key.Thread == "" {
		t.Errorf("a topic's first message is quoted every time: %+v", m)
	}
}

// A card of version 2.0 is quoted from its original JSON, not from the fallback for old clients. The platform returns
// that JSON as a string or as an object.
func TestQuotedCards(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.Client = p.configured(Config{AnswerBots: true})
	ann, other, rec := p.AddUser("Ann"), p.AddApp("Other"), newRecorder()
	room := p.Group("team", ann)
	p.run(rec)
	for _, author := range []feishusim.User{other, ann} {
		id := p.Send(room, author, "interactive", json.RawMessage(`{"schema":"2.0","header":{"title":{"content":"CI"}},`+
			`"body":{"elements":[{"tag":"markdown","content":"**built** in 3 s"}]}}`))
		m := next(t, rec.messages)
		if q, err := p.FetchQuoted(p.ctx(), m.Key, id); err != nil || q.Text != "[卡片 CI]\n**built** in 3 s" {
			t.Errorf("of %s: %+v, %v", author.Name, q, err)
		}
	}
}

// A forward may be listed among its own parts.
func TestAForwardThatContainsItself(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	const item = `{"message_id":"%s","msg_type":"text","create_time":"1","chat_id":"oc_1",` +
		`"sender":{"sender_name":"Ann"},"body":{"content":"{\"text\":\"%[1]s\"}"}}`
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/messages/", Status: 200, Body: `{"code":0,"data":{"items":[` +
		strings.Join([]string{fmt.Sprintf(item, "om_root"), fmt.Sprintf(item, "om_root"), fmt.Sprintf(item, "om_part")},
			",") + `]}}`})
	got, err := p.FetchForwarded(p.ctx(), chat.FeishuChat("oc_1"), "om_root")
	if err != nil || !strings.Contains(got, "> om_part") || strings.Contains(got, "> om_root") ||
		strings.Contains(got, "没有列出") {
		t.Errorf("%q, %v", got, err)
	}
}

// The platform answers with an internal error when it cannot return the cards of a forward. That is final: it is
// neither retried nor counted as an outage.
func TestQuotedForwards(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	forward := p.Forward(room, ann, []string{p.Say(room, ann, "one")})
	m := next(t, rec.messages)
	const quotes = 2 * 5 // more failures than open the circuit
	var all sync.WaitGroup
	for range quotes {
		all.Go(func() {
			if q, err := p.FetchQuoted(p.ctx(), m.Key, forward); err != nil ||
				q.Text != "[合并转发]" || q.Actor.Name != "Ann" {
				t.Errorf("quoted: %+v, %v", q, err)
			}
		})
	}
	all.Wait()
	statuses := map[int]int{}
	for _, c := range p.Calls() {
		if c.Route == "GET /open-apis/im/v1/messages/{message_id}" {
			statuses[c.Status]++
		}
	}
	if statuses[500] != quotes || statuses[200] != quotes || len(statuses) != 2 {
		t.Errorf("%d quotes were read with these answers: %v", quotes, statuses)
	}
	if p.Status().CircuitOpen || p.Status().Calls.Unknown != 0 || strings.Contains(p.log.String(), "is not responding") {
		t.Errorf("counted as an outage: %+v\n%s", p.Status(), p.log)
	}
}

// However many updates are reported for a message without its text, it is fetched twice within a second: for the first
// and for the last one.
func TestManyUpdatesOfAMessage(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	id := p.Say(room, ann, "one")
	next(t, rec.messages)
	for range 6 {
		p.Emit("im.message.updated_v1", map[string]any{"message": map[string]any{"message_id": id}})
	}
	p.await("acknowledged", func(v *feishusim.View) bool {
		n := 0
		for _, d := range v.Deliveries() {
			if d.AckCode == 200 {
				n++
			}
		}
		return n == 7
	})
	reads := 0
	for _, c := range p.Calls() {
		if c.Method == "GET" && strings.HasSuffix(c.Path, "/messages/"+id) {
			reads++
		}
	}
	if reads > 2 || len(rec.edits) != reads {
		t.Errorf("fetched %d times, %d edits", reads, len(rec.edits))
	}
}

// An update may bring its text as the platform keeps an edited one: in paragraphs.
func TestAnUpdateThatBringsItsText(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	id := p.Say(room, ann, "one")
	next(t, rec.messages)
	p.Emit("im.message.updated_v1", map[string]any{
		"sender": map[string]any{"sender_type": "user", "sender_id": map[string]string{"open_id": ann.OpenID}},
		"message": map[string]any{
			"message_id": id, "chat_id": room, "chat_type": "p2p", "message_type": "text", "create_time": "1700000000000",
			"content": `{"text":"<p>one</p><p>two</p>"}`,
		},
	})
	if got := next(t, rec.edits).Text; got != "one\ntwo" {
		t.Errorf("edited to %q", got)
	}
}

// An update may name only its message. In a private chat that is still a message to the bot, also for a process that has
// not seen the chat before.
func TestABareUpdateInAPrivateChat(t *testing.T) {
	for name, restarted := range map[string]bool{"the same process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			p := newPlatform(t, feishusim.Config{})
			ann, rec := p.AddUser("Ann"), newRecorder()
			room := p.PrivateChat(ann)
			id := p.Say(room, ann, "one")
			if restarted {
				rec.private = func(string) (chat.Key, error) { return chat.FeishuChat(room), nil }
			}
			p.run(rec)
			if !restarted {
				p.Say(room, ann, "two")
				next(t, rec.messages)
			}
			p.Emit("im.message.updated_v1", map[string]any{"message": map[string]any{"message_id": id, "chat_id": room}})
			if m := next(t, rec.edits); m.Kind != chat.Private || !m.ToBot || m.Text != "one" {
				t.Errorf("%+v", m)
			}
		})
	}
}

// The event of an edit may be delivered again after that of a later edit.
func TestAnEarlierEditComesAgain(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	id := p.Say(room, ann, "one")
	next(t, rec.messages)
	edit := func(text, at string) {
		p.Emit("im.message.updated_v1", map[string]any{
			"sender": map[string]any{"sender_type": "user", "sender_id": map[string]string{"open_id": ann.OpenID}},
			"message": map[string]any{
				"message_id": id, "chat_id": room, "chat_type": "p2p", "message_type": "text", "create_time": "1700000000000",
				"update_time": at, "content": fmt.Sprintf(`{"text":%q}`, text),
			},
		})
	}
	edit("two", "1700000001000")
	next(t, rec.edits)
	edit("three", "1700000002000")
	next(t, rec.edits)
	edit("two", "1700000001000")
	p.await("acknowledged", func(v *feishusim.View) bool {
		ds := v.Deliveries()
		return len(ds) == 4 && ds[3].AckCode == 200
	})
	for _, at := range []string{"1700000002000", "1700000003000", ""} { // the same, a later one, of unknown time
		edit("four", at)
		if got := next(t, rec.edits).Text; got != "four" {
			t.Errorf("at %q: edited to %q", at, got)
		}
	}
}

// Without its author nobody may have an edit answered, so the message is read back although the event has the text.
func TestAnUpdateWithoutItsAuthor(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	id := p.Say(room, ann, "one")
	next(t, rec.messages)
	p.Emit("im.message.updated_v1", map[string]any{"message": map[string]any{
		"message_id": id, "chat_id": room, "chat_type": "p2p", "message_type": "text", "content": `{"text":"one"}`,
	}})
	if m := next(t, rec.edits); m.Actor.ID != ann.OpenID || m.Kind != chat.Private || m.Text != "one" {
		t.Errorf("%+v", m)
	}
}

// A message of a chat stays one, and the group stays what it is, when a topic was started on the message before it is
// edited: the event of the edit names that topic.
func TestAnEditOfAMessageWithATopic(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	p.Client = p.configured(Config{Topics: true})
	room := p.Group("team", ann)
	p.run(rec)
	id := p.Say(room, ann, "one", feishusim.Mention())
	next(t, rec.messages)
	p.Say(room, ann, "about it", feishusim.ReplyTo(id), feishusim.Thread(feishusim.NewThread))
	if m := next(t, rec.messages); m.Key.Thread == "" {
		t.Fatalf("in the topic: %+v", m)
	}
	p.Server.Edit(id, json.RawMessage(`{"text":"two"}`))
	if m := next(t, rec.edits); m.Key != chat.FeishuChat(room) || m.Text != "two" {
		t.Errorf("edited: %+v", m)
	}
	if mode, err := p.topics.groupMode(p.ctx(), room); err != nil || mode != modeChat {
		t.Errorf("the group's mode is %v, %v", mode, err)
	}
}

// The platform may report each change of the bot's own cards. None of these reports leads to a call.
func TestOwnCardsAreNoEdits(t *testing.T) {
	for name, told := range map[string]feishusim.CardUpdates{
		"of the bot": feishusim.CardUpdatesOfBot, "without sender and text": feishusim.CardUpdatesBare,
	} {
		t.Run(name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{CardUpdates: told})
			id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
			p.must(err)
			p.Client = p.another() // another process takes over the card
			rec := newRecorder()
			p.run(rec)
			for _, body := range []string{"a b", "a b c"} {
				p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: body}))
			}
			p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "a b c d"}))
			p.Inject(feishusim.Fault{Path: cardAPI, Code: 300313, Msg: "no cards"})
			plain, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "e"}, "plain")
			p.must(err)
			p.must(p.Client.Close(p.ctx(), plain, chat.Card{Body: "e f"}))
			for _, own := range []string{p.AppID(), p.BotOpenID()} { // a message that is not known to be the bot's own
				p.Emit("im.message.updated_v1", map[string]any{
					"sender":  map[string]any{"sender_id": map[string]string{"open_id": own}},
					"message": map[string]string{"message_id": ask.ID},
				})
			}
			changes := 2
			for _, m := range p.answers(ask.Key.ID) {
				changes += len(m.States) - 1
			}
			p.await("acknowledged", func(v *feishusim.View) bool {
				updates := 0
				for _, d := range v.Deliveries() {
					if d.EventType == "im.message.updated_v1" && d.AckCode == 200 {
						updates++
					}
				}
				return updates == changes
			})
			if changes < 6 || len(rec.edits) != 0 {
				t.Errorf("%d changes, %d edits", changes, len(rec.edits))
			}
			for _, c := range p.Calls() {
				if c.Method == "GET" && strings.Contains(c.Path, "/messages") {
					t.Errorf("read: %s", c.Path)
				}
			}
		})
	}
}

func TestForwardsAreATree(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	stranger := feishusim.User{OpenID: "ou_stranger", Name: "nobody knows"}
	at := time.Date(2026, 5, 4, 10, 30, 0, 0, time.Local)
	p.run(rec)
	ids := []string{
		p.Say(room, ann, "one\n# 当前问题\n- Bob（2026-05-04 10:30）", feishusim.Time(at)),
		p.Send(room, ann, "image", json.RawMessage(`{"image_key":"img_1"}`), feishusim.Time(at.Add(time.Minute))),
	}
	inner := p.Forward(room, stranger, []string{p.Say(room, stranger, "deep", feishusim.Time(at))}, feishusim.Time(at))
	outer := p.Forward(room, ann, append(ids, inner))
	var m chat.Incoming
	for range 5 { // the order of delivery varies
		if got := next(t, rec.messages); got.ID == outer {
			m = got
		}
	}
	if m.Text != "[合并转发]" || len(m.Files) != 1 || m.Files[0].Kind != chat.Forwarded || m.Files[0].Of != outer {
		t.Fatalf("got %+v", m)
	}
	if q, err := p.FetchQuoted(p.ctx(), m.Key, outer); err != nil || q.Text != "[合并转发]" {
		t.Errorf("quoted: %+v, %v", q, err)
	}
	text, err := p.FetchForwarded(p.ctx(), m.Key, outer)
	p.must(err)
	want := `- Ann（2026-05-04 10:30）
  > one
  > # 当前问题
  > - Bob（2026-05-04 10:30）
- nobody knows（2026-05-04 10:30）
  > [合并转发]
  - nobody knows（2026-05-04 10:30）
    > deep
- Ann（2026-05-04 10:31）
  > [图片 1]`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	var many []string
	for range maxPassedOn + 7 {
		many = append(many, ids[0])
	}
	text, err = p.FetchForwarded(p.ctx(), m.Key, p.Forward(room, ann, many))
	p.must(err)
	if n := strings.Count("\n"+text, "\n- "); n > maxPassedOn || !strings.HasSuffix(text, "条没有列出）") ||
		len([]rune(text)) > longestPassed+longestMessage+200 {
		t.Errorf("%d entries, %d runes: …%s", n, len([]rune(text)), text[max(0, len(text)-100):])
	}
	p.clean()
}

// Cards in a merged forward are read from their original JSON, if the platform returns it.
func TestCardsInForwards(t *testing.T) {
	for given, want := range map[bool]string{true: "[卡片 告警]\n  > 磁盘满了", false: "[卡片]"} {
		t.Run(fmt.Sprintf("given: %t", given), func(t *testing.T) {
			p := newPlatform(t, feishusim.Config{ForwardedCards: given})
			ann := p.AddUser("Ann")
			room := p.PrivateChat(ann)
			alarm := p.Send(room, p.AddApp("Monitor"), "interactive", json.RawMessage(`{"schema":"2.0","header":{"title":`+
				`{"tag":"plain_text","content":"告警"}},"body":{"elements":[{"tag":"markdown","content":"磁盘满了"}]}}`))
			text, err := p.FetchForwarded(p.ctx(), chat.FeishuChat(room), p.Forward(room, ann, []string{alarm}))
			if _, said, _ := strings.Cut(text, "\n  > "); err != nil || said != want {
				t.Errorf("%q, %v, want %q", text, err, want)
			}
		})
	}
}

// A merged forward without cards is fetched with one call, which the platform does not refuse.
func TestAForwardIsFetchedOnce(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann := p.AddUser("Ann")
	room := p.PrivateChat(ann)
	forward := p.Forward(room, ann, []string{p.Say(room, ann, "one")})
	text, err := p.FetchForwarded(p.ctx(), chat.FeishuChat(room), forward)
	if n := p.callsTo("/open-apis/im/v1/messages/*/" + forward); err != nil || !strings.HasSuffix(text, "> one") || n != 1 {
		t.Errorf("%q, %v, after %d calls", text, err, n)
	}
}

func TestEditsAndRecallsAreReported(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.Group("team", ann)
	p.run(rec)
	id := p.Say(room, ann, "one", feishusim.Mention())
	first := next(t, rec.messages)
	p.Server.Edit(id, json.RawMessage(`{"text":"two"}`))
	if m := next(t, rec.edits); m.ID != id || m.Text != "two" || !m.ToBot || m.Actor != first.Actor ||
		!m.Time.Equal(first.Time) {
		t.Errorf("edited: %+v", m)
	}
	p.Emit("im.message.updated_v1", map[string]any{"message": map[string]any{"message_id": id}})
	if m := next(t, rec.edits); m.ID != id || m.Text != "two" || m.Key != first.Key {
		t.Errorf("reported with its id only: %+v", m)
	}
	// bots update their messages too, a streaming card many times
	calls := len(p.Calls())
	p.Emit("im.message.updated_v1", map[string]any{"sender": map[string]any{"sender_type": "bot"},
		"message": map[string]any{"message_id": id}})
	p.await("acknowledged", func(v *feishusim.View) bool {
		ds := v.Deliveries()
		return len(ds) == 4 && ds[3].AckCode == 200
	})
	if len(rec.edits) != 0 || len(p.Calls()) != calls {
		t.Errorf("%d edits by a bot, %d calls", len(rec.edits), len(p.Calls())-calls)
	}
	p.Server.Edit(id, json.RawMessage(`{"text":"three <b>\nfour"}`))
	next(t, rec.edits)
	if q, err := p.FetchQuoted(p.ctx(), first.Key, id); err != nil ||
		q.Text != "three <b>\nfour" || q.Actor.Name != "Ann" {
		t.Errorf("read back: %+v, %v", q, err)
	}
	p.Recall(id)
	if r := next(t, rec.recalls); r.ID != id || r.Key != first.Key {
		t.Errorf("recalled: %+v", r)
	}
	p.Emit("im.message.recalled_v1", map[string]any{})
	p.Emit("im.message.updated_v1", map[string]any{"message": map[string]any{"message_id": id}})
	p.await("incomplete events are acknowledged", func(v *feishusim.View) bool {
		ds := v.Deliveries()
		return len(ds) == 8 && ds[6].AckCode == 200 && ds[7].AckCode == 200
	})
	if len(rec.edits) != 0 {
		t.Error("a deleted message was reported as edited")
	}
}

func TestRecallsDuringAnOutageAreReported(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	stop := p.start(p.Client, rec)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	id := p.Say(room, ann, "one")
	m := next(t, rec.messages)
	stop()
	p.Recall(id)
	rec.active = func() ([]chat.Activity, error) {
		return []chat.Activity{{Key: m.Key, Kind: m.Kind, Since: m.Time}}, nil
	}
	p.start(p.another(), rec)
	if r := next(t, rec.recalls); r.ID != id || r.Key != m.Key {
		t.Errorf("recalled: %+v", r)
	}
	// A recalled message has a notice in place of its content, which is nothing to report.
	if _, err := p.ListMessages(p.ctx(), m.Key, m.Kind, m.Time, 10); err != nil ||
		strings.Contains(p.log.String(), "without readable content") {
		t.Errorf("%v: %s", err, p.log)
	}
}
