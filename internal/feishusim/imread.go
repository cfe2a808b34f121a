package feishusim

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxPage = 50 // messages in one page of a list (doc: im-v1/message/list)

// data is a message as the message API shows it. raw requests the real JSON of cards.
func (m *message) data(tenant string, raw bool) map[string]any {
	idType := "open_id"
	if m.Sender.Type == "app" {
		idType = "app_id"
	}
	sender := map[string]any{
		"id": m.Sender.ID, "id_type": idType, "sender_type": m.Sender.Type, "tenant_key": tenant,
	}
	if m.Sender.Name != "" {
		sender["sender_name"] = m.Sender.Name
	}
	if m.Sender.OpenBotID != "" {
		sender["open_bot_id"] = m.Sender.OpenBotID
	}
	out := map[string]any{
		"message_id": m.ID, "msg_type": m.Type, "chat_id": m.ChatID,
		"create_time": millis(m.Created), "update_time": millis(m.updated),
		"deleted": m.Deleted, "updated": m.updated.After(m.Created),
		"sender": sender,
		"body":   map[string]any{"content": m.shownContent(raw)},
	}
	for k, v := range map[string]string{
		"root_id": m.RootID, "parent_id": m.ParentID, "thread_id": m.ThreadID, "upper_message_id": m.upper,
	} {
		if v != "" {
			out[k] = v
		}
	}
	var mentions []any
	for _, at := range m.mentions {
		mentions = append(mentions, map[string]any{
			"key": at.key, "id": at.user.OpenID, "id_type": "open_id", "name": at.user.Name, "tenant_key": tenant,
		})
	}
	if mentions != nil {
		out["mentions"] = mentions
	}
	return out
}

// shownContent is body.content: cards are degraded to texts unless their real JSON is requested.
func (m *message) shownContent(raw bool) string {
	if m.Deleted {
		return recalledMsg
	}
	card := m.card()
	switch {
	case m.Type == "text" && m.edited: // when read back, an edited text consists of paragraphs
		var body struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal([]byte(m.Content), &body); err != nil {
			return m.Content
		}
		return string(mustJSON(map[string]string{"text": "<p>" + strings.ReplaceAll(body.Text, "\n", "</p><p>") + "</p>"}))
	case m.Type == "interactive" && !raw && (card["schema"] == schemaV2 || strings.Contains(m.Content, `"schema":"2.0"`) ||
		strings.Contains(m.Content, `"user_dsl"`)):
		return string(mustJSON(map[string]any{"title": nil, "elements": cardOfOldClients}))
	case m.Type != "interactive" || card == nil:
		return m.Content
	case raw:
		return string(mustJSON(card))
	}
	lines := [][]map[string]string{{{"tag": "text", "text": visibleCard(card["body"]) + visibleCard(card["elements"])}}}
	return string(mustJSON(map[string]any{
		"title": text(member(card, "header", "title", "content")), "elements": lines,
	}))
}

// get answers with the message, and for a merged forward with its parts, too. Recalled messages are returned as such
// and are not an error (doc: im-v1/message/get).
func (a *imAPI) get(q *request) (any, *refusal) {
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.messages.byID[q.PathValue("message_id")]
	if m == nil {
		_, bad := w.reachable(q.PathValue("message_id"), codeGone)
		return nil, bad
	}
	if bad := w.chat(m.ChatID).writable(); bad != nil {
		return nil, bad
	}
	raw := rawCards(q)
	// This is not the client's mistake, which cannot know the message's type.
	if raw && m.Type == "merge_forward" && !w.forwardedCards {
		return nil, &refusal{code: codeInternal, msg: "Internal Error"}
	}
	items := m.tree(w.tenant, raw)
	if q.URL.Query().Get("with_sender_name") != "true" {
		withoutNames(items)
	}
	for _, item := range items { // direct parts of the forward may not name it
		if item["upper_message_id"] == m.ID {
			delete(item, "upper_message_id")
		}
	}
	return map[string]any{"items": items}, nil
}

// rawCards reports whether cards are requested as they were sent.
func rawCards(q *request) bool {
	return slices.Contains([]string{"raw_card_content", "user_card_content"}, q.URL.Query().Get("card_msg_content_type"))
}

// tree is the message and, for a merged forward, all messages in it, recursively.
func (m *message) tree(tenant string, raw bool) []map[string]any {
	items := []map[string]any{m.data(tenant, raw)}
	for _, p := range m.parts {
		items = append(items, p.tree(tenant, raw)...)
	}
	return items
}

// withoutNames removes what is only returned on request.
func withoutNames(items []map[string]any) {
	for _, item := range items {
		delete(item["sender"].(map[string]any), "sender_name")
	}
}

// list answers with a page of a chat or of a topic. Of its topics a chat only lists the first message.
func (a *imAPI) list(q *request) (any, *refusal) {
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	all, bad := a.container(q)
	if bad != nil {
		return nil, bad
	}
	if sort := q.URL.Query().Get("sort_type"); sort == "ByCreateTimeDesc" {
		slices.Reverse(all)
	} else if cmp.Or(sort, "ByCreateTimeAsc") != "ByCreateTimeAsc" {
		return nil, refuse(RuleField, codeField, "field validation failed: sort_type %q", sort)
	}
	size, from, bad := paging(q)
	if bad != nil {
		return nil, bad
	}
	// The list may have become shorter since the token was issued.
	from = min(from, len(all))
	to := min(from+size, len(all))
	items := []map[string]any{}
	for _, m := range all[from:to] {
		items = append(items, m.data(w.tenant, rawCards(q)))
	}
	next := ""
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	if q.URL.Query().Get("with_sender_name") != "true" {
		withoutNames(items)
	}
	return map[string]any{"items": items, "has_more": next != "", "page_token": next}, nil
}

// paging reads page_size and page_token. The token is the index of the first message; clients must
// treat it as opaque.
func paging(q *request) (size, from int, bad *refusal) {
	size = 20
	var err error
	if s := q.URL.Query().Get("page_size"); s != "" {
		if size, err = strconv.Atoi(s); err != nil || size < 1 || size > maxPage {
			return 0, 0, refuse(RuleField, codeField, "field validation failed: page_size %q", s)
		}
	}
	if t := q.URL.Query().Get("page_token"); t != "" {
		if from, err = strconv.Atoi(t); err != nil || from < 0 {
			return 0, 0, refuse(RuleField, codeParam, "invalid page_token %q", t)
		}
	}
	return size, from, nil
}

// container returns the messages of the chat or topic that the request names.
func (a *imAPI) container(q *request) ([]*message, *refusal) {
	w := a.world
	id := q.URL.Query().Get("container_id")
	var chatID string
	var keep func(*message) bool
	switch kind := q.URL.Query().Get("container_id_type"); kind {
	case "chat":
		from, to, bad := timeRange(q)
		if bad != nil {
			return nil, bad
		}
		chatID = id
		keep = func(m *message) bool {
			// A topic's first message counts as a message of the chat; only its replies are inside.
			inside := m.ThreadID != "" && w.messages.threadRoot(m.ThreadID) != m
			return !inside && !m.Created.Before(from) && m.Created.Before(to)
		}
	case "thread":
		root := w.messages.threadRoot(id)
		if root == nil {
			return nil, refuse(RuleUnknownID, codeParam, "invalid container_id %q", id)
		}
		chatID = root.ChatID
		keep = func(m *message) bool { return m.ThreadID == id }
	default:
		return nil, refuse(RuleField, codeField, "field validation failed: container_id_type %q", kind)
	}
	c := w.chat(chatID)
	if c == nil {
		return nil, refuse(RuleUnknownID, codeParam, "invalid container_id %q", id)
	}
	if bad := c.writable(); bad != nil {
		return nil, bad
	}
	if !c.private() && a.mentionsOnly {
		return nil, refuse("", codeMissingScope, "Lack of necessary permissions, ext=need scope: im:message.group_msg")
	}
	return slices.DeleteFunc(w.messages.in(chatID), func(m *message) bool { return !keep(m) }), nil
}

// timeRange reads start_time and end_time, in seconds; both are inclusive.
func timeRange(q *request) (from, to time.Time, bad *refusal) {
	read := func(name string, otherwise, add int64) (time.Time, *refusal) {
		s := q.URL.Query().Get(name)
		if s == "" {
			return time.Unix(otherwise, 0), nil
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return time.Time{}, refuse(RuleField, codeField, "field validation failed: %s %q", name, s)
		}
		return time.Unix(n+add, 0), nil
	}
	if from, bad = read("start_time", 0, 0); bad != nil {
		return from, to, bad
	}
	// end_time is inclusive and messages have milliseconds, so the whole last second belongs to the range.
	to, bad = read("end_time", 1<<40, 1)
	return from, to, bad
}
