package console

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"magpie/internal/feishusim"
)

// picture is a PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// uploads sends a file into a chat and returns the message that shows it.
func (s *playgroundRig) uploads(c chat, name string, data []byte, more url.Values) (int, feishusim.Message) {
	s.t.Helper()
	q := url.Values{"chat": {c.ID}, "user": {c.Members[0].ID}, "name": {name}}
	for k, v := range more {
		q[k] = v
	}
	status, _, body := s.do("POST", "/api/upload?"+q.Encode(), string(data),
		func(r *http.Request) { r.Header.Set("Content-Type", "application/octet-stream") })
	all := s.sim.Messages(c.ID)
	if status != http.StatusOK {
		return status, feishusim.Message{Content: body}
	}
	return status, all[len(all)-1]
}

func TestPicturesAndFilesAreSentAndShown(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	c := s.snapshot().Chats[0]
	if status, m := s.uploads(c, "a.png", picture(t), nil); status != http.StatusOK || m.Type != "image" {
		t.Errorf("a picture: %d %+v", status, m)
	}
	if status, m := s.uploads(c, "../../passwd", []byte("plain"), nil); status != http.StatusOK || m.Type != "file" ||
		!strings.Contains(m.Content, `"file_name":"passwd"`) {
		t.Errorf("a file: %d %+v", status, m)
	}
	shown := s.snapshot().Chats[0].Messages
	if len(shown) != 2 || shown[0].Origin.File == nil || !shown[0].Origin.File.Picture ||
		shown[1].Origin.File == nil || shown[1].Origin.File.Name != "passwd" || shown[1].Origin.File.Size != 5 {
		t.Fatalf("shown %+v", shown)
	}
	for i, kind := range []string{"image/png", "application/octet-stream"} {
		status, header, body := s.do("GET", "/api/file/"+shown[i].Origin.File.Key, "", nil)
		if status != http.StatusOK || header.Get("Content-Type") != kind || len(body) != shown[i].Origin.File.Size ||
			(i == 1) != strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
			t.Errorf("file %d: %d %v", i, status, header)
		}
	}
	if status, _, _ := s.do("GET", "/api/file/none", "", nil); status != http.StatusNotFound {
		t.Errorf("a missing file: %d", status)
	}
}

// A file that could contain a script is never served as a page.
func TestFilesAreNoPages(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	c := s.snapshot().Chats[0]
	for _, content := range []string{"<html><script>alert(1)</script>", `<svg xmlns="http://www.w3.org/2000/svg"/>`} {
		s.uploads(c, "x.png", []byte(content), nil)
	}
	for _, m := range s.snapshot().Chats[0].Messages {
		_, header, _ := s.do("GET", "/api/file/"+m.Origin.File.Key, "", nil)
		if kind := header.Get("Content-Type"); kind != "application/octet-stream" ||
			header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is served as %s", m.Origin.File.Name, kind)
		}
	}
}

func TestUploadRefuses(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	c := s.snapshot().Chats[0]
	for want, ask := range map[string]func() (int, feishusim.Message){
		"empty":      func() (int, feishusim.Message) { return s.uploads(c, "a", nil, nil) },
		"too_big":    func() (int, feishusim.Message) { return s.uploads(c, "a", make([]byte, maxUpload+1), nil) },
		"no_chat":    func() (int, feishusim.Message) { return s.uploads(c, "a", []byte("x"), url.Values{"chat": {"oc_x"}}) },
		"no_user":    func() (int, feishusim.Message) { return s.uploads(c, "a", []byte("x"), url.Values{"user": {"ou_x"}}) },
		"no_message": func() (int, feishusim.Message) { return s.uploads(c, "a", []byte("x"), url.Values{"reply": {"om_x"}}) },
	} {
		if status, m := ask(); status != http.StatusBadRequest || !strings.Contains(m.Content, `"`+want+`"`) {
			t.Errorf("%s: %d %s", want, status, m.Content)
		}
	}
	form := func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data; boundary=x") }
	path := "/api/upload?" + url.Values{"chat": {c.ID}, "user": {c.Members[0].ID}}.Encode()
	if status, _, _ := s.do("POST", path, "x", form); status != http.StatusBadRequest {
		t.Errorf("a form's content type: %d", status)
	}
	if n := len(s.sim.Messages(c.ID)); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestMessagesAreQuotedEditedAndRecalled(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	st := s.snapshot()
	group, ming, hong := st.Chats[3], st.Users[0].ID, st.Users[1].ID
	say := func(in sayRequest) feishusim.Message {
		in.Chat = group.ID
		_, out := s.post("/api/say", in)
		m, _ := s.sim.Message(out["message"])
		return m
	}
	first := say(sayRequest{User: ming, Text: "first"})
	if m := say(sayRequest{User: hong, Text: "quoting", Reply: first.ID}); m.ParentID != first.ID || m.ThreadID != "" {
		t.Errorf("a quote: %+v", m)
	}
	topic := say(sayRequest{User: hong, Text: "a topic", Reply: first.ID, Topic: true})
	if next := say(sayRequest{User: ming, Text: "in it", Reply: topic.ID}); topic.ThreadID == "" ||
		next.ThreadID != topic.ThreadID {
		t.Errorf("a topic: %+v, then %+v", topic, next)
	}
	s.post("/api/edit", editRequest{Message: first.ID, User: ming, Text: "first, edited"})
	s.post("/api/react", messageRequest{Message: first.ID, User: hong, Emoji: "THUMBSUP"})
	if m, _ := s.sim.Message(first.ID); m.Text() != "first, edited" || len(m.Reactions) != 1 {
		t.Errorf("edited: %q, reactions %v", m.Text(), m.Reactions)
	}
	s.post("/api/react", messageRequest{Message: first.ID, User: hong, Emoji: "THUMBSUP"})
	for code, ask := range map[string]func() (int, map[string]string){
		"not_yours": func() (int, map[string]string) {
			return s.post("/api/recall", messageRequest{Message: first.ID, User: hong})
		},
		"no_message": func() (int, map[string]string) {
			return s.post("/api/recall", messageRequest{Message: "om_x", User: ming})
		},
		"empty": func() (int, map[string]string) {
			return s.post("/api/edit", editRequest{Message: first.ID, User: ming})
		},
	} {
		if status, out := ask(); status != http.StatusBadRequest || out["error"] != code {
			t.Errorf("%s: %d %v", code, status, out)
		}
	}
	s.post("/api/recall", messageRequest{Message: first.ID, User: ming})
	if m, _ := s.sim.Message(first.ID); !m.Deleted || len(m.Reactions) != 0 {
		t.Errorf("recalled: %+v", m)
	}
}

func TestWhatIsBrokenIsShown(t *testing.T) {
	kills, full := 0, false
	s := serve(t, PlaygroundConfig{
		Kill: func() error {
			if kills++; kills > 1 {
				return fmt.Errorf("dead already: %w", ErrNoBridge)
			}
			return nil
		},
		FillDisk: func(on bool) error {
			if on == full {
				return errors.New("no change")
			}
			full = on
			return nil
		},
	})
	connect(t, s.sim)
	s.SetBridge(Bridge{PID: 7, State: "running"})
	st := s.snapshot()
	if st.Can != (features{Kill: true, Fill: true}) || st.Bridge.PID != 7 || st.Unplugged || st.DiskFull {
		t.Errorf("at first: %+v", st)
	}
	if status, _ := s.post("/api/kill", nothing{}); status != http.StatusOK || kills != 1 {
		t.Errorf("kill: %d, %d kills", status, kills)
	}
	if status, out := s.post("/api/kill", nothing{}); status != http.StatusConflict ||
		out["error"] != "no_bridge" || out["detail"] != "" {
		t.Errorf("kill again: %d %v", status, out)
	}
	s.post("/api/disk", switchRequest{On: true})
	if status, out := s.post("/api/disk", switchRequest{On: true}); status != http.StatusConflict ||
		out["error"] != "disk" || out["detail"] != "" {
		t.Errorf("fill it again: %d %v", status, out)
	}
	s.post("/api/unplug", switchRequest{On: true})
	s.post("/api/unplug", switchRequest{On: true}) // repeated: no effect
	if st := s.snapshot(); !st.DiskFull || !full || !st.Unplugged || st.Connections != 0 {
		t.Errorf("broken: %+v, full %v", st, full)
	}
	s.post("/api/disk", switchRequest{})
	s.post("/api/unplug", switchRequest{})
	await(t, s.sim, "the bot's return", func(v *feishusim.View) bool { return v.Connections() > 0 })
	if st := s.snapshot(); st.DiskFull || full || st.Unplugged {
		t.Errorf("repaired: %+v, full %v", st, full)
	}
	if _, out := serve(t, PlaygroundConfig{}).post("/api/kill", nothing{}); out["error"] != "not_offered" {
		t.Errorf("kill without a function: %v", out)
	}
}

// A model request belongs to the turn whose prompt it answers, whichever of the two is known first.
func TestRequestsBelongToTheirTurns(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	chat := s.snapshot().Chats[0].ID
	requestWith := func(tools int) Sent {
		return Sent{Requests: 1, Tools: tools, Messages: []SentMessage{{Role: "user", Prompt: true}}}
	}
	s.Record(Turn{ChatID: chat, Turn: 1, At: time.Now(), Question: "hello"})
	s.RecordRequest("hello\n", requestWith(1))
	s.RecordRequest("hello", requestWith(2)) // the request after a tool call
	s.RecordRequest("history\n\nagain", requestWith(3))
	s.RecordRequest("a title, please", requestWith(4))
	s.Record(Turn{ChatID: chat, Turn: 2, At: time.Now(), Prefix: "history\n\n", Question: "again"})
	turns := s.snapshot().Chats[0].Turns
	if got := turns[1].Sent; got == nil || got.Requests != 2 || got.Tools != 2 {
		t.Errorf("turn 1: %+v", got)
	}
	if got := turns[0].Sent; got == nil || got.Requests != 1 || got.Tools != 3 {
		t.Errorf("turn 2: %+v", got)
	}
	for n := range int64(maxSent) {
		s.Record(Turn{ChatID: chat, Turn: 3 + n, At: time.Now(), Question: "more"})
	}
	for _, turn := range s.snapshot().Chats[0].Turns[maxSent:] {
		if turn.Sent != nil {
			t.Errorf("turn %d is kept completely", turn.Turn)
		}
	}
}
