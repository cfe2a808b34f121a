package feishu

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func pixels(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shownFile is the file that a message shows.
func (p *platform) shownFile(m feishusim.Message) (name string, data []byte) {
	p.t.Helper()
	_, key, _ := strings.Cut(fileOf(m.Type, gjson.Parse(m.Content)), "/")
	name, data, ok := p.File(key)
	if !ok {
		p.t.Fatalf("%s %s shows no file that is known", m.Type, m.Content)
	}
	return name, data
}

func TestFilesAreShownAsWhatTheyAre(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	dots, other := pixels(t), p.another()
	for _, tt := range []struct {
		name    string
		up      chat.Upload
		caption string
		types   []string
	}{
		{"picture", chat.Upload{Name: "a.png", Picture: true, Data: dots}, "", []string{"image"}},
		{"picture with words", chat.Upload{Name: "a.png", Picture: true, Data: dots}, "**the** <at id=all></at> plot",
			[]string{"post"}},
		{"a picture by its name only", chat.Upload{Name: "b.png", Picture: true, Data: []byte("no picture at all")}, "",
			[]string{"file"}},
		{"a big picture", chat.Upload{Name: "c.png", Picture: true, Data: append(dots, make([]byte, MaxPicture)...)},
			"", []string{"file"}},
		{"report", chat.Upload{Name: "报告 <1>.pdf", Data: []byte("%PDF-1.7")}, "", []string{"file"}},
		{"report with words", chat.Upload{Name: "r.xlsx", Data: []byte("cells")}, "the **cells**",
			[]string{"file", "post"}},
		{"video", chat.Upload{Name: "demo.MP4", Data: []byte("moving")}, "", []string{"media"}},
		{"anything", chat.Upload{Name: "Makefile", Data: []byte("all:\n")}, "", []string{"file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(p.answers(ask.Key.ID))
			name, err := p.Client.Upload(p.ctx(), chat.Ref{}, tt.up)
			p.must(err)
			var first string
			for range 2 { // the second call has no effect
				id, err := other.Attach(p.ctx(), ask, name, tt.caption, "idem "+tt.name)
				p.must(err)
				if first != "" && id != first {
					t.Errorf("message %s, then %s", first, id)
				}
				first = id
			}
			var types []string
			shown := p.answers(ask.Key.ID)[before:]
			for _, m := range shown {
				types = append(types, m.Type)
				if m.ParentID != ask.ID {
					t.Errorf("%s answers %q", m.Type, m.ParentID)
				}
			}
			if strings.Join(types, " ") != strings.Join(tt.types, " ") || shown[0].ID != first {
				t.Fatalf("shown %v, want %v", types, tt.types)
			}
			if got, data := p.shownFile(shown[0]); !bytes.Equal(data, tt.up.Data) || types[0] == "file" &&
				got != tt.up.Name {
				t.Errorf("%s of %d bytes", got, len(data))
			}
			found, err := p.Find(p.ctx(), ask)
			p.must(err)
			if found[before].File != name || found[before].Card != "" {
				t.Errorf("found %+v, want %s", found[before], name)
			}
		})
	}
	for _, v := range p.Violations() {
		if !strings.Contains(v.Detail, "image format") { // only the platform can tell that it is no picture
			t.Errorf("violation: %s: %s", v.Rule, v.Detail)
		}
	}
}

// An upload with unknown outcome is repeated. While the platform is down nothing is uploaded.
func TestUploadsGoThroughTheSameBreaker(t *testing.T) {
	p, _ := newQuestion(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/files", Times: 1, Apply: true, Reset: true})
	u := chat.Upload{Name: "a.txt", Data: []byte("words")}
	if name, err := p.Client.Upload(p.ctx(), chat.Ref{}, u); err != nil || !strings.HasPrefix(name, "file/file_") {
		t.Errorf("%q, %v", name, err)
	}
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/files", Status: 503})
	for range 2 {
		if _, err := p.Client.Upload(p.ctx(), chat.Ref{}, u); err == nil {
			t.Fatal("uploaded to nobody")
		}
	}
	before := len(p.Calls())
	if _, err := p.Client.Upload(p.ctx(), chat.Ref{}, u); err == nil || !p.Client.CircuitOpen() || len(p.Calls()) != before {
		t.Errorf("%v, away %v, %d calls", err, p.Client.CircuitOpen(), len(p.Calls())-before)
	}
}

func TestOnlyUploadsAreAttached(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	for _, name := range []string{"", "image", "image/", "text/x", "/etc/passwd"} {
		if id, err := p.Attach(p.ctx(), ask, name, "", "idem"); err == nil {
			t.Errorf("%q is shown as %s", name, id)
		}
	}
	p.clean()
}
