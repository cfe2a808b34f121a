package openapi

import (
	"context"
	"iter"
	"maps"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"
)

// Pages makes a paged call and yields each page. An error comes with the last pair.
func (c *Client) Pages(ctx context.Context, r Request) iter.Seq2[gjson.Result, error] {
	return func(yield func(gjson.Result, error) bool) {
		query := larkcore.QueryParams{}
		maps.Copy(query, r.Query)
		r.Query = query
		for {
			page, err := c.Call(ctx, r)
			if !yield(page, err) || err != nil || !HasMore(page) {
				return
			}
			query.Set("page_token", page.Get("data.page_token").String())
		}
	}
}

// HasMore reports whether another page follows.
func HasMore(page gjson.Result) bool {
	return page.Get("data.has_more").Bool() && page.Get("data.page_token").String() != ""
}
