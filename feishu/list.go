package feishu

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
)

// pageOfList is how many messages one answer of a list holds at most (page im-v1/message/list).
const pageOfList = 50

// listing says which messages of a chat are asked for.
type listing struct {
	chat   string
	thread string    // instead of the chat: one topic of it
	from   time.Time // a topic is listed from its first message anyway, unless the newest are wanted
	newest bool      // when there are more than most: the newest, else the oldest
	most   int
	later  bool // let other calls go first
}

// list gives messages, oldest first, and whether there are more than were asked for. Of topics a chat shows the first
// message only.
func (ms messages) list(ctx context.Context, l listing) (items []gjson.Result, more bool, err error) {
	query := larkcore.QueryParams{}
	query.Set("container_id_type", "chat")
	query.Set("container_id", l.chat)
	query.Set("sort_type", "ByCreateTimeAsc")
	query.Set("page_size", strconv.Itoa(pageOfList))
	if l.newest {
		query.Set("sort_type", "ByCreateTimeDesc")
	}
	if l.thread != "" {
		query.Set("container_id_type", "thread")
		query.Set("container_id", l.thread)
	} else {
		query.Set("start_time", strconv.FormatInt(l.from.Unix(), 10))
	}
	r := openapi.Request{
		Op: "list the messages of a chat", Method: http.MethodGet, Path: "/open-apis/im/v1/messages", Query: query,
		Later: l.later, Tries: liveTries,
	}
	for page, err := range ms.api.Pages(ctx, r) {
		if err != nil {
			return nil, false, err
		}
		items = append(items, page.Get("data.items").Array()...)
		if l.thread != "" && l.newest && len(items) > 0 && millis(items[len(items)-1].Get("create_time").String()).Before(l.from) {
			more = false
			break // what is older was not asked for
		}
		if more = openapi.HasMore(page); len(items) >= l.most {
			break
		}
	}
	if len(items) > l.most {
		items, more = items[:l.most], true
	}
	if l.newest {
		slices.Reverse(items)
	}
	return items, more, nil
}
