package openapi

import (
	"context"
	"io"
	"mime"
	"net/http"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
)

// longestError limits how much of a reply that is not a file is read, in bytes.
const longestError = 64 << 10

// Open makes a call without a body whose reply is a file. The caller reads and closes the body. The SDK would hold the
// whole file in memory.
func (c *Client) Open(ctx context.Context, r Request) (resp *http.Response, err error) {
	err = c.retry(ctx, r, func(token string) (err error) {
		resp, err = c.roundTripFile(ctx, r, token) //nolint:bodyclose // the caller closes it
		return err
	})
	return resp, err
}

// roundTripFile sends a request once. A reply that is not a file is read and returned as an error.
func (c *Client) roundTripFile(ctx context.Context, r Request, token string) (*http.Response, error) {
	address := c.config.BaseUrl + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, nil)
	if err != nil {
		return nil, &Error{Op: r.Op, Err: WithoutURL(err)}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	noTimeout := &http.Client{Transport: c.HTTP.Transport} // the usual timeout would include reading the body
	resp, err := noTimeout.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &Error{Op: r.Op, Err: WithoutURL(err)}
	}
	if resp.StatusCode == http.StatusOK && isFile(resp.Header) {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestError))
	if err != nil {
		return nil, &Error{Op: r.Op, Err: WithoutURL(err)}
	}
	answer := &larkcore.ApiResp{StatusCode: resp.StatusCode, Header: resp.Header, RawBody: body}
	if _, err := parseAnswer(r.Op, answer); err != nil {
		return nil, err
	}
	return nil, &Error{Op: r.Op, Msg: "the answer is no file", Status: http.StatusBadRequest}
}

// isFile tells a file, which may itself be JSON, from the platform's own reply.
func isFile(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err != nil || kind != "application/json" || h.Get("Content-Disposition") != ""
}
