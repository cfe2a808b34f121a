package feishu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/internal/feishusim"
)

// decoder is a substitute for ffmpeg. It writes that many bytes if it gets opus and is asked for the right format.
func decoder(t *testing.T, bytes string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	script := "#!/bin/sh\ncase \"$*$(/usr/bin/head -c 4)\" in *'-protocol_whitelist pipe -i pipe:0 '*'-ac 1 -ar " +
		"16000 -f s16le pipe:1opus') exec /usr/bin/head -c " + bytes + " /dev/zero;; esac\nexit 3\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// recording is an open file without a name, so nobody else can read it.
func recording(t *testing.T) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.opus")
	if err := os.WriteFile(path, []byte("opus"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRecordingsAreUnderstood(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.transcriber.decoder = decoder(t, "32000")
	p.SetRecognizer(func(pcm []byte) string {
		if len(pcm) != 32000 {
			return "noise"
		}
		return "你好"
	})
	if got, err := p.Transcribe(p.ctx(), recording(t), time.Second); err != nil || got != "你好" {
		t.Errorf("heard %q, %v", got, err)
	}
	if got, err := p.Transcribe(p.ctx(), recording(t), 2*time.Minute); err != nil || got != "" {
		t.Errorf("too long: %q, %v", got, err)
	}
	p.transcriber.decoder = decoder(t, "2000000")
	if got, err := p.Transcribe(p.ctx(), recording(t), 0); err == nil || got != "" {
		t.Errorf("longer than announced: %q, %v", got, err)
	}
	p.transcriber.decoder = filepath.Join(t.TempDir(), "none")
	if got, err := p.Transcribe(p.ctx(), recording(t), time.Second); err != nil || got != "" {
		t.Errorf("without a decoder: %q, %v", got, err)
	}
	p.clean()
}

// Most tenants have no access to speech recognition. Then it is not called for every recording.
func TestSpeechIsNotRecognizedWithoutAccess(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.transcriber.decoder = decoder(t, "3200")
	for range 3 {
		if got, _ := p.Transcribe(p.ctx(), recording(t), time.Second); got != "" {
			t.Errorf("heard %q", got)
		}
	}
	n := 0
	for _, c := range p.Calls() {
		if strings.HasSuffix(c.Path, "/file_recognize") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("asked %d times", n)
	}
}
