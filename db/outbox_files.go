package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
	State   fileState
}

// fileState is the state of a delivery.
type fileState string

// The states of a file. All but OnItsWay are final.
const (
	OnItsWay    fileState = "waiting"
	Shown       fileState = "shown"
	RefusedFile fileState = "refused" // the platform rejects the file
	droppedFile fileState = "dropped" // there was nobody to show it to
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
	err = o.db.chatTx(ctx, t.Key, func(ctx context.Context, tx *sql.Tx) (err error) {
		left = FileDelivery{}
		post := Post{Key: t.Key, Turn: t.ID, ReplyTo: t.ReplyTo, Idem: idem, File: &p}
		fresh, err = o.postFile(ctx, tx, post)
		if err == nil {
			left, err = scanFileDelivery(tx.QueryRowContext(ctx, fileDeliveryByIdem, post.idem()))
		}
		return err
	})
	if err != nil {
		return FileDelivery{}, false, fmt.Errorf("leave a file of turn %d: %w", t.ID, err)
	}
	return left, fresh, nil
}

// postFile adds a file and its post. It reports false and adds nothing if the idem is known.
func (o Outbox) postFile(ctx context.Context, tx *sql.Tx, p Post) (fresh bool, err error) {
	file := *p.File
	err = tx.QueryRowContext(ctx, insertFileDelivery, p.Key.String(), p.Turn, p.idem(), file.Name, file.Picture,
		file.Caption, file.Size, file.Copy, millis(o.db.now())).Scan(&file.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("add a file: %w", err)
	}
	p.File = &file
	return true, o.post(ctx, tx, p)
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

// SetUpload stores the platform's key of the file of p before it is shown, so that a shown file can be recognized. Whichever
// bridge has the copy uploads it.
func (o Outbox) SetUpload(ctx context.Context, p Post) error {
	if _, err := o.db.exec(ctx, locks{chats: []chat.Key{p.Key}}, setUpload, p.File.ID, p.File.Upload); err != nil {
		return fmt.Errorf("note the upload of file %d: %w", p.File.ID, err)
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
		state = droppedFile
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

const postsOfCopies = `SELECT o.chat_key, o.reply_to, f.id, f.name, f.picture, f.copy, f.upload
	FROM outbox o JOIN file_deliveries f ON f.id = o.file_delivery_id WHERE o.file_delivery_id > 0 AND f.copy <> ''`

// Copies lists the posts with files of which copies are needed: where they go, and the file.
func (o Outbox) Copies(ctx context.Context) ([]Post, error) {
	posts, err := queryAll(ctx, o.db.read, scanCopy, postsOfCopies)
	if err != nil {
		return nil, fmt.Errorf("list the files that go out: %w", err)
	}
	return posts, nil
}

func scanCopy(scan scanner) (p Post, err error) {
	var key string
	p.File = new(FileDelivery)
	if err := scan(&key, &p.ReplyTo, &p.File.ID, &p.File.Name, &p.File.Picture, &p.File.Copy, &p.File.Upload); err != nil {
		return Post{}, err
	}
	p.Key, err = chat.ParseKey(key)
	return p, err
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
