package console

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"magpie/internal/feishusim"
)

const (
	maxUpload  = 30 << 20 // bytes, the platform's limit
	maxPicture = 10 << 20
)

// shownTypes are the types of files that the page shows as pictures; all others are downloaded. SVG is excluded because
// it may contain scripts.
var shownTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// upload sends a file into a chat as a message; a picture is sent as a picture. The body is the file, the query has the
// sender and the chat.
func (p people) upload(w http.ResponseWriter, r *http.Request) {
	out, err := p.storeUpload(w, r)
	if err != nil {
		answerProblem(w, err)
		return
	}
	answer(w, http.StatusOK, out)
}

func (p people) storeUpload(w http.ResponseWriter, r *http.Request) (sayAnswer, error) {
	q := r.URL.Query()
	c, u, err := p.find(q.Get("chat"), q.Get("user"))
	if err != nil {
		return sayAnswer{}, err
	}
	// No form of another site can send this type; see decode.
	if r.Header.Get("Content-Type") != "application/octet-stream" {
		return sayAnswer{}, malformed("the body must be application/octet-stream")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpload))
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return sayAnswer{}, refuse("too_big", "")
	case err != nil:
		return sayAnswer{}, malformed(err.Error())
	case len(data) == 0:
		return sayAnswer{}, refuse("empty", "")
	}
	opts, err := p.relationOptions(c, q.Get("reply"), q.Get("topic") == "1")
	if err != nil {
		return sayAnswer{}, err
	}
	sim, name := p.sim, path.Base("/"+q.Get("name"))
	if kind := http.DetectContentType(data); slices.Contains(shownTypes, kind) && len(data) <= maxPicture {
		content := map[string]string{"image_key": sim.Upload(name, kind, data)}
		return sayAnswer{sim.Send(c.ID, u, "image", mustJSON(content), opts...)}, nil
	}
	content := map[string]string{"file_key": sim.Upload(name, "application/octet-stream", data), "file_name": name}
	return sayAnswer{sim.Send(c.ID, u, "file", mustJSON(content), opts...)}, nil
}

func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return data
}

// file serves the files in messages.
func (p people) file(w http.ResponseWriter, r *http.Request) {
	name, data, ok := p.sim.File(r.PathValue("key"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind, how := http.DetectContentType(data), "inline"
	if !slices.Contains(shownTypes, kind) {
		kind, how = "application/octet-stream", "attachment"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": name}))
	_, _ = w.Write(data) // the client has left
}

// attachment is the file of a message.
type attachment struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Size    int    `json:"size"`
	Picture bool   `json:"picture,omitempty"`
}

// attachmentOf parses the file of a message; nil = it has none.
func (p people) attachmentOf(m feishusim.Message) *attachment {
	if !slices.Contains([]string{"image", "file", "audio", "media"}, m.Type) {
		return nil
	}
	var in struct {
		Image string `json:"image_key"`
		File  string `json:"file_key"`
		Name  string `json:"file_name"`
	}
	if json.Unmarshal([]byte(m.Content), &in) != nil {
		return nil
	}
	a := attachment{Key: in.File, Name: in.Name, Picture: in.Image != ""}
	if a.Picture {
		a.Key = in.Image
	}
	name, data, ok := p.sim.File(a.Key)
	if !ok {
		return nil
	}
	if a.Size = len(data); strings.TrimSpace(a.Name) == "" {
		a.Name = name
	}
	return &a
}
