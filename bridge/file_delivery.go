package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// fileDelivery delivers files. A file is uploaded first, which nobody sees, and the platform's name of it is stored;
// then it is shown. By that name it is found if an earlier attempt has shown it.
type fileDelivery struct {
	store  db.FileDeliveries
	copies fileSpool
	out    Messenger

	mu      sync.Mutex
	awaited map[int64]chan struct{} // closed when it is known what became of a parcel
}

func newFileDelivery(store db.FileDeliveries, copies fileSpool, out Messenger) *fileDelivery {
	return &fileDelivery{store: store, copies: copies, out: out, awaited: map[int64]chan struct{}{}}
}

// tidy removes the copies that nobody waits for.
func (ps *fileDelivery) tidy(ctx context.Context) error {
	needed, err := ps.store.Copies(ctx)
	if err != nil {
		return err
	}
	return ps.copies.sweep(needed)
}

// content is the file that is shown by p.
func (ps *fileDelivery) content(p db.Post) (chat.Upload, error) {
	u := chat.Upload{Name: p.Parcel.Name, Picture: p.Parcel.Picture, Data: []byte(p.Text)}
	if p.Parcel.Copy == "" {
		return u, nil
	}
	var err error
	u.Data, err = os.ReadFile(ps.copies.path(p.Parcel.Copy))
	if errors.Is(err, os.ErrNotExist) {
		return u, fmt.Errorf("the copy is gone: %w", chat.ErrNotTaken)
	}
	return u, err
}

// show makes p visible, unless an earlier attempt did, and returns the message that shows it.
func (ps *fileDelivery) show(ctx context.Context, to chat.Ref, p db.Post, sent []chat.Sent) (string, error) {
	if p.Parcel.Upload == "" {
		failpoint.At("parcel: uploading")
		u, err := ps.content(p)
		if err != nil {
			return "", err
		}
		if p.Parcel.Upload, err = ps.out.Upload(ctx, u); err != nil {
			return "", err
		}
		failpoint.At("parcel: uploaded")
		if err := ps.store.Uploaded(context.WithoutCancel(ctx), p.Parcel.ID, p.Parcel.Upload); err != nil {
			return "", err
		}
		failpoint.At("parcel: upload noted")
	}
	for _, s := range sent {
		if s.File == p.Parcel.Upload {
			return s.ID, nil
		}
	}
	defer failpoint.At("parcel: shown")
	return ps.out.Attach(ctx, to, p.Parcel.Upload, p.Parcel.Caption, p.Idem)
}

// patienceWithFiles is how often a file is tried before what waits behind it goes first.
const patienceWithFiles = 2

// delay puts a post off.
func (o *outbox) delay(ctx context.Context, p db.Post, until time.Time) error {
	if p.Parcel != nil && p.Attempts+1 >= patienceWithFiles {
		return o.posts.FileDeliveries().Postpone(ctx, p, until)
	}
	return o.posts.Delay(ctx, p, until)
}

// file shows the file of p. What the platform does not take people are told of instead.
func (o *outbox) file(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	var sent []chat.Sent
	if p.Parcel.Upload != "" { // what was not uploaded was not sent
		var err error
		if sent, err = o.find(ctx, to, p.Created, p); err != nil {
			return "", err
		}
	}
	id, err := o.fileDelivery.show(ctx, to, p, sent)
	if !errors.Is(err, chat.ErrNotTaken) {
		return id, err
	}
	o.log.Warn().Err(err).Stringer("chat", p.Key).Msg("a file is not taken by the platform")
	p.Parcel.State = db.RefusedParcel
	_, err = o.out.Reply(ctx, to, fmt.Sprintf(i18n.FileRefused.In(o.lang(ctx, p.Key)), p.Parcel.Name), p.Idem+":refused")
	return "", err
}

// done tells whoever waits for it what became of the file of p, and removes the copy.
func (ps *fileDelivery) done(p db.Post) {
	if p.Parcel == nil {
		return
	}
	if p.Parcel.Copy != "" {
		ps.copies.drop(p.Parcel.Copy)
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ch := ps.awaited[p.Parcel.ID]; ch != nil {
		close(ch)
		delete(ps.awaited, p.Parcel.ID)
	}
}

// await returns the parcel when it is known what became of it, or as it is when that takes too long.
func (ps *fileDelivery) await(ctx context.Context, id int64, most time.Duration) (db.FileDelivery, error) {
	ps.mu.Lock()
	ch := ps.awaited[id]
	if ch == nil {
		ch = make(chan struct{})
		ps.awaited[id] = ch
	}
	ps.mu.Unlock()
	p, err := ps.store.Get(ctx, id) // it may have been delivered before anybody waited
	if err == nil && p.State == db.OnItsWay {
		t := time.NewTimer(most)
		defer t.Stop()
		select {
		case <-ch:
		case <-t.C:
		case <-ctx.Done():
		}
		p, err = ps.store.Get(context.WithoutCancel(ctx), id)
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.awaited[id] == ch {
		delete(ps.awaited, id)
	}
	return p, err
}

// tidyUp logs what tidying could not do.
func (ps *fileDelivery) tidyUp(ctx context.Context, log zerolog.Logger) {
	if err := ps.tidy(ctx); err != nil && ctx.Err() == nil {
		log.Warn().Err(err).Msg("copies of files that went out are left")
	}
}
