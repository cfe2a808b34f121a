package attachment

import (
	"context"
	"sync"

	"magpie/internal/chat"
)

// downloadSpace is the size of the running downloads per chat.
type downloadSpace struct {
	mu     sync.Mutex
	coming map[chat.Key]int64 // reserved bytes, by chat without topic
	freed  chan struct{}      // closed when space is released; nil = nobody is waiting
}

// reserve reserves space for the next file of a chat and returns its maximum size in bytes. If running downloads might
// use up the rest, it waits for their actual sizes.
func (fs *Store) reserve(ctx context.Context, key chat.Key) (most int64, err error) {
	for {
		most, freed, err := fs.tryReserve(ctx, key)
		if freed == nil {
			return most, err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// tryReserve reserves space if there is some now. Otherwise it returns a channel that is closed when other downloads
// have released theirs.
func (fs *Store) tryReserve(ctx context.Context, key chat.Key) (most int64, freed <-chan struct{}, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	held, err := fs.db.Messages().SizeOfFiles(ctx, key)
	if err != nil {
		return 0, nil, err
	}
	coming := fs.coming[key.Parent()]
	// Running downloads count with their maximum, since their size is known only afterwards.
	left := filesOfChat*fs.Most - held - coming
	switch {
	case left < fs.Most && coming > 0:
		if fs.freed == nil {
			fs.freed = make(chan struct{})
		}
		return 0, fs.freed, nil
	case left <= 0:
		return 0, nil, errNoRoom
	}
	if fs.coming == nil {
		fs.coming = map[chat.Key]int64{}
	}
	most = min(left, fs.Most)
	fs.coming[key.Parent()] += most
	return most, nil, nil
}

// release releases a reservation and wakes all waiters, since any of them may fit now.
func (s *downloadSpace) release(key chat.Key, bytes int64) {
	if bytes == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coming[key.Parent()] -= bytes; s.coming[key.Parent()] == 0 {
		delete(s.coming, key.Parent())
	}
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
