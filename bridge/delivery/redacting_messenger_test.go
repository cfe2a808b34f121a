package delivery

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"magpie/contextmgr/redact"
	"magpie/internal/chat"
)

const canary = "canary-0123456789abcdef"

// key is what follows the lead of a key. It is composed, so that scanners do not report it.
var key = strings.Repeat("a1B2c3D4", 6)

// fillIn sets every text in a value of a card.
func fillIn(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			fillIn(v.Field(i), text)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillIn(v.Index(i), text)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem(), text)
	}
}

// A secret, a key, a password and an escape sequence are redacted in every part of a card. Values that come back with a
// press are ours and must not change.
func TestNoPartOfACardShowsASecret(t *testing.T) {
	t.Parallel()
	known := redact.NewKnown([]string{canary})
	for _, live := range []bool{false, true} {
		var c chat.Card
		fillIn(reflect.ValueOf(&c).Elem(), "xai-"+key+" or \x1b[31mred\x1b[0m, password: canary2, it is "+
			canary+", you see")
		c.Live, c.Form.Last = live, true
		before := fmt.Sprintf("%+v %+v", c, *c.Form)
		got := RedactCard(c, known)
		if fmt.Sprintf("%+v %+v", c, *c.Form) != before {
			t.Error("the card itself was changed")
		}
		if !got.Form.Last {
			t.Error("the form was moved")
		}
		got.State, got.Others = "", nil
		for _, buttons := range [][]chat.Button{got.Buttons, got.Form.Buttons} {
			for i := range buttons {
				if b := &buttons[i]; b.Action != c.Buttons[0].Action {
					t.Errorf("a press would return %+v", b.Action)
				}
				buttons[i].Action = chat.Action{}
			}
		}
		for i := range got.Form.Fields {
			f := &got.Form.Fields[i]
			f.Name, f.Kind = "", ""
			for j := range f.Options {
				f.Options[j].Value = ""
			}
		}
		if s := fmt.Sprintf("%+v %+v", got, *got.Form); strings.Contains(s, "canary") || strings.Contains(s, key[:6]) ||
			strings.ContainsAny(s, "\x1b") || strings.Contains(s, "[31m") ||
			!strings.Contains(s, "[REDACTED_API_KEY] or red, password: [REDACTED_SECRET], it is [REDACTED_SECRET], you see") {
			t.Errorf("live %v: %s", live, s)
		}
	}
}

// However the agent's text is split, no part that is shown or stored ends within a secret.
func TestASecretInPiecesIsNotShown(t *testing.T) {
	t.Parallel()
	known := redact.NewKnown([]string{canary})
	text := "the key is " + canary + " and c is not"
	for n := range len(text) + 1 {
		c := RedactCard(chat.Card{Body: text[:n], Live: true}, known)
		if i := strings.Index(c.Body, "canary"); i >= 0 || strings.HasSuffix(c.Body, "ca") {
			t.Fatalf("%q is shown", c.Body)
		}
	}
	if c := RedactCard(chat.Card{Body: text}, known); c.Body != "the key is [REDACTED_SECRET] and c is not" {
		t.Errorf("%q", c.Body)
	}
}

// drawings is a platform that keeps what is drawn.
type drawings struct {
	Messenger
	cards []chat.Card
	texts []string
}

func (d *drawings) Reply(_ context.Context, _ chat.Ref, text, _ string) (string, error) {
	d.texts = append(d.texts, text)
	return "om_1", nil
}

func (d *drawings) Post(_ context.Context, _ chat.Ref, c chat.Card, _ string) (string, error) {
	d.cards = append(d.cards, c)
	return "om_1/card", nil
}

func (d *drawings) Edit(_ context.Context, _ string, c chat.Card) error {
	d.cards = append(d.cards, c)
	return nil
}

func (d *drawings) Close(ctx context.Context, id string, c chat.Card) error {
	return d.Edit(ctx, id, c)
}

// An answer is drawn after each character. Neither a key nor a half one is shown, nor a half escape sequence; in the end
// all is shown, and the same as at once.
func TestAKeyInPiecesIsNotShown(t *testing.T) {
	t.Parallel()
	answer := "It runs.\n\n```\nexport XAI_API_KEY=xai-" + key + "\n\x1b[32mcurl -u admin:" + key + " https://a.example\x1b[0m\n```\n" +
		"密码：\n" + key + "\n\nand the end, see \x1b]8;;https://a.example\x1b\\here\x1b]8;;\x1b\\.\n 10%\r 99%\rdone\n"
	ctx := t.Context()
	out := &drawings{}
	m := NewRedactingMessenger(out, redact.NewKnown([]string{canary}))
	for n := range len(answer) {
		card := chat.Card{Body: answer[:n], Live: true, Earlier: []chat.Part{{Body: "xai-" + key}}}
		if err := m.Edit(ctx, "card", card); err != nil {
			t.Fatal(err)
		}
	}
	final := chat.Card{Body: answer}
	if err := m.Close(ctx, "card", final); err != nil {
		t.Fatal(err)
	}
	for _, c := range out.cards {
		if all := fmt.Sprint(c); strings.Contains(all, key[:4]) || strings.ContainsAny(all, "\x1b\r") || strings.Contains(all, "[32") ||
			strings.Contains(all, "8;;") {
			t.Fatalf("shown: %q", all)
		}
	}
	shown := out.cards[len(out.cards)-1].Body
	if shown != Shown(answer, redact.Known{}) || !strings.HasSuffix(shown, "and the end, see here.\ndone\n") ||
		strings.Count(shown, "[REDACTED_") != 3 {
		t.Errorf("in the end: %q", shown)
	}
	if before := out.cards[len(out.cards)-2].Body; before != strings.TrimSuffix(shown, "\n") {
		t.Errorf("before the end: %q", before)
	}
}

// A person who allows a command sees all that may be run: no password hides a command behind it.
func TestARequestHidesNoCommand(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"curl -u admin:hunter2 https://a.example":                           "curl -u admin:[REDACTED_SECRET] https://a.example",
		"sshpass -p hunter2 ssh me@host rm -rf x":                           "sshpass -p [REDACTED_SECRET] ssh me@host rm -rf x",
		"export K=xai-" + key + "; make":                                    "export K=[REDACTED_API_KEY]; make",
		"TOKEN=abc123def;reboot":                                            "TOKEN=[REDACTED_SECRET];reboot",
		"password=x1y2z3$(reboot)":                                          "password=[REDACTED_SECRET]$(reboot)",
		"curl -u a:hunter2;reboot x":                                        "curl -u a:[REDACTED_SECRET];reboot x",
		"curl https://a:b;reboot;@host":                                     "curl https://a:[REDACTED_SECRET];reboot;@host",
		"echo 'password='; rm -rf ~; echo '":                                "echo 'password='; rm -rf ~; echo '",
		"read password\nshutdown1":                                          "read password\nshutdown1",
		"echo password:\nshutdown1":                                         "echo password:\nshutdown1",
		"cat passwd id_rsa1":                                                "cat passwd id_rsa1",
		"./reset_password evil1234.sh":                                      "./reset_password evil1234.sh",
		"-----BEGIN PRIVATE KEY-----\n$(reboot)\n-----END PRIVATE KEY-----": "-----BEGIN PRIVATE KEY-----\n$(reboot)\n-----END PRIVATE KEY-----",
		"bce-auth-v1/" + key + "/;reboot/x/y":                               "[REDACTED_API_KEY];reboot/x/y",
	} {
		body, want = "```bash\n"+body+"\n```\n", "```bash\n"+want+"\n```\n"
		if got := RedactCard(chat.Card{Body: body, Asks: true}, redact.Known{}).Body; got != want {
			t.Errorf("%q is shown as %q, want %q", body, got, want)
		}
	}
	if got := RedactCard(chat.Card{Body: "> the password is hunter2", Asks: true}, redact.Known{}).Body; got != "> the password is [REDACTED_SECRET]" {
		t.Errorf("a plan is shown as %q", got)
	}
}

// Texts are masked like cards.
func TestNoTextShowsAKey(t *testing.T) {
	t.Parallel()
	out := &drawings{}
	m := NewRedactingMessenger(out, redact.Known{})
	if _, err := m.Reply(t.Context(), chat.Ref{}, "\x1b[31mxai-"+key+"\x1b[0m", ""); err != nil {
		t.Fatal(err)
	}
	if out.texts[0] != "[REDACTED_API_KEY]" {
		t.Errorf("%q", out.texts)
	}
}

// BenchmarkDrawingAGrowingAnswer draws an answer after each 200 bytes more, with what is known of the last drawing and
// without it.
func BenchmarkDrawingAGrowingAnswer(b *testing.B) {
	const paragraph = "The function reads 12 files, checks each of them, and returns the first error. 它读取文件，并检查每一个。\n" +
		"```go\ntoken, err := cfg.Token(ctx)\nif err != nil {\n\treturn fmt.Errorf(\"password: %w\", err)\n}\n```\n\n"
	for _, size := range []int{8 << 10, 64 << 10} {
		for _, known := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d KB/known=%v", size>>10, known), func(b *testing.B) {
				answer := strings.Repeat(paragraph, size/len(paragraph)+1)
				secrets := redact.NewKnown([]string{canary})
				draws := 0
				for b.Loop() {
					var g growth
					for n := 200; n < size; n += 200 {
						draws++
						if _, now := redactGrowing(chat.Card{Body: answer[:n], Live: true}, secrets, g); known {
							g = now
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(draws), "ns/draw")
			})
		}
	}
}
