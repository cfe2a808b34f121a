package feishu

import (
	"context"
	"io"
	"net/http"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// downloadStall is how long a download may make no progress.
const downloadStall = 10 * time.Second

// Download writes a file of a message to w. It reads at most most bytes; the error for a larger file is
// [chat.ErrTooBig]. After any other error w holds a part of the file. ctx limits the whole download (page "Get the
// resource file of a message", im-v1/message/get-2).
func (c *Client) Download(ctx context.Context, f chat.File, most int64, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The response header may take as long as any call; after that the stall timeout applies.
	watch := time.AfterFunc(downloadStall+openapi.CallTimeout, cancel)
	defer watch.Stop()
	resp, err := c.api.Open(ctx, downloadOf(f))
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	// Checked before reading, so that a declared size costs no transfer; a size that is not declared is noticed below.
	if resp.ContentLength > most {
		return chat.ErrTooBig
	}
	// One byte more than allowed is enough to know that the file is too big.
	n, err := io.Copy(w, io.LimitReader(&idleTimeoutReader{resp.Body, watch}, most+1))
	switch {
	case n > most:
		return chat.ErrTooBig
	case err != nil:
		return &openapi.Error{Op: opDownload, Err: openapi.WithoutURL(err)}
	}
	return nil
}

const opDownload = "download a file of a message"

// idleTimeoutReader restarts a timer whenever data arrives, so that a slow download continues and a stalled one ends.
type idleTimeoutReader struct {
	io.Reader
	watch *time.Timer
}

func (w *idleTimeoutReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.watch.Reset(downloadStall)
	}
	return n, err
}

// downloadOf is the request for a file of a message.
func downloadOf(f chat.File) openapi.Request {
	kind := "file"
	if f.Kind == chat.Picture {
		kind = "image"
	}
	return openapi.Request{
		Op: opDownload, Method: http.MethodGet,
		Path:  openapi.Path("/open-apis/im/v1/messages/", f.Of, "/resources/", f.Key),
		Query: larkcore.QueryParams{"type": {kind}}, Tries: liveTries,
	}
}
