package feishusim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What people see is the same after a restart, and so is what they can do with it.
func TestAWorldOutlivesItsServer(t *testing.T) {
	folder := t.TempDir()
	s := start(t, Config{Folder: folder})
	ming, hong := s.AddUser("小明"), s.AddUser("小红")
	s.SetOwner(hong)
	private, group := s.PrivateChat(ming), s.Group("群", ming, hong)
	said := s.Say(group, ming, "你好", Mention())
	quoted := s.Say(group, hong, "好", ReplyTo(said), Thread(NewThread))
	s.React(said, hong, "THUMBSUP")
	gone := s.Say(private, ming, "错了")
	s.Recall(gone)
	key := s.Upload("a.txt", "text/plain", []byte("content"))
	s.Send(private, ming, "file", mustJSON(map[string]string{"file_key": key, "file_name": "a.txt"}))
	forwarded := s.Forward(private, ming, []string{said, quoted})
	k := newRest(t, s).newCard(obj{"schema": "2.0", "body": obj{"elements": []any{
		obj{"tag": "markdown", "element_id": "body", "content": "…"}, button("ok", obj{"do": "ok"})}}})
	card := k.show(group)
	k.op(0, "PUT", "/elements/body", obj{"element": string(mustJSON(obj{
		"tag": "markdown", "element_id": "body", "content": "all of it"}))})
	before := visible(s)
	if err := s.Save(folder); err != nil {
		t.Fatal(err)
	}

	again := start(t, Config{Folder: folder})
	if got := visible(again); got != before {
		t.Errorf("after the restart:\n%s\nbefore:\n%s", got, before)
	}
	if again.AppID() != s.AppID() || again.AppSecret() != s.AppSecret() || again.BotOpenID() != s.BotOpenID() ||
		again.console.ownerID() != hong.OpenID || again.PrivateChat(ming) != private {
		t.Error("app, owner or private chat are others")
	}
	if _, data, ok := again.File(key); !ok || string(data) != "content" {
		t.Errorf("file %q", data)
	}
	if m := again.world.messages.must(forwarded); len(m.parts) != 2 || m.parts[0].upper != forwarded {
		t.Errorf("a forward of %d", len(m.parts))
	}
	if m := again.world.messages.must(card); m.entity == nil || m.entity.message != m || m.entity.seq != 1 {
		t.Errorf("card %+v", m.entity)
	}
	topic, _ := again.Message(quoted)
	reply, _ := again.Message(again.Say(group, ming, "再来", Thread(topic.ThreadID)))
	if reply.RootID != topic.RootID {
		t.Error("the topic does not go on")
	}
}

func TestABrokenWorldIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, worldFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Config{Folder: folder}); err == nil {
		t.Error("a torn file was taken")
	}
}

// visible is all that people see, as JSON.
func visible(s *Server) string {
	type look struct {
		Message Message
		Text    string
		Card    json.RawMessage
	}
	var all []any
	for _, c := range s.Chats() {
		all = append(all, c)
		for _, m := range s.Messages(c.ID) {
			l := look{m, m.Text(), m.Last().Card}
			l.Message.States, l.Message.Created = nil, l.Message.Created.UTC().Truncate(time.Millisecond)
			all = append(all, l)
		}
	}
	return string(mustJSON(all))
}
