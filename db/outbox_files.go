package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// FileDelivery is a file to be delivered to a chat.
type FileDelivery struct {
	ID      int64
	Name    string // for users
	Picture bool   // shown as a picture
	Caption string
	Size    int64  // in bytes
	Copy    string // the name of its copy in the folder of outgoing files; empty = the content is the text of its post
	Upload  string // the platform's key; empty = not uploaded yet
	State   FileDeliveryState
}

// FileDeliveryState is the state of a delivery.
type FileDeliveryState string

// The states of a file. All but OnItsWay are final.
const (
	OnItsWay    FileDeliveryState = "waiting"
	Shown       FileDeliveryState = "shown"
	RefusedFile FileDeliveryState = "refused" // the platform rejects the file
	Dropped     FileDeliveryState = "dropped" // there was nobody to show it to
)

const insertFileDelivery = `INSERT INTO file_deliveries (chat_key, turn_id, idem, name, picture, caption, size,
	copy, created_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (idem) DO NOTHING RETURNING id`

// fileDeliveryColumns has the order of scanFileDelivery.
const fileDeliveryColumns = `id, name, picture, caption, size, copy, upload, state`

const selectFileDelivery = `SELECT ` + fileDeliveryColumns + ` FROM file_deliveries WHERE id = ?1`

const fileDeliveryByIdem = `SELECT ` + fileDeliveryColumns + ` FROM file_deliveries WHERE idem = ?1`

func scanFileDelivery(row *sql.Row) (FileDelivery, error) {
	var p FileDelivery
	err := row.Scan(&p.ID, &p.Name, &p.Picture, &p.Caption, &p.Size, &p.Copy, &p.Upload, &p.State)
	if errors.Is(err, sql.ErrNoRows) {
		return FileDelivery{}, ErrNotFound
	}
	return p, err
}

// EnqueueFile enqueues a file of a running turn, as a reply to the turn's message. It adds nothing if the idem is
// known: then fresh is false, and the earlier delivery is returned.
func (o Outbox) EnqueueFile(
	ctx context.Context, t Turn, p FileDelivery, idem string,
) (left FileDelivery, fresh bool, err error) {
	err = o.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if p.ID, err = o.insertFile(ctx, tx, t, p, idem, ""); err != nil {
			return err
		}
		fresh = p.ID != 0
		left, err = scanFileDelivery(tx.QueryRowContext(ctx, fileDeliveryByIdem, idem))
		return err
	})
	if err != nil {
		return FileDelivery{}, false, fmt.Errorf("leave a file of turn %d: %w", t.ID, err)
	}
	return left, fresh, nil
}

// WriteFile enqueues a file that belongs to no turn, with its content in the outbox. It is a reply to a message; if the
// idem is known, nothing is added.
func (o Outbox) WriteFile(ctx context.Context, to chat.Ref, p FileDelivery, idem, content string) error {
	p.Size = int64(len(content))
	err := o.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.insertFile(ctx, tx, Turn{Key: to.Key, ReplyTo: to.ID}, p, idem, content)
		return err
	})
	if err != nil {
		return fmt.Errorf("leave a file in %v: %w", to.Key, err)
	}
	return nil
}

// insertFile adds a file and its post. It returns 0 if the file is known.
func (o Outbox) insertFile(
	ctx context.Context, tx *sql.Tx, t Turn, p FileDelivery, idem, content string,
) (id int64, err error) {
	err = tx.QueryRowContext(ctx, insertFileDelivery, t.Key.String(), t.ID, idem, p.Name, p.Picture, p.Caption,
		p.Size, p.Copy, millis(o.db.now())).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("add a file: %w", err)
	}
	p.ID = id
	return id, o.post(
		ctx, tx, Post{Key: t.Key, Turn: t.ID, Idem: idem, ReplyTo: t.ReplyTo, Text: content, File: &p},
	)
}

// FileDelivery returns a file, or [ErrNotFound].
func (o Outbox) FileDelivery(ctx context.Context, id int64) (FileDelivery, error) {
	p, err := scanFileDelivery(o.db.read.QueryRowContext(ctx, selectFileDelivery, id))
	if err != nil {
		return FileDelivery{}, fmt.Errorf("file %d: %w", id, err)
	}
	return p, nil
}

const setUpload = `UPDATE file_deliveries SET upload = ?2 WHERE id = ?1`

// SetUpload stores the platform's key of a file before it is shown, so that a shown file can be recognized.
func (o Outbox) SetUpload(ctx context.Context, id int64, upload string) error {
	if _, err := o.db.engine.Exec(ctx, setUpload, id, upload); err != nil {
		return fmt.Errorf("note the upload of file %d: %w", id, err)
	}
	return nil
}

const setFileDeliveryState = `UPDATE file_deliveries SET state = ?2, caption = '' WHERE id = ?1`

// recordDelivery stores the outcome of a file whose post is done.
func (p FileDelivery) recordDelivery(ctx context.Context, tx *sql.Tx, messageID string) error {
	state := Shown
	switch {
	case p.State != OnItsWay:
		state = p.State
	case messageID == "":
		state = Dropped
	}
	if _, err := tx.ExecContext(ctx, setFileDeliveryState, p.ID, state); err != nil {
		return fmt.Errorf("store the outcome of file %d: %w", p.ID, err)
	}
	return nil
}

const countFileDeliveries = `SELECT COUNT(*) FROM file_deliveries WHERE turn_id = ?1`

// CountFiles returns the number of files that a turn has sent.
func (o Outbox) CountFiles(ctx context.Context, turn int64) (n int, err error) {
	if err := o.db.read.QueryRowContext(ctx, countFileDeliveries, turn).Scan(&n); err != nil {
		return 0, fmt.Errorf("files of turn %d: %w", turn, err)
	}
	return n, nil
}

const neededCopies = `SELECT copy FROM file_deliveries WHERE copy <> '' AND id IN (
	SELECT file_delivery_id FROM outbox WHERE file_delivery_id > 0)`

// Copies lists the copies that are still to be delivered.
func (o Outbox) Copies(ctx context.Context) ([]string, error) {
	names, err := queryAll(ctx, o.db.read, scanText, neededCopies)
	if err != nil {
		return nil, fmt.Errorf("list the files that go out: %w", err)
	}
	return names, nil
}

const postponePost = `UPDATE outbox SET id = (SELECT MAX(id) + 1 FROM outbox), attempts = attempts + 1, next_at = ?2,
	obstacle = ?3, why = ?4 WHERE id = ?1`

// PostponeFile postpones the post of a file and lets later posts go first: a file must not hold up an answer.
func (o Outbox) PostponeFile(ctx context.Context, p Post, until time.Time, f Failure) error {
	err := o.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return overwritePost(ctx, tx, postponePost, p.ID, millis(until), f.Obstacle, f.Why)
	})
	if err != nil {
		return fmt.Errorf("put file %d off: %w", p.File.ID, err)
	}
	return nil
}

const forgetFileDeliveries = `DELETE FROM file_deliveries WHERE created_at < ?1
	AND id NOT IN (SELECT file_delivery_id FROM outbox)`

// historyText is the text in the History for a delivered file.
func (p FileDelivery) historyText() string {
	word := "文件"
	if p.Picture {
		word = "图片"
	}
	text := chat.AttachmentMark(word, p.Name)
	if p.Caption != "" {
		text += " " + p.Caption
	}
	return text
}

// LongAnswer is an answer that is also sent as a file.
type LongAnswer struct {
	Name string // of the file
	Text string
}

// enqueue enqueues the answer after the turn's card.
func (a LongAnswer) enqueue(ctx context.Context, ps Outbox, tx *sql.Tx, t Turn) error {
	_, err := ps.insertFile(
		ctx, tx, t, FileDelivery{Name: a.Name, Size: int64(len(a.Text))}, fmt.Sprintf("answer:%d", t.ID), a.Text,
	)
	return err
}
