package feishu

import (
	"context"
	"io"
	"mime"
	"net/http"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"
)

// longestError is how much is read of an answer that is no file, in bytes.
const longestError = 64 << 10

// open makes a call without a body whose answer is a file. It is not read, which is left to the caller, who closes it:
// the SDK would keep all of it in memory.
func (a *api) open(ctx context.Context, r request) (*http.Response, error) {
	token := ""
	for try := 1; ; try++ {
		if a.breaker.isOpen() {
			return nil, &Error{Op: r.op, Err: errAway}
		}
		if err := a.limits.app(ctx); err != nil {
			return nil, err
		}
		var err error
		if token, err = a.tokens.get(ctx, token); err != nil {
			return nil, err
		}
		var resp *http.Response
		_, err = a.breaker.do(r.op, func() (gjson.Result, error) {
			resp, err = a.exchangeFile(ctx, r, token)
			a.tally.count(err)
			return gjson.Result{}, err
		})
		if verdictOf(err) != badToken || try == tokenTries {
			return resp, err
		}
	}
}

func (a *api) exchangeFile(ctx context.Context, r request, token string) (*http.Response, error) {
	address := a.config.BaseUrl + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, nil)
	if err != nil {
		return nil, &Error{Op: r.op, Err: plainCause(err)}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	unhurried := &http.Client{Transport: a.http.Transport} // the usual limit would count the body too
	resp, err := unhurried.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &Error{Op: r.op, Err: plainCause(err)}
	}
	if resp.StatusCode == http.StatusOK && isFile(resp.Header) {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestError))
	if err != nil {
		return nil, &Error{Op: r.op, Err: plainCause(err)}
	}
	if _, err := judge(r.op, &larkcore.ApiResp{StatusCode: resp.StatusCode, Header: resp.Header, RawBody: body}); err != nil {
		return nil, err
	}
	return nil, &Error{Op: r.op, Msg: "the answer is no file", Status: http.StatusBadRequest}
}

// isFile tells a file, which may be JSON itself, from the platform's own words.
func isFile(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err != nil || kind != "application/json" || h.Get("Content-Disposition") != ""
}
