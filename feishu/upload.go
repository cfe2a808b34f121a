package feishu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// What the platform takes (pages im-v1/image/create and im-v1/file/create).
const (
	MaxPicture = 10 << 20 // bytes
	MaxFile    = 30 << 20 // bytes
)

const (
	uploadsAtOnce = 2 // each is in memory several times while it is sent
	uploadTries   = 3
)

// The durable form of an upload is how it is shown, and the platform's key.
const (
	asPicture = "image"
	asVideo   = "media"
	asFile    = "file"
)

// uploads are the files that the bot shows.
type uploads struct {
	messages messages
	journal  zerolog.Logger
	places   chan struct{} // one for each that goes on
}

func newUploads(ms messages, log zerolog.Logger) *uploads {
	return &uploads{messages: ms, journal: log, places: make(chan struct{}, uploadsAtOnce)}
}

// Upload gives a file to the platform and returns its durable name, which Attach takes in any process. Nobody sees
// it yet, so doing it twice does no harm. What is no picture to the platform is taken as another file.
func (us *uploads) Upload(ctx context.Context, u chat.Upload) (name string, err error) {
	defer func() { err = notTaken(ctx, err) }()
	select {
	case us.places <- struct{}{}:
		defer func() { <-us.places }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if u.Picture && len(u.Data) <= MaxPicture {
		name, err = us.giveImage(ctx, u)
		if err == nil || openapi.ClassOf(err) != openapi.Refused || ctx.Err() != nil {
			return name, err
		}
		us.journal.Warn().Err(err).Msg("feishu: not taken as a picture, sending a file")
	}
	return us.giveFile(ctx, u)
}

func (us *uploads) giveImage(ctx context.Context, u chat.Upload) (string, error) {
	form := func() *larkcore.Formdata {
		return larkcore.NewFormdata().AddField("image_type", "message").AddFileWithName("image", "image", bytes.NewReader(u.Data))
	}
	answer, err := us.messages.api.Call(ctx, openapi.Request{
		Op: "upload an image", Method: http.MethodPost, Path: "/open-apis/im/v1/images", Form: form, Tries: uploadTries,
	})
	return asPicture + "/" + answer.Get("data.image_key").String(), err
}

func (us *uploads) giveFile(ctx context.Context, u chat.Upload) (string, error) {
	kind := kindOf(u.Name)
	form := func() *larkcore.Formdata {
		return larkcore.NewFormdata().AddField("file_type", kind).AddField("file_name", u.Name).
			AddFileWithName("file", "file", bytes.NewReader(u.Data)) // people see file_name
	}
	answer, err := us.messages.api.Call(ctx, openapi.Request{
		Op: "upload a file", Method: http.MethodPost, Path: "/open-apis/im/v1/files", Form: form, Tries: uploadTries,
	})
	how := asFile
	if kind == "mp4" { // as a file it is refused: 230055
		how = asVideo
	}
	return how + "/" + answer.Get("data.file_key").String(), err
}

// notTaken marks a refusal of a file: the same file will be refused again.
func notTaken(ctx context.Context, err error) error {
	refused := errors.As(err, new(*openapi.Error)) && openapi.ClassOf(err) == openapi.Refused
	if refused && !errors.Is(err, chat.ErrRefused) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", chat.ErrNotTaken, err)
	}
	return err
}

// kindOf is the platform's type of a file with this name.
func kindOf(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".mp4":
		return "mp4"
	case ".pdf":
		return "pdf"
	case ".doc", ".docx":
		return "doc"
	case ".xls", ".xlsx":
		return "xls"
	case ".ppt", ".pptx":
		return "ppt"
	}
	return "stream"
}

// Attach answers a message with a file that was uploaded, and a caption, Markdown; empty = none. The same idem within
// an hour sends nothing twice. messageID is the one that shows the file.
func (us *uploads) Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error) {
	defer func() { err = notTaken(ctx, err) }()
	how, key, ok := strings.Cut(name, "/")
	if !ok || key == "" {
		return "", fmt.Errorf("feishu: not the name of an upload: %q", name)
	}
	switch how {
	case asPicture:
		return us.showPicture(ctx, to, key, caption, idem)
	case asFile, asVideo:
	default:
		return "", fmt.Errorf("feishu: not the name of an upload: %q", name)
	}
	m, err := us.messages.send(ctx, to, how, cardjson.File(key), keyOf(idem, how, 0))
	if err != nil || caption == "" {
		return m.id, err
	}
	_, err = us.messages.sayAll(ctx, to, caption, idem+"/caption")
	return m.id, err
}

// showPicture sends a picture with its caption in one message; what the platform refuses as such it gets as two.
func (us *uploads) showPicture(ctx context.Context, to chat.Ref, key, caption, idem string) (string, error) {
	if caption != "" {
		m, err := us.messages.send(ctx, to, "post", cardjson.PostWithImage(caption, key), keyOf(idem, "post", 0))
		if err == nil || openapi.ClassOf(err) != openapi.Refused || ctx.Err() != nil {
			return m.id, err
		}
	}
	m, err := us.messages.send(ctx, to, "image", cardjson.Image(key), keyOf(idem, asPicture, 0))
	if err != nil || caption == "" {
		return m.id, err
	}
	_, err = us.messages.sayAll(ctx, to, caption, idem+"/caption")
	return m.id, err
}

// fileOf is the durable name of the file that a message of the bot shows; empty = none.
func fileOf(kind string, content gjson.Result) string {
	switch kind {
	case asPicture:
		return asPicture + "/" + content.Get("image_key").String()
	case asFile, asVideo:
		return kind + "/" + content.Get("file_key").String()
	case "post":
		if keys := imageKeys(content); len(keys) > 0 {
			return asPicture + "/" + keys[0]
		}
	}
	return ""
}

// imageKeys are those of the pictures in a rich text, however many languages lie around it.
func imageKeys(content gjson.Result) (keys []string) {
	content.ForEach(func(name, value gjson.Result) bool {
		switch {
		case name.String() == "image_key":
			keys = append(keys, value.String())
		case value.IsObject() || value.IsArray():
			keys = append(keys, imageKeys(value)...)
		}
		return true
	})
	return keys
}
