package feishu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/text"
)

// fetchMessage fetches a message, followed by those inside it, with its cards if the platform returns them. For a merged
// forward it may fail to.
func (ms messages) fetchMessage(ctx context.Context, id string) (items []gjson.Result, err error) {
	items, err = ms.fetchItems(ctx, id, true)
	var refused *openapi.Error
	if errors.As(err, &refused) &&
		(refused.Code == codeNoCardContent || refused.Status >= http.StatusInternalServerError) {
		return ms.fetchItems(ctx, id, false)
	}
	return items, err
}

// fetchForward is fetchMessage for what is known to be a merged forward: most contain no cards.
func (ms messages) fetchForward(ctx context.Context, id string) (items []gjson.Result, err error) {
	items, err = ms.fetchItems(ctx, id, false)
	if err != nil || !slices.ContainsFunc(items, isCard) {
		return items, err
	}
	if withCards, err := ms.fetchItems(ctx, id, true); err == nil {
		return withCards, nil
	}
	return items, nil
}

func isCard(item gjson.Result) bool { return item.Get("msg_type").String() == "interactive" }

// codeNoCardContent is the code with which the platform refuses the content of cards for a merged forward. It is an
// internal error, with the matching HTTP status.
const codeNoCardContent = 2200

// fetchItems fetches a message and those inside it, with the names of their authors (page "Query message content",
// im-v1/message/get). cards requests cards as they were sent: by default those of version 2.0 only say that the client
// is too old.
func (ms messages) fetchItems(ctx context.Context, id string, cards bool) (items []gjson.Result, err error) {
	query, refusals := larkcore.QueryParams{"with_sender_name": {"true"}}, []int(nil)
	if cards {
		query.Set("card_msg_content_type", "user_card_content")
		refusals = append(refusals, codeNoCardContent)
	}
	const op = "read a message"
	answer, err := ms.api.Call(ctx, openapi.Request{
		Op: op, Method: http.MethodGet, Path: openapi.Path("/open-apis/im/v1/messages/", id), Query: query,
		Tries: liveTries, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	items = answer.Get("data.items").Array()
	if len(items) == 0 || items[0].Get("deleted").Bool() {
		return nil, fmt.Errorf("%s: %w", op, chat.ErrGone)
	}
	return items, nil
}

// FetchQuoted returns the message that another one of the chat replies to. It has no author if this bot wrote it. Its
// files do not include its own quote.
func (c *Client) FetchQuoted(ctx context.Context, key chat.Key, id string) (chat.Incoming, error) {
	items, err := c.messages.fetchMessage(ctx, id)
	if err != nil {
		return chat.Incoming{}, err
	}
	s := fromList(items[0], listQuery{}, "")
	// A message of another chat must not be read into this one, even with a forged ID.
	if s.chat != key.ID {
		return chat.Incoming{}, fmt.Errorf("read a message of another chat: %w", chat.ErrGone)
	}
	r := contentReader{id: id, mentions: s.mentions, bot: c.state.botID(), nameOf: c.names.cached, readBack: true}
	text, _ := r.read(s.msgType, gjson.Parse(s.content))
	in := chat.Incoming{Key: key, ID: id, Text: text, Files: r.files, Time: millis(s.createTime)}
	switch {
	case !s.byBot():
		in.Actor = chat.Actor{ID: s.senderID, Name: s.senderName}
		if in.Actor.Name == "" {
			in.Actor.Name = c.names.lookUpWithin(ctx, key.ID, s.senderID)
		}
	case s.fromOtherBot(c.cfg.AppID, c.state.botID()):
		in.Actor = chat.Actor{ID: s.senderID, Name: cmp.Or(s.senderName, botName)}
	}
	return in, nil
}

// botName is the name shown for another bot.
const botName = "机器人"

// Limits of a merged forward.
const (
	maxPassedOn    = 100  // messages
	longestPassed  = 8000 // runes in all
	deepestPassed  = 5    // forwards within forwards
	longestMessage = 2000 // runes of one message
)

// FetchForwarded returns the messages of a merged forward as a list of who said what and when. Every line that a person
// wrote follows a mark, so that it cannot imitate an entry of the list.
func (c *Client) FetchForwarded(ctx context.Context, key chat.Key, id string) (string, error) {
	items, err := c.messages.fetchForward(ctx, id)
	if err != nil {
		return "", err
	}
	f := forwardWriter{
		client: c, ctx: ctx, chat: key.ID,
		under: map[string][]gjson.Result{}, generatedNames: map[string]string{},
	}
	root := items[0].Get("message_id").String()
	parts := 0
	for _, item := range items[1:] {
		if item.Get("message_id").String() == root {
			continue
		}
		upper := cmp.Or(item.Get("upper_message_id").String(), root) // it may be missing right below the forward
		f.under[upper] = append(f.under[upper], item)
		parts++
	}
	for _, list := range f.under {
		slices.SortStableFunc(list, func(a, b gjson.Result) int {
			return millis(a.Get("create_time").String()).Compare(millis(b.Get("create_time").String()))
		})
	}
	f.list(root, 0)
	if left := parts - f.shown; left > 0 {
		fmt.Fprintf(&f.text, "（另有 %d 条没有列出）\n", left)
	}
	return strings.TrimSpace(f.text.String()), nil
}

// forwardWriter writes the list of one merged forward.
type forwardWriter struct {
	client         *Client
	ctx            context.Context
	chat           string
	under          map[string][]gjson.Result // messages by the forward that contains them
	generatedNames map[string]string         // generated names for people without a known name, by open_id
	text           strings.Builder
	runes          int
	shown          int
}

// list writes the messages of one forward, and of the forwards inside it, indented by depth.
func (f *forwardWriter) list(id string, deep int) {
	items := f.under[id]
	delete(f.under, id) // otherwise a cycle in the ids would not end
	for _, item := range items {
		if f.shown == maxPassedOn || f.runes >= longestPassed || deep == deepestPassed {
			return
		}
		f.shown++
		s := fromList(item, listQuery{}, "")
		r := contentReader{id: s.id, mentions: s.mentions, bot: "", nameOf: f.client.names.cached, readBack: true}
		said, _ := r.read(s.msgType, gjson.Parse(s.content))
		if item.Get("deleted").Bool() {
			said = "（已撤回）"
		}
		indent := strings.Repeat("  ", deep)
		f.write(fmt.Sprintf("%s- %s（%s）\n", indent, f.name(s), millis(s.createTime).Local().Format(stamp)))
		for line := range strings.FieldsFuncSeq(text.Shorten(said, longestMessage+1), text.IsLineBreak) {
			f.write(indent + "  > " + line + "\n")
		}
		f.list(s.id, deep+1)
	}
}

func (f *forwardWriter) write(s string) {
	f.runes += utf8.RuneCountInString(s)
	f.text.WriteString(s)
}

// name returns the name of an author. People of other chats have no known names; they are numbered to tell them apart.
func (f *forwardWriter) name(s rawMessage) string {
	if name := text.SafeLine(s.senderName); name != "" {
		return name
	}
	if s.byBot() {
		return botName
	}
	if name := text.SafeLine(f.client.names.lookUpWithin(f.ctx, f.chat, s.senderID)); name != "" {
		return name
	}
	if f.generatedNames[s.senderID] == "" {
		f.generatedNames[s.senderID] = fmt.Sprintf("用户 %d", len(f.generatedNames)+1)
	}
	return f.generatedNames[s.senderID]
}
