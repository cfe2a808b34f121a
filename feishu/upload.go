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

// Limits of the platform (pages im-v1/image/create and im-v1/file/create).
const (
	MaxPicture = 10 << 20 // bytes
	MaxFile    = 30 << 20 // bytes
)

const (
	uploadsAtOnce = 2 // each is in memory several times while it is sent, so only a few at a time
	uploadTries   = 3
)

// The durable key of an upload is its message type, a slash and the platform's key.
const (
	asPicture = "image"
	asVideo   = "media"
	asFile    = "file"
)

// uploads uploads files and sends messages that show them.
type uploads struct {
	messages messages
	journal  zerolog.Logger
	slots    chan struct{} // one per running upload
}

func newUploads(ms messages, log zerolog.Logger) *uploads {
	return &uploads{messages: ms, journal: log, slots: make(chan struct{}, uploadsAtOnce)}
}

// Upload uploads a file and returns its durable key, which Attach accepts in any process. The file is not visible yet,
// so a repeated upload is harmless. A picture that the platform refuses as an image is uploaded as a file.
func (us *uploads) Upload(ctx context.Context, _ chat.Ref, u chat.Upload) (name string, err error) {
	defer func() { err = markRefused(ctx, err) }()
	select {
	case us.slots <- struct{}{}:
		defer func() { <-us.slots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if u.Picture && len(u.Data) <= MaxPicture {
		name, err = us.uploadImage(ctx, u)
		if err == nil || openapi.ClassOf(err) != openapi.Refused || ctx.Err() != nil {
			return name, err
		}
		us.journal.Warn().Err(err).Msg("feishu: picture refused; sending a file")
	}
	return us.uploadFile(ctx, u)
}

func (us *uploads) uploadImage(ctx context.Context, u chat.Upload) (string, error) {
	form := func() *larkcore.Formdata {
		return larkcore.NewFormdata().AddField("image_type", "message").AddFileWithName("image", "image",
			bytes.NewReader(u.Data))
	}
	answer, err := us.messages.api.Call(ctx, openapi.Request{
		Op: "upload an image", Method: http.MethodPost, Path: "/open-apis/im/v1/images", Form: form, Tries: uploadTries,
	})
	return asPicture + "/" + answer.Get("data.image_key").String(), err
}

// uploadFile uploads any other file. Videos are sent as media, which clients can play.
func (us *uploads) uploadFile(ctx context.Context, u chat.Upload) (string, error) {
	kind := fileTypeOf(u.Name)
	form := func() *larkcore.Formdata {
		return larkcore.NewFormdata().AddField("file_type", kind).AddField("file_name", u.Name).
			AddFileWithName("file", "file", bytes.NewReader(u.Data)) // users see file_name, not this name
	}
	answer, err := us.messages.api.Call(ctx, openapi.Request{
		Op: "upload a file", Method: http.MethodPost, Path: "/open-apis/im/v1/files", Form: form, Tries: uploadTries,
	})
	how := asFile
	if kind == "mp4" { // refused as a file: 230055
		how = asVideo
	}
	return how + "/" + answer.Get("data.file_key").String(), err
}

// markRefused marks a refusal as permanent: the same file would be refused again.
func markRefused(ctx context.Context, err error) error {
	refused := errors.As(err, new(*openapi.Error)) && openapi.ClassOf(err) == openapi.Refused
	if refused && !errors.Is(err, chat.ErrRefused) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", chat.ErrNotTaken, err)
	}
	return err
}

// fileTypeOf is the platform's file type for a file name.
func fileTypeOf(name string) string {
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

// Attach replies to a message with an uploaded file and a caption in Markdown; empty = none. Within an hour the same
// idem sends nothing twice. messageID is the message that shows the file.
func (us *uploads) Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error) {
	defer func() { err = markRefused(ctx, err) }()
	how, key, ok := strings.Cut(name, "/")
	if !ok || key == "" {
		return "", fmt.Errorf("feishu: not the name of an upload: %q", name)
	}
	switch how {
	case asPicture:
		return us.sendImage(ctx, to, key, caption, idem)
	case asFile, asVideo:
	default:
		return "", fmt.Errorf("feishu: not the name of an upload: %q", name)
	}
	m, err := us.messages.send(ctx, to, how, cardjson.File(key), keyOf(idem, how, 0))
	if err != nil || caption == "" {
		return m.id, err
	}
	_, err = us.messages.sendAllMarkdown(ctx, to, caption, idem+"/caption")
	return m.id, err
}

// sendImage sends an image and its caption in one message. If the platform refuses that, it sends two messages.
func (us *uploads) sendImage(ctx context.Context, to chat.Ref, key, caption, idem string) (string, error) {
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
	_, err = us.messages.sendAllMarkdown(ctx, to, caption, idem+"/caption")
	return m.id, err
}

// fileOf is the durable key of the file in a message of the bot; empty = none.
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

// imageKeys are the keys of the images in a rich text, at any depth.
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
