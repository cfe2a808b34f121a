package feishusim

import (
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Sizes of uploads (docs: im-v1/image/create, im-v1/file/create).
const (
	maxImage = 10 << 20
	maxFile  = 30 << 20

	maxDownload = 100 << 20 // (doc: im-v1/message/get-2)
)

// file is an image or another file.
type file struct {
	key         string
	name        string
	contentType string
	kind        string // file_type of what the bot uploaded
	data        []byte
	stream      *stream // instead of data
	own         bool    // uploaded by the bot
}

func (f *file) image() bool { return strings.HasPrefix(f.contentType, "image/") }

// files keeps all files by their image_key or file_key.
type files struct {
	mu    sync.Mutex
	byKey map[string]*file
}

func newFiles() *files { return &files{byKey: make(map[string]*file)} }

// Upload stores a file as if a user had uploaded it, for the content of a message that the user sends. A content type
// image/... gives an image_key, any other a file_key.
func (fs *files) Upload(name, contentType string, data []byte) (key string) {
	return fs.store(&file{name: name, contentType: contentType, data: append([]byte{}, data...)})
}

// File returns what was uploaded under a key, by the bot or by a user.
func (fs *files) File(key string) (name string, data []byte, ok bool) {
	f := fs.get(key)
	if f == nil {
		return "", nil, false
	}
	return f.name, append([]byte{}, f.data...), true
}

// get returns the file with a key; nil = there is none. Files are immutable.
func (fs *files) get(key string) *file {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.byKey[key]
}

// store stores f under a new key.
func (fs *files) store(f *file) string {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.key = "file_v3_00" + randomHex(16)
	if f.image() {
		f.key = "img_v3_02" + randomHex(16)
	}
	fs.byKey[f.key] = f
	return f.key
}

// ownImage reports whether the bot may show the image.
func (fs *files) ownImage(key string) bool {
	f := fs.get(key)
	return f != nil && f.own && f.image()
}

// checkKey: the bot can only send what it has uploaded itself, and only as what it is (doc: im-v1/message/create,
// 230055).
func (fs *files) checkKey(key, msgType string) *refusal {
	f := fs.get(key)
	fits := func() bool {
		switch msgType {
		case "image":
			return f.image()
		case "audio":
			return f.kind == "opus"
		case "media":
			return f.kind == "mp4"
		case "file":
			return !f.image() && f.kind != "opus" && f.kind != "mp4"
		}
		return !f.image()
	}
	switch {
	case key == "":
		return refuse(RuleContent, codeParam, "Your request contains an invalid request parameter, ext=no file key")
	case f == nil:
		return refuse(RuleUnknownID, codeParam,
			"Your request contains an invalid request parameter, ext=invalid file key %q", key)
	case !f.own:
		return refuse(RulePermission, codeNotOwnResource, "Bot is NOT the owner of the resource.")
	case !fits():
		return refuse(RuleContent, 230055, "The type of the file does not match the message type.")
	}
	return nil
}

// fileAPI serves uploads and downloads.
type fileAPI struct {
	world *world
	files *files
}

func (a *fileAPI) routes() []route {
	return []route{
		api("POST /open-apis/im/v1/images", a.uploadImage),
		api("POST /open-apis/im/v1/files", a.uploadFile),
		{pattern: "GET /open-apis/im/v1/images/{key}", serve: a.own},
		{pattern: "GET /open-apis/im/v1/files/{key}", serve: a.own},
		{pattern: "GET /open-apis/im/v1/messages/{message_id}/resources/{key}", serve: a.resource},
	}
}

// uploadImage recognizes the picture by its content, as the platform does, not by its name.
func (a *fileAPI) uploadImage(q *request) (any, *refusal) {
	f, form, bad := readUpload(q, "image", maxImage)
	if bad != nil {
		return nil, bad
	}
	if t := form("image_type"); t != "message" && t != "avatar" {
		return nil, refuse(RuleField, codeFileParam, "Invalid request param: image_type %q", t)
	}
	f.contentType = http.DetectContentType(f.data)
	if !f.image() {
		return nil, refuse(RuleField, 234011, "Can't recognize image format.")
	}
	return map[string]string{"image_key": a.storeOwn(f)}, nil
}

// uploadFile stores the type, because a message can only show the file as what it was uploaded as (code 230055).
func (a *fileAPI) uploadFile(q *request) (any, *refusal) {
	f, form, bad := readUpload(q, "file", maxFile)
	if bad != nil {
		return nil, bad
	}
	if t := form("file_type"); !slices.Contains([]string{"opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"}, t) {
		return nil, refuse(RuleField, codeFileParam, "Invalid request param: file_type %q", t)
	}
	if f.name = form("file_name"); f.name == "" {
		return nil, refuse(RuleField, codeFileParam, "Invalid request param: file_name is empty")
	}
	f.contentType, f.kind = "application/octet-stream", form("file_type")
	return map[string]string{"file_key": a.storeOwn(f)}, nil
}

func (a *fileAPI) storeOwn(f *file) string {
	f.own = true
	return a.files.store(f)
}

// readUpload reads the multipart part with this name, and gives access to the form's other fields.
func readUpload(q *request, part string, limit int) (*file, func(string) string, *refusal) {
	// The body was already read; ParseMultipartForm needs a stream.
	q.Body = io.NopCloser(strings.NewReader(string(q.body)))
	if err := q.ParseMultipartForm(maxRequest); err != nil {
		return nil, nil, refuse(RuleField, codeFileParam, "Invalid request param: %v", err)
	}
	src, header, err := q.FormFile(part)
	if err != nil {
		return nil, nil, refuse(RuleField, codeFileParam, "Invalid request param: %s: %v", part, err)
	}
	defer src.Close()
	data, err := io.ReadAll(src)
	switch {
	case err != nil:
		return nil, nil, refuse(RuleField, codeFileParam, "Invalid request param: %v", err)
	case len(data) == 0:
		return nil, nil, refuse(RuleEmpty, codeFileEmpty, "The file size cannot be 0.")
	case len(data) > limit:
		return nil, nil, refuse(RuleSize, codeFileTooBig, "The file size exceed the max value.")
	}
	return &file{name: header.Filename, data: data}, q.FormValue, nil
}

// own serves what the bot itself has uploaded.
func (a *fileAPI) own(_ http.ResponseWriter, q *request) reply {
	f := a.files.get(q.PathValue("key"))
	if f == nil || !f.own {
		return refused(refuse(RuleUnknownID, codeFileParam, "no file of the app with key %q", q.PathValue("key")))
	}
	return f.reply()
}

// resource serves a file of a message (doc: im-v1/message/get-2).
func (a *fileAPI) resource(w http.ResponseWriter, q *request) reply {
	f, bad := a.ofMessage(q)
	switch {
	case bad != nil:
		return refused(bad)
	case f.stream != nil:
		return f.stream.serve(w, q, f)
	}
	return f.reply()
}

// ofMessage finds the file that a request names.
func (a *fileAPI) ofMessage(q *request) (*file, *refusal) {
	w := a.world
	key, kind := q.PathValue("key"), q.URL.Query().Get("type")
	w.mu.Lock()
	defer w.mu.Unlock()
	m, bad := w.reachable(q.PathValue("message_id"), codeGone)
	if bad != nil {
		return nil, bad
	}
	f := a.files.get(key)
	switch {
	case kind != "image" && kind != "file":
		return nil, refuse(RuleField, codeFileParam, "Invalid request param: type %q", kind)
	case m.Type == "merge_forward" || m.upper != "" || m.Type == "interactive" || m.Type == "sticker" ||
		m.Type == "folder":
		return nil, refuse(RulePermission, codeFileForwarded, "Unsupported message type.")
	// The key must be in the content of this message: a key alone opens no file (doc: im-v1/message/get-2).
	case f == nil || !strings.Contains(m.Content, `"`+key+`"`):
		return nil, refuse(RuleUnknownID, codeFileNotIn, "File not in message.")
	case f.image() != (kind == "image"):
		return nil, refuse(RuleField, codeFileParam, "Invalid request param: %s is not of type %s", key, kind)
	case len(f.data) > maxDownload:
		return nil, refuse("", codeDownloadTooBig, "The file size exceeds the limit.")
	}
	return f, nil
}

func (f *file) reply() reply {
	rep := reply{status: http.StatusOK, header: http.Header{}, raw: f.data}
	rep.header.Set("Content-Type", f.contentType)
	rep.header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.name}))
	return rep
}
