package modelsim

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // the image formats that the API accepts
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Request is one model call and its progress. The call itself never changes; the progress grows while it is answered.
type Request struct {
	ID        int // from 1, in order of arrival; a reset does not restart it
	At        time.Time
	Path      string
	SessionID string // the CLI's
	Model     string
	Stream    bool
	System    string // all blocks, joined by blank lines
	Messages  []Message
	Tools     []string        // names
	Body      json.RawMessage // as it came
	Header    http.Header     // without credentials

	Progress
}

// Progress is how far a request was answered. Zero times mean: not yet.
type Progress struct {
	FirstDelta time.Time // of anything: text, thinking or tool input
	LastDelta  time.Time
	End        time.Time
	Status     int    // of HTTP, or of the error in the stream; 0 while nothing was sent
	Reply      string // the text sent
	Cancelled  bool   // the client left before the end
}

// Message is one entry of the conversation.
type Message struct {
	Role   string // user | assistant | system
	Text   string // of all blocks, one per line; non-text blocks are summarized in brackets
	blocks []block
}

// block is a part of a message that the brain understands.
type block struct {
	kind   string // text | tool_use | tool_result | ...
	text   string // the text, the tool's name and input, or the tool's result
	failed bool   // of a tool's result
	id     string // of the call of a tool, also with its result
	source string // of a picture: type and size, as in "image/png 640×480"
}

// Headers that carry credentials are not recorded.
var secretHeaders = []string{"Authorization", "X-Api-Key", "Cookie", "Proxy-Authorization"}

// parseRequest reads a body that is an object with messages.
func parseRequest(r *http.Request, body []byte) *Request {
	doc := gjson.ParseBytes(body)
	header := r.Header.Clone()
	// Requests are kept and shown in test failures, so keys must not be in them.
	for _, name := range secretHeaders {
		header.Del(name)
	}
	q := &Request{
		At: time.Now(), Path: r.URL.Path, SessionID: r.Header.Get("X-Claude-Code-Session-Id"),
		Model: doc.Get("model").String(), Stream: doc.Get("stream").Bool(),
		System: joinText(parseBlocks(doc.Get("system")), "\n\n"), Body: body, Header: header,
	}
	for _, m := range doc.Get("messages").Array() {
		blocks := parseBlocks(m.Get("content"))
		q.Messages = append(q.Messages, Message{
			Role: m.Get("role").String(), Text: joinText(blocks, "\n"), blocks: blocks,
		})
	}
	for _, t := range doc.Get("tools").Array() {
		q.Tools = append(q.Tools, t.Get("name").String())
	}
	return q
}

// parseBlocks parses a content field: a string or a list of blocks.
func parseBlocks(content gjson.Result) []block {
	if content.Type == gjson.String {
		return []block{{kind: "text", text: content.String()}}
	}
	var list []block
	for _, b := range content.Array() {
		kind, text, source := b.Get("type").String(), "", ""
		switch kind {
		case "image":
			source = pictureSource(b.Get("source"))
		case "text":
			text = b.Get("text").String()
		case "thinking":
			text = b.Get("thinking").String()
		case "tool_use":
			text = b.Get("name").String() + " " + b.Get("input").Raw
		case "tool_result":
			text = joinText(parseBlocks(b.Get("content")), "\n")
		}
		list = append(list, block{
			kind: kind, text: text, failed: b.Get("is_error").Bool(), source: source,
			id: cmp.Or(b.Get("id").String(), b.Get("tool_use_id").String()),
		})
	}
	return list
}

// pictureSource returns type and size of a picture, so that the brain can report what it was really sent.
func pictureSource(source gjson.Result) string {
	kind := source.Get("media_type").String()
	data := base64.NewDecoder(base64.StdEncoding, strings.NewReader(source.Get("data").String()))
	if c, _, err := image.DecodeConfig(data); err == nil {
		return fmt.Sprintf("%s %d×%d", kind, c.Width, c.Height)
	}
	return kind
}

// joinText shows other blocks by their kind, so that the double can see that there was a picture or a result.
func joinText(blocks []block, sep string) string {
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		switch {
		case b.kind == "text":
			parts = append(parts, b.text)
		case b.text == "":
			parts = append(parts, "["+b.kind+"]")
		default:
			parts = append(parts, "["+b.kind+": "+b.text+"]")
		}
	}
	return strings.Join(parts, sep)
}

// LastUser is the text of the last message that a person wrote, without the CLI's additions: reminders, markers of
// interruptions, tool results, its own requests to continue.
func (r *Request) LastUser() string {
	for _, m := range slices.Backward(r.Messages) {
		if text := m.Person(); text != "" {
			return text
		}
	}
	return ""
}

// AllText is all text that the model gets: system prompt and messages.
func (r *Request) AllText() string {
	parts := []string{r.System}
	for _, m := range r.Messages {
		parts = append(parts, m.Text)
	}
	return strings.Join(parts, "\n\n")
}

// HasTool reports whether the model may use a tool.
func (r *Request) HasTool(name string) bool { return slices.Contains(r.Tools, name) }
