// Package attachmenttest is a source of files for tests. What the platform does is in internal/feishusim.
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

// Source is a source of files, as [attachment.Config] wants it. Its fields are set before it is asked.
type Source struct {
	Files  map[string]string        // by key
	Hold   chan struct{}            // downloads wait for it; nil = they do not
	Quotes map[string]chat.Incoming // messages that others quote, by id
	Tree   string                   // what any forwarded message holds
	Speech string                   // what is said in a recording

	mu    sync.Mutex
	asked []string
}

// New is a source without anything.
func New() *Source { return &Source{Files: map[string]string{}, Quotes: map[string]chat.Incoming{}} }

// Asked lists the keys of the files that were asked for.
func (s *Source) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Download writes a file of Files.
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

// Quoted is a message of Quotes.
func (s *Source) Quoted(_ context.Context, _ chat.Key, id string) (chat.Incoming, error) {
	in, ok := s.Quotes[id]
	if !ok {
		return in, chat.ErrGone
	}
	return in, nil
}

// Forwarded is Tree.
func (s *Source) Forwarded(context.Context, chat.Key, string) (string, error) { return s.Tree, nil }

// Transcribe understands nothing but "opus", which says Speech.
func (s *Source) Transcribe(_ context.Context, recording *os.File, _ time.Duration) (string, error) {
	data, err := io.ReadAll(recording)
	if string(data) != "opus" {
		return "", err
	}
	return s.Speech, nil
}
