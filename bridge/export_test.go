package bridge

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// The export for people has the conversation in order, the one for programs all records; neither contains anything of
// another chat.
func TestExportedHistory(t *testing.T) {
	synctest.Test(t, exportedHistory) // where no day ends
}

func exportedHistory(t *testing.T) {
	w := testWorld(t, func(c *Config) {
		c.WriteRecord = func(b *bytes.Buffer, r db.Record) error {
			_, err := fmt.Fprintf(b, "%s %s\n", r.Class, r.Text)
			return err
		}
	})
	w.ask(bob, "别人的秘密", "别处的回答", nil)
	w.ask(alice, "第一问", "第一答", nil)
	w.order(alice, "/new")
	w.order(alice, "/title 周会")
	w.ask(alice, "# 第二问\n\n多行", "第二答", nil)
	o := invocation{chat: w.chat(alice), lang: i18n.Chinese, Incoming: chat.Incoming{Key: alice.key,
		Time: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}}
	files, err := w.commandSet().exportFiles(w.ctx, o)
	w.must(err)
	if len(files) != 2 || files[0].Name != "聊天记录-2026-05-04.md" || files[1].Name != "聊天记录-2026-05-04.jsonl" {
		t.Fatalf("%+v", files)
	}
	want := "# 周会\n\n## DAY\n\n**Nou_alice** HH\n\n第一问\n\n**助手** HH\n\n第一答\n\n---\n\n" + i18n.HistoryRestarted.ZH +
		"\n\n**Nou_alice** HH\n\n# 第二问\n\n多行\n\n**助手** HH\n\n第二答\n"
	got := regexp.MustCompile(`\d\d:\d\d\n`).ReplaceAllString(string(files[0].Data), "HH\n")
	got = regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(got, "DAY")
	if got != want {
		t.Errorf("for people:\n%s\nwant:\n%s", got, want)
	}
	w.expect(string(files[1].Data), "talk 第一问", "command /new", "command /title 周会", "talk 第二答", "!秘密")

	o.Key, o.chat = chat.FeishuChat("oc_silent"), db.Chat{}
	if files, err := w.commandSet().exportFiles(w.ctx, o); err != nil || files != nil {
		t.Errorf("of a chat that has said nothing: %v %v", files, err)
	}
}

// shipper is a messenger that keeps the files it is given.
type shipper struct {
	deliverytest.Recorder
	files []chat.Upload
}

func (s *shipper) Upload(_ context.Context, _ chat.Ref, u chat.Upload) (string, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.files = append(s.files, u)
	return "file/" + u.Name, nil
}

func (s *shipper) uploaded() []chat.Upload {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.files
}

// The files come after the reply, once, and only for those in charge of the chat.
func TestExport(t *testing.T) {
	t.Parallel()
	out := &shipper{}
	l := newBridgeRig(t, out)
	l.remake(func(c *Config) {
		c.Access.Owner = "ou_boss"
		c.WriteRecord = func(b *bytes.Buffer, r db.Record) error { _, err := b.WriteString(r.Text + "\n"); return err }
	})
	l.start()
	l.say("om_1", "/export")
	l.until("a reply", func() bool { return slices.Contains(out.TakeSaid(), i18n.ExportNothing.ZH) })
	l.say("om_2", "你好")
	l.settled(1)
	l.say("om_3", "/导出")
	l.say("om_3", "/导出") // told again
	l.until("the files", func() bool { return len(out.uploaded()) == 2 && l.unsent() == 0 })
	files := out.uploaded()
	if !strings.HasSuffix(files[0].Name, ".md") || !strings.Contains(string(files[0].Data), "echo: 你好") ||
		files[0].Picture {
		t.Errorf("%s: %s", files[0].Name, files[0].Data)
	}
	if !strings.HasSuffix(files[1].Name, ".jsonl") || !strings.Contains(string(files[1].Data), "/导出") {
		t.Errorf("%s: %s", files[1].Name, files[1].Data)
	}
	out.TakeSaid()
	group := incoming("om_4", "/export")
	group.Kind, group.Key = chat.Group, chat.FeishuChat("oc_group")
	l.receive(group)
	l.until("a reply", func() bool { return slices.Contains(out.TakeSaid(), i18n.ForAdminsInGroups.ZH) })
	if n := len(out.uploaded()); n != 2 {
		t.Errorf("%d files", n)
	}
}

// Only one export of a chat runs at a time.
func TestOneExportAtATime(t *testing.T) {
	t.Parallel()
	out := &shipper{}
	l := newBridgeRig(t, out)
	reading, goOn := make(chan struct{}), make(chan struct{})
	write := func(*bytes.Buffer, db.Record) error {
		select {
		case reading <- struct{}{}:
			<-goOn
		case <-goOn:
		}
		return nil
	}
	l.remake(func(c *Config) { c.WriteRecord = write })
	l.start()
	l.say("om_1", "你好")
	l.settled(1)
	l.idle()
	l.say("om_2", "/export")
	<-reading
	l.say("om_3", "/export")
	l.until("the end of the second", func() bool {
		waiting, active := l.aside()
		return active == 1 && waiting == 0
	})
	close(goOn)
	l.until("the files", func() bool { return len(out.uploaded()) == 2 && l.unsent() == 0 })
	if n := l.count(`SELECT COUNT(*) FROM file_deliveries`); n != 2 {
		t.Errorf("%d files", n)
	}
}
