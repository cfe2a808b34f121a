package delivery

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
	"magpie/internal/safepath"
)

// fileDelivery delivers files. A file is uploaded first, which nobody sees, and the platform's name of it is stored;
// then it is shown. By that name it is found if an earlier attempt has shown it.
type fileDelivery struct {
	store  db.FileDeliveries
	copies Spool
	out    Messenger

	mu      sync.Mutex
	awaited map[int64]chan struct{} // by delivery; closed when it is known what became of it
}

func newFileDelivery(store db.FileDeliveries, copies Spool, out Messenger) *fileDelivery {
	return &fileDelivery{store: store, copies: copies, out: out, awaited: map[int64]chan struct{}{}}
}

// content reads the file that p shows.
func (fd *fileDelivery) content(p db.Post) (chat.Upload, error) {
	u := chat.Upload{Name: p.File.Name, Picture: p.File.Picture, Data: []byte(p.Text)}
	if p.File.Copy == "" {
		return u, nil
	}
	var err error
	u.Data, err = os.ReadFile(fd.copies.path(p.File.Copy))
	// The copy cannot come back, so the delivery is given up instead of repeated.
	if errors.Is(err, os.ErrNotExist) {
		return u, fmt.Errorf("the copy is gone: %w", chat.ErrNotTaken)
	}
	return u, err
}

// present makes p visible, unless an earlier attempt did, and returns the message that shows it.
func (fd *fileDelivery) present(ctx context.Context, to chat.Ref, p db.Post, sent []chat.Sent) (string, error) {
	if p.File.Upload == "" {
		failpoint.At("file: uploading")
		u, err := fd.content(p)
		if err != nil {
			return "", err
		}
		if p.File.Upload, err = fd.out.Upload(ctx, u); err != nil {
			return "", err
		}
		failpoint.At("file: uploaded")
		// Stored even during shutdown: otherwise the same file would be uploaded again.
		if err := fd.store.Uploaded(context.WithoutCancel(ctx), p.File.ID, p.File.Upload); err != nil {
			return "", err
		}
		failpoint.At("file: upload noted")
	}
	// An earlier attempt may have sent the message without noticing; it is recognized by its upload key.
	for _, s := range sent {
		if s.File == p.File.Upload {
			return s.ID, nil
		}
	}
	defer failpoint.At("file: shown")
	return fd.out.Attach(ctx, to, p.File.Upload, p.File.Caption, p.Idem)
}

// SendsFiles reports whether there is a folder for the copies of files, without which agents send none.
func (o *Outbox) SendsFiles() bool { return o.fileDelivery.copies.Dir != "" }

// RemoveUnneeded deletes the copies of files that nobody waits for any more. It is called before an agent can send
// anything; what it cannot do it logs.
func (o *Outbox) RemoveUnneeded(ctx context.Context) {
	needed, err := o.posts.FileDeliveries().Copies(ctx)
	if err == nil {
		err = o.fileDelivery.copies.sweep(needed)
	}
	if err != nil && ctx.Err() == nil {
		o.log.Warn().Err(err).Msg("copies of delivered files not deleted")
	}
}

// File is a file that an agent sends from the folder of a project.
type File struct {
	Project string // the folder
	Path    string // absolute, or from the folder on
	Caption string // Markdown; empty = none
}

// SendFile enqueues a file as an answer in the turn's chat, and waits at most patience for its delivery. It
// returns the delivery in its state then, and whether it is a new one: a turn sends the same content under
// the same name and caption once. An [agenttools.RefusedError] tells the agent why nothing was sent.
func (o *Outbox) SendFile(
	ctx context.Context, turn db.Turn, f File, patience time.Duration,
) (p db.FileDelivery, isNew bool, err error) {
	copies := o.fileDelivery.copies
	// A copy is delivered: the agent may change or delete the file while the delivery waits.
	c, err := copies.copyIn(f.Project, f.Path)
	if err != nil {
		return p, false, err
	}
	p = db.FileDelivery{
		Name: copies.Known.Text(fileName(f.Path)), Picture: c.picture, Caption: copies.Known.Text(f.Caption),
		Size: c.size, Copy: c.name,
	}
	p, isNew, err = o.posts.FileDeliveries().Leave(ctx, turn, p, fileIdem(turn.ID, p, c))
	// The earlier delivery has a copy of its own.
	if err != nil || !isNew {
		copies.drop(c.name)
	}
	if err != nil {
		return p, false, err
	}
	o.log.Info().Stringer("chat", turn.Key).Int64("turn", turn.ID).Int64("bytes", p.Size).
		Bool("picture", p.Picture).Bool("fresh", isNew).Msg("the agent sends a file")
	o.Wake(turn.Key)
	p, err = o.fileDelivery.await(ctx, p.ID, patience)
	return p, isNew, err
}

// fileIdem names a file of a turn: the same content under the same name and with the same caption is the same.
func fileIdem(turn int64, p db.FileDelivery, c copied) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", c.sum, p.Name, p.Caption))
	return fmt.Sprintf("file:%d:%s", turn, hex.EncodeToString(sum[:16]))
}

// fileName is how people see a file: without its folder, and without what could harm whoever keeps it.
func fileName(path string) string { return cmp.Or(safepath.FileName(path), "file") }

// triesInOrder is how often a file is tried before what waits behind it goes first.
const triesInOrder = 2

// delay puts a post off until a time.
func (o *Outbox) delay(ctx context.Context, p db.Post, until time.Time) error {
	if p.File != nil && p.Attempts+1 >= triesInOrder {
		return o.posts.FileDeliveries().Postpone(ctx, p, until)
	}
	return o.posts.Delay(ctx, p, until)
}

// done reports the outcome of a file to whoever waits for it, and removes the copy.
func (fd *fileDelivery) done(p db.Post) {
	if p.File == nil {
		return
	}
	if p.File.Copy != "" {
		fd.copies.drop(p.File.Copy)
	}
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if ch := fd.awaited[p.File.ID]; ch != nil {
		close(ch)
		delete(fd.awaited, p.File.ID)
	}
}

// await returns a delivery when its outcome is known, or its present state after most.
func (fd *fileDelivery) await(ctx context.Context, id int64, most time.Duration) (db.FileDelivery, error) {
	fd.mu.Lock()
	ch := fd.awaited[id]
	if ch == nil {
		ch = make(chan struct{})
		fd.awaited[id] = ch
	}
	fd.mu.Unlock()
	p, err := fd.store.Get(ctx, id) // it may have been delivered before anybody waited
	if err == nil && p.State == db.OnItsWay {
		t := time.NewTimer(most)
		defer t.Stop()
		select {
		case <-ch:
		case <-t.C:
		case <-ctx.Done():
		}
		p, err = fd.store.Get(context.WithoutCancel(ctx), id)
	}
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if fd.awaited[id] == ch {
		delete(fd.awaited, id)
	}
	return p, err
}
