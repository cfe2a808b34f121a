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

// pageOfList is the largest page size of a list (page im-v1/message/list).
const pageOfList = 50

// listQuery selects messages of a chat.
type listQuery struct {
	chat        string
	thread      string    // a topic to list instead of the chat
	from        time.Time // ignored for a topic, which is listed from its first message, unless newest is set
	newest      bool      // with more than limit messages: returns the newest, otherwise the oldest
	limit       int
	lowPriority bool // let other calls go first
}

// list returns messages, oldest first, and whether there are more than l.limit. The list of a chat contains only the
// first message of each topic.
func (ms messages) list(ctx context.Context, l listQuery) (items []gjson.Result, more bool, err error) {
	query := larkcore.QueryParams{}
	query.Set("container_id_type", "chat")
	query.Set("container_id", l.chat)
	query.Set("sort_type", "ByCreateTimeAsc")
	query.Set("page_size", strconv.Itoa(pageOfList))
	query.Set("with_sender_name", "true")
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
		LowPriority: l.lowPriority, Tries: liveTries,
	}
	for page, err := range ms.api.Pages(ctx, r) {
		if err != nil {
			return nil, false, err
		}
		items = append(items, page.Get("data.items").Array()...)
		if l.thread != "" && l.newest && len(items) > 0 &&
			millis(items[len(items)-1].Get("create_time").String()).Before(l.from) {
			more = false
			break // the rest is older than l.from
		}
		if more = openapi.HasMore(page); len(items) >= l.limit {
			break
		}
	}
	if len(items) > l.limit {
		items, more = items[:l.limit], true
	}
	if l.newest {
		slices.Reverse(items)
	}
	return items, more, nil
}
