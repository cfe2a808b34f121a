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

// Limits of the platform's speech recognition: one minute of 16-bit mono sound at 16 kHz (page "Speech recognition",
// ai/speech_to_text-v1/speech/file_recognize).
const (
	longestSpeech = time.Minute
	speechSize    = 60 * 16000 * 2 // bytes
	speechTimeout = 20 * time.Second
	speechPause   = time.Hour // after the platform has refused a recording
)

// transcriber converts recordings to text, if the tenant has booked that.
type transcriber struct {
	api     *openapi.Client
	decoder string // the program that decodes recordings; empty = ffmpeg if installed

	mu          sync.Mutex
	pausedUntil time.Time // no calls are made before
}

func (e *transcriber) isPaused() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Now().Before(e.pausedUntil)
}

func (e *transcriber) pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pausedUntil = time.Now().Add(speechPause)
}

// Transcribe returns the words of a recording; "" = not possible. It needs ffmpeg, since the platform does not accept
// its own recording format.
func (e *transcriber) Transcribe(ctx context.Context, recording *os.File, length time.Duration) (string, error) {
	if length > longestSpeech || e.isPaused() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, speechTimeout)
	defer cancel()
	pcm, err := e.decode(ctx, recording)
	if err != nil || len(pcm) == 0 {
		return "", err
	}
	answer, err := e.api.Call(ctx, openapi.Request{
		Op: "turn speech into text", Method: http.MethodPost,
		Path: "/open-apis/speech_to_text/v1/speech/file_recognize",
		Body: map[string]any{
			"speech": map[string]string{"speech": base64.StdEncoding.EncodeToString(pcm)},
			"config": map[string]string{
				"file_id": uuid.NewString()[:8] + uuid.NewString()[:8], "format": "pcm", "engine_type": "16k_auto",
			},
		},
	})
	if openapi.ClassOf(err) == openapi.Refused && err != nil {
		e.pause() // most tenants have no speech recognition
	}
	return answer.Get("data.recognition_text").String(), err
}

// decode converts a recording to PCM; nil = ffmpeg is not installed. ffmpeg reads the open file and may open no other:
// the file name may lead to a different file by now, which could reference more files.
func (e *transcriber) decode(ctx context.Context, recording *os.File) ([]byte, error) {
	program, err := exec.LookPath(cmp.Or(e.decoder, "ffmpeg"))
	if err != nil {
		return nil, nil //nolint:nilerr // the agent gets the recording itself
	}
	cmd := exec.CommandContext(ctx, program, "-nostdin", "-loglevel", "error", "-protocol_whitelist", "pipe",
		"-i", "pipe:0", "-t", "60", "-ac", "1", "-ar", "16000", "-f", "s16le", "pipe:1")
	cmd.Env = []string{} // no secrets: it reads a file that a stranger has sent
	cmd.WaitDelay = time.Second
	cmd.Stdin = recording
	out := &limitedBuffer{most: speechSize}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("decode a recording: %w", err)
	}
	return out.data, nil
}

// limitedBuffer keeps up to most bytes and fails after that.
type limitedBuffer struct {
	most int
	data []byte
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > b.most {
		return 0, errors.New("longer than a minute")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
