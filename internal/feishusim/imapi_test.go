package feishusim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
)

// unlimited is for tests that are not about rates.
var unlimited = Limits{AppPerSecond: -1, AppPerMinute: -1, ChatPerSecond: -1, MessagePerSecond: -1, CardPerSecond: -1}

func body(chatID, msgType string, content any) obj {
	return obj{"receive_id": chatID, "msg_type": msgType, "content": string(mustJSON(content)), "uuid": newUUID()}
}

func TestCreateRefusesBadMessages(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	chat, left, gone := s.Group("G", tom), s.Group("left", tom), s.Group("gone", tom)
	s.RemoveBot(left, tom)
	s.Disband(gone, tom)
	foreign := s.Upload("a.png", "image/png", []byte("png"))
	long := strings.Repeat("x", 31<<10)
	for name, row := range map[string]struct {
		code int
		rule Rule
		body obj
	}{
		"chat unknown":     {codeParam, RuleUnknownID, body("oc_none", "text", obj{"text": "x"})},
		"bot not in chat":  {codeBotNotInChat, "", body(left, "text", obj{"text": "x"})},
		"chat dissolved":   {codeDissolved, "", body(gone, "text", obj{"text": "x"})},
		"receiver missing": {codeField, RuleField, body("", "text", obj{"text": "x"})},
		"type unknown":     {codeParam, RuleField, body(chat, "dance", obj{"text": "x"})},
		"text empty":       {codeParam, RuleEmpty, body(chat, "text", obj{"text": " "})},
		"text missing":     {codeParam, RuleContent, body(chat, "text", obj{"txt": "x"})},
		"text too long":    {codeTooLong, RuleSize, body(chat, "text", obj{"text": strings.Repeat("x", 151<<10)})},
		"content no JSON": {codeParam, RuleContent, obj{
			"receive_id": chat, "msg_type": "text", "content": "hi", "uuid": "u1",
		}},
		"content object": {codeNotJSON, RuleField, obj{
			"receive_id": chat, "msg_type": "text", "content": obj{"text": "x"},
		}},
		"post bare":  {codeParam, RuleContent, body(chat, "post", obj{"title": "", "content": []any{}})},
		"post empty": {codeParam, RuleEmpty, body(chat, "post", obj{"zh_cn": obj{"content": []any{}}})},
		"post tag": {codeParam, RuleContent, body(chat, "post", obj{
			"zh_cn": obj{"content": []any{[]any{obj{"tag": "marquee"}}}},
		})},
		"post mentions nobody": {codeParam, RuleContent, body(chat, "post", obj{
			"zh_cn": obj{"content": []any{[]any{obj{"tag": "at"}}}},
		})},
		"post image URL": {codeCardRefused, RuleImage, body(chat, "post", obj{
			"zh_cn": obj{"content": []any{[]any{obj{"tag": "md", "text": "![x](https://x/y.png)"}}}},
		})},
		"post links to a file": {codeParam, RuleHref, body(chat, "post", obj{
			"zh_cn": obj{"content": []any{[]any{obj{"tag": "md", "text": "`[a](b)`, [see [1]][x]\n\n[x]: <src/a b.go>"}}}},
		})},
		"post links to nothing": {codeParam, RuleHref, body(chat, "post", obj{
			"zh_cn": obj{"content": []any{[]any{obj{"tag": "a", "text": "x", "href": "mailto:a@b.cn"}}}},
		})},
		"post too long": {codeTooLong, RuleSize, body(chat, "post", obj{
			"zh_cn": obj{"content": []any{[]any{obj{"tag": "md", "text": long}}}},
		})},
		"image of a user": {codeNotOwnResource, RulePermission, body(chat, "image", obj{"image_key": foreign})},
		"file unknown":    {codeParam, RuleUnknownID, body(chat, "file", obj{"file_key": "file_v3_none"})},
		"uuid too long": {codeField, RuleField, obj{
			"receive_id": chat, "msg_type": "text", "content": `{"text":"x"}`, "uuid": strings.Repeat("u", 51),
		}},
		"card empty":   {codeCardRefused, RuleEmpty, body(chat, "interactive", obj{"schema": "2.0"})},
		"card too big": {codeCardRefused, RuleSize, body(chat, "interactive", card(false, markdown("a", long)))},
		"entity unknown": {codeCardRefused, RuleUnknownID, body(chat, "interactive", obj{
			"type": "card", "data": obj{"card_id": "7"},
		})},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(s.Violations())
			a := c.want(row.code, "POST", pathMessages+"?receive_id_type=chat_id", row.body)
			if a.Error["log_id"] != a.Header.Get("X-Tt-Logid") || a.Status != 400 {
				t.Errorf("status %d error %v, log id %s", a.Status, a.Error, a.Header.Get("X-Tt-Logid"))
			}
			vs := s.Violations()[before:]
			if row.rule == "" && len(vs) > 0 || row.rule != "" && (len(vs) != 1 || vs[0].Rule != row.rule) {
				t.Errorf("violations %+v, want %q", vs, row.rule)
			}
		})
	}
	if n := len(s.Messages(chat)); n != 0 {
		t.Errorf("%d messages", n)
	}
	before := len(s.Violations())
	c.send(chat, "post", obj{"zh_cn": obj{"content": []any{[]any{
		obj{"tag": "md", "text": "`[a](b.go)` [c](HTTPS://d) \\[e](f.go)\n\n    [g](h.go)"}, obj{"tag": "a", "text": "i", "href": "http://j"},
	}}}})
	c.send(chat, "interactive", card(false, markdown("a", "[a](https://b)")))
	if vs := s.Violations()[before:]; len(vs) != 0 {
		t.Errorf("links to the web: %v", vs)
	}
	c.send(chat, "interactive", card(false, markdown("a", "[a](b.go)")))
	k := c.newCard(card(true, markdown("a", "a")))
	c.send(chat, "interactive", obj{"type": "card", "data": obj{"card_id": k.id}})
	k.content(0, "a", "[a](c.go)")
	k.op(0, "PATCH", "/settings", obj{"settings": `{"config":{"streaming_mode":false}}`})
	// once for the card in its message, and for each operation on the other one
	if vs := s.Violations()[before:]; len(vs) != 3 || vs[0].Rule != RuleHref || vs[2].Rule != RuleHref {
		t.Errorf("links of cards: %v", vs)
	}
}

func TestIdempotencyKeySendsOnce(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	chat := s.PrivateChat(tom)
	in := body(tom.OpenID, "text", obj{"text": "one"})
	first := c.want(0, "POST", pathMessages+"?receive_id_type=open_id", in)
	again := c.want(0, "POST", pathMessages+"?receive_id_type=open_id", in)
	if first.str("message_id") != again.str("message_id") || len(s.Messages(chat)) != 1 {
		t.Errorf("sent twice")
	}
	refuteViolations(t, s)
	in["content"] = `{"text":"two"}`
	c.want(0, "POST", pathMessages+"?receive_id_type=open_id", in)
	if violated(s, RuleUUIDReused) != 1 || len(s.Messages(chat)) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
	delete(in, "uuid")
	c.want(0, "POST", pathMessages+"?receive_id_type=open_id", in)
	if violated(s, RuleUUIDMissing) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
	s.world.mu.Lock()
	for k, v := range s.messages.uuids {
		v.at = v.at.Add(-uuidMemory)
		s.messages.uuids[k] = v
	}
	s.world.mu.Unlock()
	in["uuid"] = "u"
	c.want(0, "POST", pathMessages+"?receive_id_type=open_id", in)
	if n := len(s.Messages(chat)); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

func TestTopics(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	g := s.Group("G", tom)
	root := s.Say(g, tom, "root", Mention())
	a := c.want(0, "POST", pathMessages+"/"+root+"/reply", obj{
		"msg_type": "text", "content": `{"text":"in"}`, "reply_in_thread": true, "uuid": "a",
	})
	thread := a.str("thread_id")
	inside := s.Say(g, tom, "me too", Thread(thread))
	b := c.want(0, "POST", pathMessages+"/"+inside+"/reply", obj{
		"msg_type": "text", "content": `{"text":"stays"}`, "uuid": "b",
	})
	if b.str("thread_id") != thread || b.str("root_id") != root || b.str("parent_id") != root {
		t.Errorf("reply %v", b.Data)
	}
	m, _ := s.Message(inside)
	if m.RootID != root || m.ParentID != root || m.ThreadID != thread || !strings.HasPrefix(thread, "omt_") {
		t.Errorf("message %+v", m)
	}
	for query, want := range map[string]int{
		"container_id_type=thread&container_id=" + thread: 4, "container_id_type=chat&container_id=" + g: 1,
	} {
		if got := c.want(0, "GET", pathMessages+"?"+query, nil); len(got.Data["items"].([]any)) != want {
			t.Errorf("%s: %v", query, got.Data)
		}
	}
	refuteViolations(t, s)
}

func TestListPagesInBothDirections(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	g := s.Group("G", tom)
	from := time.Unix(1_700_000_000, 0)
	for i := range 7 {
		s.Say(g, tom, fmt.Sprint(i), Time(from.Add(time.Duration(i)*time.Second)))
	}
	read := func(query string) string {
		var texts []string
		for token := ""; ; {
			a := c.want(0, "GET", pathMessages+"?container_id_type=chat&container_id="+g+"&page_size=3"+query+
				"&page_token="+token, nil)
			for _, item := range a.Data["items"].([]any) {
				texts = append(texts, text(member(item, "body", "content")))
			}
			if token = a.str("page_token"); token == "" {
				return strings.NewReplacer(`{"text":"`, "", `"}`, "").Replace(strings.Join(texts, ""))
			}
		}
	}
	for query, want := range map[string]string{"": "0123456", "&sort_type=ByCreateTimeDesc": "6543210",
		"&start_time=1700000002&end_time=1700000004": "234"} {
		if got := read(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	c.want(codeField, "GET", pathMessages+"?container_id_type=chat&container_id="+g+"&page_size=51", nil)
	c.want(codeParam, "GET", pathMessages+"?container_id_type=chat&container_id=oc_x", nil)
}

func TestGetShowsQuotesForwardsAndCards(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	p := s.PrivateChat(tom)
	one := s.Say(p, tom, "one")
	two := s.Post(p, tom, json.RawMessage(`{"title":"T","content":[[{"tag":"text","text":"two"}]]}`), ReplyTo(one))
	fwd := s.Forward(p, tom, []string{one, two})
	items := c.want(0, "GET", pathMessages+"/"+fwd, nil).Data["items"].([]any)
	if len(items) != 3 || member(items[1], "upper_message_id") != nil {
		t.Errorf("items %v", items)
	}
	sent := c.send(p, "interactive", obj{"schema": "2.0", "header": obj{
		"title": obj{"tag": "plain_text", "content": "Head"},
	},
		"body": obj{"elements": []any{markdown("a", "**x**")}}})
	plain := text(member(c.want(0, "GET", pathMessages+"/"+sent, nil).Data["items"].([]any)[0], "body", "content"))
	raw := text(member(c.want(0, "GET", pathMessages+"/"+sent+"?card_msg_content_type=raw_card_content",
		nil).Data["items"].([]any)[0], "body", "content"))
	if !strings.Contains(plain, "请升级至最新版本客户端") || strings.Contains(plain, "**x**") ||
		!strings.Contains(raw, `"schema":"2.0"`) {
		t.Errorf("plain %s raw %s", plain, raw)
	}
	others := s.Send(p, s.AddApp("Other"), "interactive", mustJSON(card(false, markdown("a", "**y**"))))
	for query, want := range map[string][2]string{"": {"请升级至最新版本客户端", "user_dsl"},
		"?card_msg_content_type=user_card_content": {`"user_dsl":"{`, `"schema":"2.0"`}} {
		got := text(member(c.want(0, "GET", pathMessages+"/"+others+query, nil).Data["items"].([]any)[0], "body", "content"))
		if !strings.Contains(got, want[0]) || strings.Contains(got, want[1]) {
			t.Errorf("another bot's card, %q: %s", query, got)
		}
	}
	if m, _ := s.Message(two); m.Text() != "T\ntwo" || m.ParentID != one {
		t.Errorf("post %+v", m)
	}
	c.want(codeUnknownMessage, "GET", pathMessages+"/om_none", nil)
	for _, content := range []string{"raw_card_content", "user_card_content"} {
		query := "card_msg_content_type=" + content
		for _, path := range []string{"/" + sent + "?" + query, "?container_id_type=chat&container_id=" + p + "&" + query} {
			items := string(mustJSON(c.want(0, "GET", pathMessages+path, nil).Data["items"]))
			if !strings.Contains(items, "**x**") {
				t.Errorf("%s: %s", path, items)
			}
		}
		if a := c.want(codeInternal, "GET", pathMessages+"/"+fwd+"?"+query, nil); a.Status != http.StatusInternalServerError {
			t.Errorf("a forward with %s: HTTP %d", query, a.Status)
		}
	}
}

func TestChangingMessages(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	p := s.PrivateChat(tom)
	his := s.Say(p, tom, "his")
	mine := c.send(p, "text", obj{"text": "mine"})
	shown := c.send(p, "interactive", card(false, markdown("a", "before")))
	c.want(0, "PATCH", pathMessages+"/"+shown, obj{"content": string(mustJSON(card(false, markdown("a", "after"))))})
	if m, _ := s.Message(shown); m.Text() != "after" || m.Last().Op != "patch" {
		t.Errorf("card %+v", m.Last())
	}
	c.want(codeParam, "PATCH", pathMessages+"/"+mine, obj{"content": "{}"})
	c.want(codeNotSender, "PATCH", pathMessages+"/"+his, obj{"content": "{}"})
	c.want(codeNoRecall, "DELETE", pathMessages+"/"+his, nil)
	for i := range maxEdits {
		c.want(0, "PUT", pathMessages+"/"+mine, obj{
			"msg_type": "text", "content": fmt.Sprintf(`{"text":"edit %d"}`, i),
		})
	}
	c.want(codeEdits, "PUT", pathMessages+"/"+mine, obj{"msg_type": "text", "content": `{"text":"x"}`})
	c.want(0, "DELETE", pathMessages+"/"+mine, nil)
	if m, _ := s.Message(mine); !m.Deleted || m.Last().Op != "recall" {
		t.Errorf("message %+v", m)
	}
	before := len(s.Violations())
	s.Recall(his)
	c.want(codeRecalled, "POST", pathMessages+"/"+his+"/reply", obj{
		"msg_type": "text", "content": `{"text":"x"}`, "uuid": "r",
	})
	c.want(codeGone, "POST", pathMessages+"/"+his+"/reactions", obj{"reaction_type": obj{"emoji_type": "Typing"}})
	if len(s.Violations()) != before {
		t.Errorf("a recall counts as a violation: %+v", s.Violations()[before:])
	}
}

func TestReactions(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	in := newInbox[*larkim.P2MessageReactionCreatedV1]()
	d, _ := receiver(nil)
	listen(t, s, d)
	tom := s.AddUser("Tom")
	id := s.Say(s.PrivateChat(tom), tom, "hi")
	path := pathMessages + "/" + id + "/reactions"
	made := c.want(0, "POST", path, obj{"reaction_type": obj{"emoji_type": "Typing"}})
	if m, _ := s.Message(id); len(m.Reactions) != 1 || m.Reactions[0] != "Typing" {
		t.Errorf("reactions %v", m.Reactions)
	}
	await(t, s, "own reaction's event", func(v *View) bool {
		ds := v.Deliveries()
		last := ds[len(ds)-1]
		return last.EventType == eventReactionCreated && last.AckCode == 200
	})
	s.React(id, tom, "OK")
	if items := c.want(0, "GET", path, nil).Data["items"].([]any); len(items) != 2 {
		t.Errorf("items %v", items)
	}
	c.want(codeEmoji, "POST", path, obj{"reaction_type": obj{"emoji_type": "typing"}})
	c.want(0, "DELETE", path+"/"+made.str("reaction_id"), nil)
	s.Unreact(id, tom, "OK")
	if m, _ := s.Message(id); len(m.Reactions) != 0 {
		t.Errorf("reactions %v", m.Reactions)
	}
	_ = in
}

func TestFiles(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	p := s.PrivateChat(tom)
	key := s.Upload("报告.json", "application/json", []byte(`[1]`))
	id := s.Send(p, tom, "file", mustJSON(obj{"file_key": key, "file_name": "报告.json"}))
	get := func(id, key, kind string, opt ...larkcore.RequestOptionFunc) (*larkim.GetMessageResourceResp, error) {
		return c.Im.MessageResource.Get(t.Context(),
			larkim.NewGetMessageResourceReqBuilder().MessageId(id).FileKey(key).Type(kind).Build(), opt...)
	}
	got, err := get(id, key, "file", larkcore.WithFileDownload())
	if err != nil || !got.Success() || got.FileName != "报告.json" {
		t.Fatalf("download: %v %+v", err, got)
	}
	var data bytes.Buffer
	if _, err := data.ReadFrom(got.File); err != nil || data.String() != "[1]" {
		t.Errorf("data %q: %v", data.String(), err)
	}
	for _, row := range []struct {
		id, key, kind string
		code          int
	}{{id, key, "image", codeFileParam}, {id, "file_x", "file", codeFileNotIn}, {id, key, "", codeFileParam}} {
		if got, err := get(row.id, row.key, row.kind); err != nil || got.Code != row.code {
			t.Errorf("%+v: %v %+v", row, err, got)
		}
	}
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 100)...)
	img, err := c.Im.Image.Create(t.Context(),
		larkim.NewCreateImageReqBuilder().Body(larkim.NewCreateImageReqBodyBuilder().
			ImageType("message").Image(bytes.NewReader(png)).Build()).Build())
	if err != nil || !img.Success() {
		t.Fatalf("image: %v %+v", err, img)
	}
	c.send(p, "image", obj{"image_key": *img.Data.ImageKey})
	c.send(p, "interactive", card(false, markdown("a", "![x]("+*img.Data.ImageKey+")")))
	file, err := c.Im.File.Create(t.Context(),
		larkim.NewCreateFileReqBuilder().Body(larkim.NewCreateFileReqBodyBuilder().
			FileType("stream").FileName("a.txt").File(strings.NewReader("text")).Build()).Build())
	if err != nil || !file.Success() {
		t.Fatalf("file: %v %+v", err, file)
	}
	c.send(p, "file", obj{"file_key": *file.Data.FileKey})
	empty, err := c.Im.File.Create(t.Context(),
		larkim.NewCreateFileReqBuilder().Body(larkim.NewCreateFileReqBodyBuilder().
			FileType("stream").FileName("a.txt").File(strings.NewReader("")).Build()).Build())
	if err != nil || empty.Code != codeFileEmpty {
		t.Errorf("empty file: %v %+v", err, empty)
	}
}

func TestChatsAndPeople(t *testing.T) {
	s := start(t, Config{BotName: "Elster"})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	g := s.Group("G", tom)
	resp, err := c.Get(t.Context(), "/open-apis/bot/v3/info", nil, larkcore.AccessTokenTypeTenant)
	if err != nil || !strings.Contains(string(resp.RawBody), `"open_id":"`+s.BotOpenID()+`"`) ||
		!strings.Contains(string(resp.RawBody), "Elster") {
		t.Fatalf("bot: %v %s", err, resp.RawBody)
	}
	if a := c.want(0, "GET", "/open-apis/im/v1/chats/"+g, nil); a.str("name") != "G" || a.str("user_count") != "1" {
		t.Errorf("chat %v", a.Data)
	}
	a := c.want(0, "GET", "/open-apis/im/v1/chats/"+g+"/members?member_id_type=open_id", nil)
	if member(a.Data["items"].([]any)[0], "member_id") != tom.OpenID {
		t.Errorf("members %v", a.Data)
	}
	c.want(codeScope, "GET", "/open-apis/contact/v3/users/"+tom.OpenID+"?user_id_type=open_id", nil)
	s.GiveScopes("contact:contact.base:readonly", "contact:user.base:readonly")
	if a := c.want(0, "GET", "/open-apis/contact/v3/users/"+tom.OpenID+"?user_id_type=open_id",
		nil); member(a.Data["user"], "name") != "Tom" {
		t.Errorf("user %v", a.Data)
	}
	c.want(codeUnknownOpenID, "GET", "/open-apis/contact/v3/users/ou_none?user_id_type=open_id", nil)
	s.RemoveBot(g, tom)
	c.want(codeNotMember, "GET", "/open-apis/im/v1/chats/"+g, nil)
	if violated(s, RuleUnknownID) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
}

func TestPingingEverybodyIsAViolation(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	c.send(p, "interactive", card(false, markdown("a", "`<at id=all></at>` in code")))
	refuteViolations(t, s)
	c.send(p, "interactive", card(false, markdown("a", "<at id=all></at>")))
	c.send(p, "text", obj{"text": `<at user_id="all">everybody</at>`})
	if n := violated(s, RuleAtAll); n != 2 {
		t.Errorf("%d violations", n)
	}
}

// A post of Markdown is kept and shown as such, with its mentions.
func TestPostsOfMarkdown(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	room := s.Group("G", tom)
	id := s.Post(room, tom, json.RawMessage(`{"content_v2":[[{"tag":"md","text":"**a**"}],[{"tag":"md","text":"b"}]]}`),
		Mention(), MentionAll())
	check := func(s *Server, want string) {
		t.Helper()
		if m, _ := s.Message(id); m.Text() != want || strings.Contains(m.Content, `"content":`) {
			t.Errorf("%q in %s, want %q", m.Text(), m.Content, want)
		}
	}
	check(s, "@Magpie @all **a**\nb")
	for _, path := range []string{"/" + id, "?container_id_type=chat&container_id=" + room} {
		items := c.want(0, "GET", pathMessages+path, nil).Data["items"].([]any)
		content := text(member(items[0], "body", "content"))
		if p, ok := parsePost(content); !ok || !strings.Contains(content, s.BotOpenID()) || len(p.ContentV2) != 2 {
			t.Errorf("%s: %s", path, content)
		}
	}
	s.Edit(id, json.RawMessage(`{"content_v2":[[{"tag":"md","text":"c"}]]}`))
	check(s, "@Magpie c")
	folder := t.TempDir()
	if err := s.Save(folder); err != nil {
		t.Fatal(err)
	}
	check(start(t, Config{Folder: folder}), "@Magpie c")
	both := s.Post(room, tom, json.RawMessage(`{"content":[[{"tag":"text","text":"old"}]],`+
		`"content_v2":[[{"tag":"md","text":"new"}]]}`))
	if m, _ := s.Message(both); m.Text() != "new" || !strings.Contains(m.Content, "old") {
		t.Errorf("%q in %s", m.Text(), m.Content)
	}
}
