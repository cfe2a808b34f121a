package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/safepath"
)

// A file's ID is a UUID, a dash, and its name, which is untrusted.
func fileID(what, name string) string {
	return uuid.NewSHA1(uuid.Nil, []byte(what)).String() + "-" + cmp.Or(safepath.FileName(name), "file")
}

func nameOf(file string) string { return file[min(len(file), len(uuid.Nil.String())+1):] }

// Upload implements [door.Attacher].
func (d *Door) Upload(ctx context.Context, to chat.Ref, u chat.Upload) (name string, err error) {
	name = fileID(uuid.NewString(), u.Name)
	return name, d.store.AddFile(ctx, to.Key, name, u.Data)
}

// Attach implements [door.Attacher].
func (d *Door) Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (string, error) {
	return d.begin(ctx, to, idem, shown{File: name, Text: caption})
}

// Download implements [door.Fetcher].
func (d *Door) Download(ctx context.Context, f chat.File, most int64, w io.Writer) error {
	data, err := d.store.File(ctx, chat.Key{}, f.Key)
	switch {
	case errors.Is(err, programs.ErrNotShown):
		return chat.ErrGone
	case err != nil:
		return err
	case int64(len(data)) > most:
		return chat.ErrTooBig
	}
	_, err = w.Write(data)
	return err
}

// FetchQuoted implements [door.Fetcher]: programs quote nothing.
func (d *Door) FetchQuoted(context.Context, chat.Key, string) (chat.Incoming, error) {
	return chat.Incoming{}, chat.ErrGone
}

// FetchForwarded implements [door.Fetcher]: programs forward nothing.
func (d *Door) FetchForwarded(context.Context, chat.Key, string) (string, error) {
	return "", chat.ErrGone
}

// attached is a file that comes with a message.
type attached struct {
	Name string `json:"name"`
	Data []byte `json:"data"` // in base64
}

var errPicture = badRequest("A picture must be a data: URL with base64, of the type image/png, image/jpeg, image/gif or image/webp.")

// pictureTypes are the types of pictures with the ends of their names.
var pictureTypes = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}

// pictureIn reads the data: URL of a picture. Nothing is fetched from anywhere: an address could be one of this machine.
func pictureIn(address string) (attached, error) {
	head, data, _ := strings.Cut(address, ",")
	kind, isData := strings.CutPrefix(head, "data:")
	kind, isBase64 := strings.CutSuffix(kind, ";base64")
	kind, _, err := mime.ParseMediaType(kind)
	end, known := pictureTypes[kind]
	if !isData || !isBase64 || err != nil || !known {
		return attached{}, errPicture
	}
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return attached{}, errPicture
	}
	return attached{"picture" + end, content}, nil
}

// attach stores the files of a message, and adds them to it.
func (d *Door) attach(ctx context.Context, m *chat.Incoming, files []attached) error {
	marks := []string{}
	for i, f := range files {
		kind, name := chat.Document, safepath.FileName(f.Name)
		for _, end := range pictureTypes {
			if strings.EqualFold(path.Ext(name), end) {
				kind = chat.Picture
			}
		}
		id := fileID(m.Key.String()+"\x00"+m.ID+"\x00"+strconv.Itoa(i), name)
		if err := d.store.AddFile(ctx, m.Key, id, f.Data); err != nil {
			return err
		}
		m.Files = append(m.Files, chat.File{Number: i + 1, Kind: kind, Of: m.ID, Key: id, Name: name})
		marks = append(marks, chat.AttachmentMark(kind.Label(), name))
	}
	m.Text = strings.TrimSpace(m.Text + "\n" + strings.Join(marks, "\n"))
	return nil
}

// file serves a file that was shown in a chat.
func (d *Door) file(w http.ResponseWriter, r *http.Request, _ programs.Token, key chat.Key) error {
	id := r.PathValue("file")
	data, err := d.store.File(r.Context(), key, id)
	if errors.Is(err, programs.ErrNotShown) {
		return &problem{http.StatusNotFound, "invalid_request_error", "not_found", "There is no such file in this chat."}
	} else if err != nil {
		return err
	}
	// A browser must not take it for a page of this address.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": nameOf(id)}))
	out := http.NewResponseController(w)
	for part := range slices.Chunk(data, 1<<16) {
		_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
		if _, err := w.Write(part); err != nil { // the program has gone
			break
		}
	}
	return nil
}

// fileURL is where a program gets a file.
func fileURL(key chat.Key, id string) string {
	return "/api/chats/" + url.PathEscape(key.String()) + "/files/" + url.PathEscape(id)
}
