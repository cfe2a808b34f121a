package feishu

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/text"
)

// message asks for a message, and for what it passes on (page "Query message content", im-v1/message/get).
func (c *Client) message(ctx context.Context, id string) (items []gjson.Result, err error) {
	const op = "read a message"
	answer, err := c.api.Call(ctx, openapi.Request{
		Op: op, Method: http.MethodGet, Path: openapi.Path("/open-apis/im/v1/messages/", id), Tries: liveTries,
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

// Quoted reads a message that another one of the chat answers. It has no author when the bot wrote it. What it answers
// itself is not among its files.
func (c *Client) Quoted(ctx context.Context, key chat.Key, id string) (chat.Incoming, error) {
	items, err := c.message(ctx, id)
	if err != nil {
		return chat.Incoming{}, err
	}
	s := fromList(items[0], listing{}, "")
	if s.chat != key.ID {
		return chat.Incoming{}, fmt.Errorf("read a message of another chat: %w", chat.ErrGone)
	}
	r := reading{id: id, people: s.people, bot: c.state.bot(), called: c.names.known}
	text, _ := r.read(s.form, gjson.Parse(s.content))
	in := chat.Incoming{Key: key, ID: id, Text: text, Files: r.files, Time: millis(s.written)}
	switch {
	case s.by == "user":
		in.Actor = chat.Actor{ID: s.author, Name: c.names.within(ctx, key.ID, s.author)}
	case s.author != c.cfg.AppID:
		in.Actor = chat.Actor{ID: s.author, Name: botName}
	}
	return in, nil
}

// botName stands for the name of another bot.
const botName = "机器人"

// Bounds of what is read of messages that were passed on.
const (
	mostPassedOn   = 100  // messages
	longestPassed  = 8000 // runes of all
	deepestPassed  = 5    // forwards within forwards
	longestMessage = 2000 // runes of one
)

// Forwarded reads the messages that a merged forward passes on, as a list with who said what and when. In it every line
// that somebody has written stands behind a mark, so that it cannot be taken for a line of the list.
func (c *Client) Forwarded(ctx context.Context, key chat.Key, id string) (string, error) {
	items, err := c.message(ctx, id)
	if err != nil {
		return "", err
	}
	f := forward{client: c, ctx: ctx, chat: key.ID, under: map[string][]gjson.Result{}, strangers: map[string]string{}}
	for _, item := range items[1:] {
		upper := item.Get("upper_message_id").String()
		f.under[upper] = append(f.under[upper], item)
	}
	f.list(items[0].Get("message_id").String(), 0)
	if left := len(items) - 1 - f.shown; left > 0 {
		fmt.Fprintf(&f.text, "（另有 %d 条没有列出）\n", left)
	}
	return strings.TrimSpace(f.text.String()), nil
}

// forward writes a merged forward down.
type forward struct {
	client    *Client
	ctx       context.Context
	chat      string
	under     map[string][]gjson.Result // messages by the forward that they are part of
	strangers map[string]string         // names for those who have none, by open_id
	text      strings.Builder
	runes     int
	shown     int
}

func (f *forward) list(id string, deep int) {
	items := f.under[id]
	delete(f.under, id) // a circle would have no end
	for _, item := range items {
		if f.shown == mostPassedOn || f.runes >= longestPassed || deep == deepestPassed {
			return
		}
		f.shown++
		s := fromList(item, listing{}, "")
		r := reading{id: s.id, people: s.people, bot: "", called: f.client.names.known}
		said, _ := r.read(s.form, gjson.Parse(s.content))
		if item.Get("deleted").Bool() {
			said = "（已撤回）"
		}
		indent := strings.Repeat("  ", deep)
		f.write(fmt.Sprintf("%s- %s（%s）\n", indent, f.name(s), millis(s.written).Local().Format(stamp)))
		for line := range strings.FieldsFuncSeq(text.Shorten(said, longestMessage+1), text.IsLineBreak) {
			f.write(indent + "  > " + line + "\n")
		}
		f.list(s.id, deep+1)
	}
}

func (f *forward) write(s string) {
	f.runes += utf8.RuneCountInString(s)
	f.text.WriteString(s)
}

// name is who wrote a message. The people of other chats have no names here; each is told from the others anyway.
func (f *forward) name(s rawMessage) string {
	if s.by != "user" {
		return botName
	}
	if name := text.Line(f.client.names.within(f.ctx, f.chat, s.author)); name != "" {
		return name
	}
	if f.strangers[s.author] == "" {
		f.strangers[s.author] = fmt.Sprintf("用户 %d", len(f.strangers)+1)
	}
	return f.strangers[s.author]
}
