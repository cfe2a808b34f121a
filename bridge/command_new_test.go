package bridge

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// The text after /new or /reset is the first question of the new conversation, unchanged.
func TestWhatFollowsNewIsAsked(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "x"
	d.untitled()
	d.start()
	d.say("om_0", "the heron flies")
	d.prompt(1)
	for i, tc := range []struct {
		text, question string
		reply          i18n.Phrase
	}{
		{"/new what was that?", "what was that?", i18n.NewBegun},
		{"/新会话 刚才\n说了什么？", "刚才\n说了什么？", i18n.NewBegun},
		{"／RESET\nand now?", "and now?", i18n.ResetDone},
		{"/new 继续", "继续", i18n.NewBegun},
	} {
		id, epoch := "om_new_"+tc.text, int64(i+1)
		d.say(id, tc.text)
		d.say(id, tc.text) // told again
		if got := d.prompt(i + 2); got != tc.question {
			t.Errorf("%q: asked %q", tc.text, got)
		}
		d.sent()
		if got := d.rec.TakeSaid(); !slices.Contains([]string{tc.reply.ZH, tc.reply.EN}, strings.Join(got, "|")) {
			t.Errorf("%q: said %q", tc.text, got)
		}
		var said []string
		for m, err := range d.store.Messages().Range(t.Context(), room, epoch, 0, 1000) {
			d.must(err)
			said = append(said, m.Text)
		}
		if len(said) != 2 || said[1] != tc.question || d.chat().Epoch != epoch { // the answer, and what it answers
			t.Errorf("%q: conversation %d holds %q, and the chat is at %d", tc.text, epoch, said, d.chat().Epoch)
		}
	}
}

func TestWhatFollowsNewInAGroupHasItsFiles(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "x"
	d.start()
	m := incoming("om_1", "/new [文件 a.pdf] sum it up")
	m.Kind, m.Files = chat.Group, []chat.File{document("om_1", "k1", "a.pdf")}
	overheard := m
	overheard.ID, overheard.ToBot, overheard.Files = "om_0", false, nil
	d.receive(overheard) // the bot is not meant
	d.receive(m)
	want := "[文件 a.pdf] sum it up\n\nAttachments:\n- [文件 a.pdf] " +
		filepath.Join(d.received(), "2-1-a.pdf")
	if got := d.prompt(1); !strings.HasSuffix(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
	if d.chat().Epoch != 1 {
		t.Errorf("%d new conversations", d.chat().Epoch)
	}
}

// A command that arrives too late does not run, nor does its question. Its author gets a reply that says so.
func TestALateNewAsksNothing(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.start()
	m := incoming("om_1", "/new what was that?")
	m.Time = time.Now().Add(-2 * time.Hour)
	d.receive(m)
	d.sent()
	if got := d.rec.TakeSaid(); len(got) != 1 || !strings.Contains(got[0], "/new") {
		t.Errorf("said %q", got)
	}
	if n := d.count(`SELECT COUNT(*) FROM turns`); n != 0 || d.chat().Epoch != 0 {
		t.Errorf("%d turns, %d new conversations", n, d.chat().Epoch)
	}
}

// When the author changes the message, the question is what follows the command; what says the same is no change.
func TestAChangedNewIsAskedOnce(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t) // which does not run yet
	d.say("om_1", "/new one")
	for _, text := range []string{"/new one", "/new two", "/new"} {
		d.must(d.bridge.HandleEdit(t.Context(), incoming("om_1", text)))
	}
	d.start()
	if got := d.prompt(1); got != "two" {
		t.Errorf("asked %q", got)
	}
	if n := d.count(`SELECT COUNT(*) FROM turns`); n != 1 || d.chat().Epoch != 1 {
		t.Errorf("%d turns, %d new conversations", n, d.chat().Epoch)
	}
}

// The first question of a chat is answered in its language, even after a command.
func TestWhatFollowsNewIsAnsweredInItsLanguage(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.start()
	d.say("om_1", "/new what was that?")
	d.prompt(1)
	d.sent()
	if got := d.rec.TakeSaid(); !slices.Equal(got, []string{i18n.NewBegun.EN}) {
		t.Errorf("said %q", got)
	}
}
