package feishusim

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// downloadStart downloads a file of a message, and gives up after that many bytes.
func downloadStart(t *testing.T, s *Server, token, message, key string, most int64) (declared, got int64) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+pathMessages+"/"+message+"/resources/"+
		key+"?type=file", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	got, err = io.Copy(io.Discard, io.LimitReader(resp.Body, most))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("HTTP %d, %v", resp.StatusCode, err)
	}
	return resp.ContentLength, got
}

func TestStreamedFilesCountWhatTheyServe(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	token, _ := s.issue(time.Now())
	tom := s.AddUser("Tom")
	room := s.PrivateChat(tom)
	told := s.UploadStream("a.bin", "application/octet-stream", Stream{Size: 100_000, Declare: true})
	slow := s.UploadStream("b.bin", "application/octet-stream", Stream{
		Size: 1 << 30, Piece: 100, Pause: time.Millisecond,
	})
	m1 := s.Send(room, tom, "file", mustJSON(obj{"file_key": told, "file_name": "a.bin"}))
	m2 := s.Send(room, tom, "file", mustJSON(obj{"file_key": slow, "file_name": "b.bin"}))
	if declared, got := downloadStart(t, s, token, m1, told, 1<<20); declared != 100_000 || got != 100_000 ||
		s.Served(told) != 100_000 {
		t.Errorf("declared %d, got %d, served %d", declared, got, s.Served(told))
	}
	if declared, got := downloadStart(t, s, token, m2, slow, 1000); declared != -1 || got != 1000 || s.Served(slow) < 1000 {
		t.Errorf("declared %d, got %d, served %d", declared, got, s.Served(slow))
	}
	refuteViolations(t, s)
}

func TestEditingTellsOfTheNewText(t *testing.T) {
	s := start(t, fast())
	tom := s.AddUser("Tom")
	id := s.Say(s.Group("G", tom), tom, "one", Mention())
	s.Edit(id, json.RawMessage(`{"text":"two"}`))
	await(t, s, "the event of the edit", func(v *View) bool {
		return slices.ContainsFunc(v.Deliveries(), func(d Delivery) bool {
			return d.EventType == eventUpdated && d.MessageID == id
		})
	})
	if m, _ := s.Message(id); m.Text() != "@Magpie two" || !strings.Contains(m.Content, "@_user_1 two") {
		t.Errorf("message %q %s", m.Text(), m.Content)
	}
}

// What reports and lists say differently from what one would expect.
func TestOddFormsOfThePlatform(t *testing.T) {
	s := start(t, Config{CardUpdates: CardUpdatesBare, Limits: unlimited})
	c := newRest(t, s)
	tom, other := s.AddUser("Tom"), s.AddApp("Other")
	g := s.Group("G", tom)
	edited := s.Say(g, tom, "one")
	s.Edit(edited, json.RawMessage(`{"text":"two\nthree"}`))
	content := func(item any) string { return text(member(item, "body", "content")) }
	if items, _ := c.want(0, "GET", pathMessages+"/"+edited, nil).Data["items"].([]any); len(items) != 1 ||
		content(items[0]) != `{"text":"<p>two</p><p>three</p>"}` {
		t.Errorf("an edited text: %v", items)
	}
	for query, want := range map[string]string{"": "", "?with_sender_name=true": "Tom"} {
		items, _ := c.want(0, "GET", pathMessages+"/"+edited+query, nil).Data["items"].([]any)
		if got := text(member(items[0], "sender", "sender_name")); got != want {
			t.Errorf("%q: the author is %q, want %q", query, got, want)
		}
	}
	s.GiveScopes("im:message.group_at_msg.include_bot:readonly")
	before := len(s.Deliveries())
	bot := s.Say(g, other, "from a bot", Mention())
	if m := s.world.messages.must(bot); m.Sender.Type != "app" || !strings.Contains(string(m.event.payload), `"sender_type":"bot"`) ||
		len(s.Deliveries()) != before+1 {
		t.Errorf("of a bot: %s, %s", m.Sender.Type, m.event.payload)
	}
	s.TakeScopes("im:message.group_at_msg.include_bot:readonly")
	if s.Say(g, other, "again", Mention()); len(s.Deliveries()) != before+1 {
		t.Error("a bot's message was delivered without the permission")
	}
	for told, want := range map[CardUpdates][2]bool{ // an event, with the sender
		CardUpdatesUnsubscribed: {false, false}, CardUpdatesOfBot: {true, true}, CardUpdatesBare: {true, false},
	} {
		s.world.cardUpdates = told
		var got [2]bool
		s.world.pushCardUpdate(s.world.messages.must(bot), func(ev *event) {
			got = [2]bool{true, strings.Contains(string(ev.payload), s.BotOpenID())}
		})
		if got != want {
			t.Errorf("card updates %d: %v, want %v", told, got, want)
		}
	}
	for _, code := range []int{230035, 230018, 230053} {
		s.Silence(g, code)
		c.want(code, "POST", pathMessages+"?receive_id_type=chat_id", obj{
			"receive_id": g, "msg_type": "text", "content": `{"text":"x"}`, "uuid": "u",
		})
	}
}

func TestForwardsHoldForwards(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	tom := s.AddUser("Tom")
	room := s.PrivateChat(tom)
	inner := s.Forward(room, tom, []string{s.Say(room, tom, "one"), s.Say(room, tom, "two")})
	outer := s.Forward(room, tom, []string{inner, s.Say(room, tom, "three")})
	items := c.want(0, "GET", pathMessages+"/"+outer, nil).Data["items"].([]any)
	if len(items) != 5 {
		t.Fatalf("%d items", len(items))
	}
	nested, one := items[1].(map[string]any), items[2].(map[string]any)
	if nested["msg_type"] != "merge_forward" || nested["upper_message_id"] != nil ||
		one["upper_message_id"] != nested["message_id"] {
		t.Errorf("items %+v", items)
	}
}

func TestSpeech(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	const path = "/open-apis/speech_to_text/v1/speech/file_recognize"
	pcm := bytes.Repeat([]byte{1, 2}, 100)
	ask := func(speech []byte, format string) obj {
		return obj{"speech": obj{"speech": base64.StdEncoding.EncodeToString(speech)},
			"config": obj{"file_id": "abcdefgh12345678", "format": format, "engine_type": "16k_auto"}}
	}
	c.want(codeScope, "POST", path, ask(pcm, "pcm"))
	s.SetRecognizer(func(got []byte) string {
		if !bytes.Equal(got, pcm) {
			return ""
		}
		return "hello"
	})
	if got := c.want(0, "POST", path, ask(pcm, "pcm")).Data["recognition_text"]; got != "hello" {
		t.Errorf("heard %v", got)
	}
	c.want(codeField, "POST", path, ask(pcm, "opus"))
	c.want(codeField, "POST", path, ask(make([]byte, maxSpeech+1), "pcm"))
}
