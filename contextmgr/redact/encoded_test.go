package redact

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// encodings are the encodings in which a text is searched for.
func encodings(text string, pad int) map[string]string {
	around := strings.Repeat("p", pad) + text + "tail"
	utf8 := []byte(around)
	list := utfForms(around)
	wrap := func(s string, by string) string {
		var b strings.Builder
		for i := 0; i < len(s); i += 19 {
			b.WriteString(s[i:min(i+19, len(s))] + by)
		}
		return b.String()
	}
	std, url := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	return map[string]string{
		"plain": around, "UTF-16LE": string(list[1]), "UTF-16BE": string(list[2]), "with a mark": "\xff\xfe" +
			string(list[1]),
		"base64": std(utf8), "base64url": url(utf8), "base64 in lines": wrap(std(utf8), "\r\n"),
		"base64 quoted":  wrap(std(utf8), "\n> "),
		"base64 in JSON": wrap(std(utf8), `\n`), "base64 of UTF-16": std(list[1]),
		"base64 in UTF-16": string(utfForms(std(utf8))[2]),
		"hex":              fmt.Sprintf("%x", utf8), "HEX": strings.ToUpper(fmt.Sprintf("%x", utf8)),
		"hex with spaces": fmt.Sprintf("% x", utf8),
		"hex with colons": strings.ReplaceAll(fmt.Sprintf("% X", utf8), " ", ":"),
		"hex in lines":    wrap(fmt.Sprintf("%x", utf8), "\n"),
		"hex in C":        `"\x` + strings.ReplaceAll(fmt.Sprintf("% x", utf8), " ", `\x`),
		"hex in Go":       fmt.Sprintf("%#v", utf8), "hex of UTF-16": fmt.Sprintf("%x", list[2]),
	}
}

func TestSecretsAreFoundInTheirEncodings(t *testing.T) {
	for _, secret := range []string{
		"canary-0", "canary-secret-0123456789abcdef", "密码是很长的密码", "https://hooks.example/?key=a&b=~/+",
	} {
		k := NewKnown([]string{"another-secret", secret})
		for pad := range 7 {
			for name, text := range encodings(secret, pad) {
				for how, r := range map[string]io.Reader{
					"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
					"behind much": io.MultiReader(strings.NewReader(strings.Repeat("x\n\x00 ", 40_000)),
						strings.NewReader(" "+text)),
				} {
					if pad > 2 && how == "behind much" {
						continue // base64 has three alignments, the wide encodings have fewer
					}
					if found, err := k.FoundInReader(r); err != nil || !found {
						t.Errorf("%q in %s behind %d bytes, %s: %v, %v", secret, name, pad, how, found, err)
					}
				}
			}
			for name, text := range encodings("canari-sekret", pad) {
				if found, err := k.FoundInReader(strings.NewReader(text)); err != nil || found {
					t.Errorf("other text in %s counts as %q", name, secret)
				}
			}
		}
	}
	k := NewKnown([]string{"canary-secret-0123456789abcdef"})
	unknown := base32.StdEncoding.EncodeToString([]byte("canary-secret-0123456789abcdef"))
	if found, err := k.FoundInReader(strings.NewReader(unknown)); err != nil || found {
		t.Errorf("base32 is searched for now: update the documentation")
	}
	if _, err := k.FoundInReader(iotest.ErrReader(io.ErrUnexpectedEOF)); err == nil {
		t.Error("unreadable input counts as clean")
	}
	if found, err := (Known{}).FoundInReader(strings.NewReader("canary")); found || err != nil {
		t.Errorf("without known secrets: %v, %v", found, err)
	}
}

// BenchmarkWithin measures the time per byte, which depends neither on the size nor on the content.
func BenchmarkWithin(b *testing.B) {
	var secrets []string
	for i := range 50 {
		secrets = append(secrets, fmt.Sprintf("canary-secret-%032d", i))
	}
	k := NewKnown(append(secrets, "canary-secret-00000000x"+strings.Repeat("y", 40)))
	noise := make([]byte, 8<<20)
	rng := rand.NewChaCha8([32]byte{})
	_, _ = rng.Read(noise)
	for name, data := range map[string][]byte{
		"noise": noise, "beginnings": bytes.Repeat([]byte("canary-secret-00000000 "), len(noise)/23),
		"base64": []byte(base64.StdEncoding.EncodeToString(noise)), "zeros": make([]byte, len(noise)),
	} {
		for _, size := range []int{1 << 20, len(noise)} {
			part := data[:min(size, len(data))]
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(part)))
				for b.Loop() {
					if _, err := k.FoundInReader(bytes.NewReader(part)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
