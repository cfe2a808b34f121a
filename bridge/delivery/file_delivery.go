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
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
	"magpie/internal/safepath"
)

// fileDelivery delivers files. It first uploads a file, which is invisible, and stores the platform's key for it; then
// it shows the file. A retry recognizes by that key whether an earlier attempt has shown it.
type fileDelivery struct {
	store  db.Outbox
	copies Spool
	out    Messenger

	mu      sync.Mutex
	awaited map[int64]chan struct{} // by delivery; closed when its outcome is known
}

func newFileDelivery(store db.Outbox, copies Spool, out Messenger) *fileDelivery {
	return &fileDelivery{store: store, copies: copies, out: out, awaited: map[int64]chan struct{}{}}
}

// readUpload reads the file that p shows.
func (fd *fileDelivery) readUpload(p db.Post) (chat.Upload, error) {
	u := chat.Upload{Name: p.File.Name, Picture: p.File.Picture, Data: []byte(p.Text)}
	if p.File.Copy == "" {
		return u, nil
	}
	var err error
	u.Data, err = os.ReadFile(fd.copies.path(p.File.Copy))
	if errors.Is(err, os.ErrNotExist) {
		return u, errNoCopy
	}
	return u, err
}

var errNoCopy = errors.New("the copy of the file is not on this machine")

const (
	// copyPatience is how long a file is waited for whose copy another machine may have, which was restarted or has lost the
	// chat to this one.
	copyPatience = 10 * time.Minute
	copyPoll     = 10 * time.Second // longest interval of looking for its upload
)

// mayCome reports whether another bridge may still upload the file of p.
func (pr *presenter) mayCome(p db.Post) bool {
	return pr.db.Place() != nil && time.Since(p.Created) < copyPatience
}

// upload uploads the file of p, and stores the platform's key of it.
func (fd *fileDelivery) upload(ctx context.Context, to chat.Ref, p db.Post) error {
	failpoint.At("file: uploading")
	u, err := fd.readUpload(p)
	if err != nil {
		return err
	}
	if p.File.Upload, err = fd.out.Upload(ctx, to, u); err != nil {
		return err
	}
	failpoint.At("file: uploaded")
	// Stored even during shutdown: otherwise the same file would be uploaded again.
	return fd.store.SetUpload(context.WithoutCancel(ctx), p)
}

// uploadForOthers uploads the files of chats that another bridge has by now. That one shows them, but only this machine has
// the copies.
func (o *Outbox) uploadForOthers(ctx context.Context) {
	copies := o.fileDelivery.copies
	if here, err := os.ReadDir(copies.Dir); err != nil || len(here) == 0 {
		return
	}
	posts, err := o.posts.Copies(ctx)
	for _, p := range posts {
		if free, failed := o.db.Place().Free(ctx, []chat.Key{p.Key}); failed != nil || len(free) > 0 || p.File.Upload != "" {
			err = errors.Join(err, failed)
			continue
		}
		switch failed := o.fileDelivery.upload(ctx, chat.Ref{Key: p.Key, ID: p.ReplyTo}, p); {
		case errors.Is(failed, errNoCopy):
		case failed == nil, errors.Is(failed, chat.ErrNotTaken):
			copies.remove(p.File.Copy)
		default:
			err = errors.Join(err, failed)
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrAway) {
		o.log.Warn().Err(err).Msg("files of chats at other bridges not uploaded; trying again")
	}
}

// present shows p, unless an earlier attempt did, and returns the message with the file.
func (fd *fileDelivery) present(ctx context.Context, to chat.Ref, p db.Post, sent []chat.Sent) (string, error) {
	if p.File.Upload == "" {
		if err := fd.upload(ctx, to, p); err != nil {
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

// SendsFiles reports whether agents can send files, which needs a folder for the copies.
func (o *Outbox) SendsFiles() bool { return o.fileDelivery.copies.Dir != "" }

// RemoveDeliveredCopies deletes the copies without a pending delivery. It must be called before an agent can send
// anything; it only logs errors.
func (o *Outbox) RemoveDeliveredCopies(ctx context.Context) {
	posts, err := o.posts.Copies(ctx)
	if err == nil {
		var needed []string
		for _, p := range posts {
			needed = append(needed, p.File.Copy)
		}
		err = o.fileDelivery.copies.sweep(needed)
	}
	if err != nil && ctx.Err() == nil {
		o.log.Warn().Err(err).Msg("copies of delivered files not deleted")
	}
}

// File is a file that an agent sends from a project folder.
type File struct {
	Project string // the project folder
	Path    string // absolute, or relative to the folder
	Caption string // Markdown; empty = none
}

// SendFile enqueues a file as a reply in the turn's chat, and waits at most patience for its delivery. It returns the
// delivery in its current state, and whether it is new: a turn sends the same content with the same name and caption
// once. An [agenttools.RefusedError] tells the agent why nothing was sent.
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
	p, isNew, err = o.posts.EnqueueFile(ctx, turn, p, fileIdem(turn.ID, p, c))
	// The earlier delivery has its own copy.
	if err != nil || !isNew {
		copies.remove(c.name)
	}
	if err != nil {
		return p, false, err
	}
	o.log.Info().Stringer("chat", turn.Key).Int64("turn", turn.ID).Int64("bytes", p.Size).
		Bool("picture", p.Picture).Bool("fresh", isNew).Msg("file queued by the agent")
	o.Wake(turn.Key)
	p, err = o.fileDelivery.await(ctx, p.ID, patience)
	return p, isNew, err
}

// fileIdem identifies a file of a turn by its content, name and caption.
func fileIdem(turn int64, p db.FileDelivery, c spoolCopy) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", c.sum, p.Name, p.Caption))
	return fmt.Sprintf("file:%d:%s", turn, hex.EncodeToString(sum[:16]))
}

// fileName is a file's name for people: without its folder, and safe to save.
func fileName(path string) string { return cmp.Or(safepath.FileName(path), "file") }

// triesInOrder is how often a file is tried before later deliveries go first. One that the app may not send waits for
// an operator, and one whose copy is elsewhere for another machine, so they go first at once.
const triesInOrder = 2

// delay postpones a post because of an error.
func (o *Outbox) delay(ctx context.Context, p db.Post, until time.Time, why error) error {
	yields := p.File != nil && (p.Attempts+1 >= triesInOrder || errors.Is(why, chat.ErrForbidden) || errors.Is(why, errNoCopy))
	return o.posts.Delay(ctx, p, until, failureOf(why), yields)
}

// finish reports the outcome of a file to whoever waits for it, and removes the copy.
func (fd *fileDelivery) finish(p db.Post) {
	if p.File == nil {
		return
	}
	if p.File.Copy != "" {
		fd.copies.remove(p.File.Copy)
	}
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if ch := fd.awaited[p.File.ID]; ch != nil {
		close(ch)
		delete(fd.awaited, p.File.ID)
	}
}

// await returns a delivery when its outcome is known, or its current state after most.
func (fd *fileDelivery) await(ctx context.Context, id int64, most time.Duration) (db.FileDelivery, error) {
	fd.mu.Lock()
	ch := fd.awaited[id]
	if ch == nil {
		ch = make(chan struct{})
		fd.awaited[id] = ch
	}
	fd.mu.Unlock()
	p, err := fd.store.FileDelivery(ctx, id) // it may have been delivered before the wait began
	if err == nil && p.State == db.OnItsWay {
		t := time.NewTimer(most)
		defer t.Stop()
		select {
		case <-ch:
		case <-t.C:
		case <-ctx.Done():
		}
		p, err = fd.store.FileDelivery(context.WithoutCancel(ctx), id)
	}
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if fd.awaited[id] == ch {
		delete(fd.awaited, id)
	}
	return p, err
}
