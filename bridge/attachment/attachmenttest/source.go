// Package attachmenttest provides a source of attachments for tests. The platform's behavior is in internal/feishusim.
package attachmenttest

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"magpie/internal/chat"
)

// Source implements [attachment.Source]. Set its fields before using it.
type Source struct {
	Files  map[string]string        // by key
	Hold   chan struct{}            // blocks downloads until closed; nil = they do not block
	Quotes map[string]chat.Incoming // quoted messages, by ID
	Tree   string                   // the text of every forwarded message
	Speech string                   // the text of every recording

	mu    sync.Mutex
	asked []string
}

// New makes an empty Source.
func New() *Source { return &Source{Files: map[string]string{}, Quotes: map[string]chat.Incoming{}} }

// Asked lists the keys of the requested files.
func (s *Source) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Download writes a file from Files.
func (s *Source) Download(ctx context.Context, f chat.File, most int64, w io.Writer) error {
	s.mu.Lock()
	s.asked = append(s.asked, f.Key)
	s.mu.Unlock()
	if s.Hold != nil {
		select {
		case <-s.Hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	data, ok := s.Files[f.Key]
	switch {
	case !ok:
		return errors.New("no such file")
	case int64(len(data)) > most:
		return chat.ErrTooBig
	}
	_, err := io.WriteString(w, data)
	return err
}

// FetchQuoted returns a message from Quotes.
func (s *Source) FetchQuoted(_ context.Context, _ chat.Key, id string) (chat.Incoming, error) {
	in, ok := s.Quotes[id]
	if !ok {
		return in, chat.ErrGone
	}
	return in, nil
}

// FetchForwarded returns Tree.
func (s *Source) FetchForwarded(context.Context, chat.Key, string) (string, error) {
	return s.Tree, nil
}

// Transcribe returns Speech for the recording "opus", and nothing for others.
func (s *Source) Transcribe(_ context.Context, _ string, recording *os.File, _ time.Duration) (string, error) {
	data, err := io.ReadAll(recording)
	if string(data) != "opus" {
		return "", err
	}
	return s.Speech, nil
}
