package feishu

import (
	"context"
	"iter"
	"maps"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"
)

// pages makes a call that lists something, once for each page of it and so many times at most until a page's outcome is
// known. The last pair has the error if a page could not be had.
func (a *api) pages(ctx context.Context, r request, tries int) iter.Seq2[gjson.Result, error] {
	return func(yield func(gjson.Result, error) bool) {
		query := larkcore.QueryParams{}
		maps.Copy(query, r.query)
		r.query = query
		for {
			var page gjson.Result
			err := persist(ctx, tries, func() (err error) {
				page, err = a.call(ctx, r)
				return err
			})
			if !yield(page, err) || err != nil || !hasMore(page) {
				return
			}
			query.Set("page_token", page.Get("data.page_token").String())
		}
	}
}

// hasMore reports whether a page of a list is followed by another.
func hasMore(page gjson.Result) bool {
	return page.Get("data.has_more").Bool() && page.Get("data.page_token").String() != ""
}
