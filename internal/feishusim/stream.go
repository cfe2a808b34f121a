package feishusim

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Stream is a file whose bytes are generated while it is served, so that a test of large files needs
// neither disk nor memory.
type Stream struct {
	Size    int64
	Declare bool          // its length is declared in advance
	Piece   int           // bytes per write; default 64 KB
	Pause   time.Duration // before each piece
}

// stream is a Stream that is served.
type stream struct {
	Stream
	served atomic.Int64
}

// UploadStream stores a file as Upload does.
func (fs *files) UploadStream(name, contentType string, s Stream) (key string) {
	setDefault(&s.Piece, 64<<10)
	return fs.store(&file{name: name, contentType: contentType, stream: &stream{Stream: s}})
}

// Served returns how many bytes of a file stored by UploadStream were written, over all requests.
func (fs *files) Served(key string) int64 {
	return fs.get(key).stream.served.Load()
}

// serve writes the file until its end or the client has gone.
func (s *stream) serve(w http.ResponseWriter, q *request, f *file) reply {
	for k, v := range f.reply().header {
		w.Header()[k] = v
	}
	if s.Declare {
		w.Header().Set("Content-Length", fmt.Sprint(s.Size))
	}
	out := http.NewResponseController(w)
	piece := make([]byte, s.Piece)
	for left := s.Size; left > 0; {
		if s.Pause > 0 && !sleep(s.Pause, q.Context().Done()) {
			break
		}
		next := min(left, int64(len(piece)))
		s.served.Add(next) // counted before the write: a client that has all bytes may call Served at once
		n, err := w.Write(piece[:next])
		s.served.Add(int64(n) - next)
		left -= int64(n)
		if err != nil || out.Flush() != nil {
			break
		}
	}
	return reply{status: http.StatusOK, taken: true}
}
