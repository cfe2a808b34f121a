package feishu

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"

	"magpie/internal/chat"
)

// downloadStall is how long a download may give nothing.
const downloadStall = 10 * time.Second

// longestError is how much is read of an answer that is no file, in bytes.
const longestError = 64 << 10

// Download writes a file of a message to w. Of one that is bigger than most bytes no more than that is taken off the
// wire, and the error is [chat.ErrTooBig]. After another error w holds a part of it. ctx bounds the whole (page "Get
// the resource file of a message", im-v1/message/get-2).
func (c *Client) Download(ctx context.Context, f chat.File, most int64, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(downloadStall+callTimeout, cancel)
	defer watch.Stop()
	var resp *http.Response
	err := persist(ctx, liveTries, func() (err error) {
		resp, err = c.api.openFile(ctx, f)
		return err
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.ContentLength > most {
		return chat.ErrTooBig
	}
	n, err := io.Copy(w, io.LimitReader(&idleTimeoutReader{resp.Body, watch}, most+1))
	switch {
	case n > most:
		return chat.ErrTooBig
	case err != nil:
		return &Error{Op: opDownload, cause: plainCause(err)}
	}
	return nil
}

const opDownload = "download a file of a message"

// idleTimeoutReader puts a deadline off whenever something comes.
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

// openFile asks for a file. The answer's body is not read: the SDK would keep all of it in memory.
func (a *api) openFile(ctx context.Context, f chat.File) (*http.Response, error) {
	token := ""
	for try := 1; ; try++ {
		if a.breaker.isOpen() {
			return nil, &Error{Op: opDownload, cause: errAway}
		}
		if err := a.limits.app(ctx); err != nil {
			return nil, err
		}
		var err error
		if token, err = a.tokens.get(ctx, token); err != nil {
			return nil, err
		}
		var resp *http.Response
		_, err = a.breaker.do(opDownload, func() (gjson.Result, error) {
			resp, err = a.exchangeFile(ctx, f, token)
			a.tally.count(err)
			return gjson.Result{}, err
		})
		if verdictOf(err) != badToken || try == tokenTries {
			return resp, err
		}
	}
}

func (a *api) exchangeFile(ctx context.Context, f chat.File, token string) (*http.Response, error) {
	kind := "file"
	if f.Kind == chat.Picture {
		kind = "image"
	}
	address := a.config.BaseUrl + path("/open-apis/im/v1/messages/", f.Of, "/resources/", f.Key) + "?" + url.Values{"type": {kind}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &Error{Op: opDownload, cause: plainCause(err)}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	unhurried := &http.Client{Transport: a.http.Transport} // the usual limit would count the body too
	resp, err := unhurried.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &Error{Op: opDownload, cause: plainCause(err)}
	}
	if resp.StatusCode == http.StatusOK && isFile(resp.Header) {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestError))
	if err != nil {
		return nil, &Error{Op: opDownload, cause: plainCause(err)}
	}
	if _, err := judge(opDownload, &larkcore.ApiResp{StatusCode: resp.StatusCode, Header: resp.Header, RawBody: body}); err != nil {
		return nil, err
	}
	return nil, &Error{Op: opDownload, Msg: "the answer is no file", status: http.StatusBadRequest}
}

// isFile tells a file, which may be JSON itself, from the platform's own words.
func isFile(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err != nil || kind != "application/json" || h.Get("Content-Disposition") != ""
}
