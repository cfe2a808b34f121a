package feishu

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/google/uuid"

	"magpie/feishu/openapi"
)

// What the platform understands: a minute of sound, 16-bit mono at 16 kHz (page "Speech recognition",
// ai/speech_to_text-v1/speech/file_recognize).
const (
	longestSpeech = time.Minute
	speechSize    = 60 * 16000 * 2 // bytes
	speechTimeout = 20 * time.Second
	speechRest    = time.Hour // after the platform has refused to listen
)

// transcriber turns recordings into words, where the tenant has the right to it.
type transcriber struct {
	decoder string // the program that decodes recordings; empty = ffmpeg, if it is installed

	mu   sync.Mutex
	rest time.Time // until then nothing is asked
}

func (e *transcriber) resting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Now().Before(e.rest)
}

func (e *transcriber) pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = time.Now().Add(speechRest)
}

// Transcribe says what is spoken in a recording; empty = it cannot. It takes ffmpeg, since the platform records in a
// form that it does not understand itself.
func (c *Client) Transcribe(ctx context.Context, recording *os.File, length time.Duration) (string, error) {
	if length > longestSpeech || c.transcriber.resting() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, speechTimeout)
	defer cancel()
	pcm, err := c.transcriber.samples(ctx, recording)
	if err != nil || len(pcm) == 0 {
		return "", err
	}
	answer, err := c.api.Call(ctx, openapi.Request{
		Op: "turn speech into text", Method: http.MethodPost, Path: "/open-apis/speech_to_text/v1/speech/file_recognize",
		Body: map[string]any{
			"speech": map[string]string{"speech": base64.StdEncoding.EncodeToString(pcm)},
			"config": map[string]string{"file_id": uuid.NewString()[:8] + uuid.NewString()[:8], "format": "pcm", "engine_type": "16k_auto"},
		},
	})
	if openapi.ClassOf(err) == openapi.Refused && err != nil {
		c.transcriber.pause() // most tenants do not have it
	}
	return answer.Get("data.recognition_text").String(), err
}

// samples decodes a recording; nothing = there is no program that could. The program reads an open file, and no other:
// under the file's name there may be something else by now, and in it the names of others.
func (e *transcriber) samples(ctx context.Context, recording *os.File) ([]byte, error) {
	program, err := exec.LookPath(cmp.Or(e.decoder, "ffmpeg"))
	if err != nil {
		return nil, nil //nolint:nilerr // the recording is handed over as it is
	}
	cmd := exec.CommandContext(ctx, program, "-nostdin", "-loglevel", "error", "-protocol_whitelist", "pipe",
		"-i", "pipe:0", "-t", "60", "-ac", "1", "-ar", "16000", "-f", "s16le", "pipe:1")
	cmd.Env = []string{} // it reads what a stranger has sent
	cmd.WaitDelay = time.Second
	cmd.Stdin = recording
	out := &bounded{most: speechSize}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("decode a recording: %w", err)
	}
	return out.data, nil
}

// bounded keeps so many bytes and refuses more.
type bounded struct {
	most int
	data []byte
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > b.most {
		return 0, errors.New("longer than a minute")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
