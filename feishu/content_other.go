package feishu

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/safepath"
	"magpie/internal/text"
)

// file notes something that can be fetched.
func (r *reading) file(kind chat.FileKind, key, name string, length time.Duration) {
	if key != "" {
		r.files = append(r.files, chat.File{Number: len(r.files) + 1, Kind: kind, Of: r.id, Key: key, Name: name, Length: length})
	}
}

func (r *reading) picture(c gjson.Result) string {
	r.pictures++
	r.file(chat.Picture, c.Get("image_key").String(), "", 0)
	return chat.Mark(chat.Picture.Word(), strconv.Itoa(r.pictures))
}

func (r *reading) document(c gjson.Result) string {
	name := safepath.FileName(c.Get("file_name").String())
	r.file(chat.Document, c.Get("file_key").String(), name, 0)
	return chat.Mark(chat.Document.Word(), name)
}

func (r *reading) film(c gjson.Result) string {
	name, length := safepath.FileName(c.Get("file_name").String()), duration(c)
	r.file(chat.Film, c.Get("file_key").String(), name, length)
	return chat.Mark(chat.Film.Word(), strings.TrimSpace(name+" "+seconds(length)))
}

func (r *reading) sound(c gjson.Result) string {
	length := duration(c)
	r.file(chat.Sound, c.Get("file_key").String(), "", length)
	return chat.Mark(chat.Sound.Word(), seconds(length))
}

func duration(c gjson.Result) time.Duration {
	const longest = 1 << 40 // milliseconds; more is no length
	return time.Duration(min(max(c.Get("duration").Int(), 0), longest)) * time.Millisecond
}

func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%d 秒", (d+time.Second-1)/time.Second)
}

// forwarded notes the messages that this one passes on.
func (r *reading) forwarded() string {
	r.files = append(r.files, chat.File{Number: len(r.files) + 1, Kind: chat.Forwarded, Of: r.id})
	return chat.Mark(chat.Forwarded.Word(), "")
}

// other reads the forms that hold no text of the author's own.
func (r *reading) other(form string, c gjson.Result) (text string, ok bool) {
	switch form {
	case "image":
		return r.picture(c), true
	case "file":
		return r.document(c), true
	case "folder": // it cannot be downloaded (page im-v1/message/get-2)
		return chat.Mark("文件夹", c.Get("file_name").String()), true
	case "audio":
		return r.sound(c), true
	case "media":
		return r.film(c), true
	case "sticker": // nor can this
		return chat.Mark("表情包", ""), true
	case "merge_forward":
		return r.forwarded(), true
	case "interactive":
		return strings.TrimSpace(chat.Mark("卡片", c.Get("title").String()) + "\n" + cardText(c)), true
	case "location":
		return chat.Mark("位置", c.Get("name").String()) + places(c), true
	case "share_user":
		id := c.Get("user_id").String()
		return chat.Mark("名片", r.name(id)) + aside(id), true
	case "share_chat":
		return chat.Mark("群名片", c.Get("chat_name").String()) + aside(c.Get("chat_id").String()), true
	case "share_calendar_event", "calendar", "general_calendar":
		return chat.Mark("日程", c.Get("summary").String()) + aside(period(c.Get("start_time"), c.Get("end_time"))), true
	case "video_chat":
		return chat.Mark("视频会议", c.Get("topic").String()) + aside(period(c.Get("start_time"), gjson.Result{})), true
	case "todo":
		return r.todo(c), true
	case "vote":
		return vote(c), true
	case "hongbao":
		return chat.Mark("红包", ""), false
	}
	return chat.Mark(form, ""), false
}

func (r *reading) name(id string) string {
	if r.called == nil {
		return ""
	}
	return r.called(id)
}

// aside is a short addition to a mark. It is in one line, like the mark.
func aside(s string) string {
	if s = text.Line(s); s == "" {
		return ""
	}
	return "（" + s + "）"
}

func places(c gjson.Result) string {
	lat, long := c.Get("latitude").String(), c.Get("longitude").String()
	if lat == "" || long == "" {
		return ""
	}
	return aside("纬度 " + lat + "，经度 " + long)
}

// stamp is how times are written in texts.
const stamp = "2006-01-02 15:04"

// period is a time, or the time between two, given in milliseconds or, in old messages, in seconds.
func period(from, to gjson.Result) string {
	var parts []string
	for _, t := range []gjson.Result{from, to} {
		n := t.Int()
		if n <= 0 {
			continue
		}
		if n < 1e11 {
			n *= 1000
		}
		parts = append(parts, time.UnixMilli(n).Format(stamp))
	}
	return strings.Join(parts, " 至 ")
}

func (r *reading) todo(c gjson.Result) string {
	text := chat.Mark("任务", c.Get("summary.title").String()) + aside(period(c.Get("due_time"), gjson.Result{}))
	return strings.TrimSpace(text + "\n" + r.flatten(gjson.Parse(`{"content":`+list(c.Get("summary.content"))+`}`)))
}

func list(c gjson.Result) string {
	if !c.IsArray() {
		return "[]"
	}
	return c.Raw
}

func vote(c gjson.Result) string {
	text := chat.Mark("投票", c.Get("topic").String())
	for _, o := range c.Get("options").Array() {
		text += "\n- " + o.String()
	}
	return text
}

// deepestCard is how far a card's parts are followed.
const deepestCard = 12

// cardText is what a card says, line by line. The platform gives the cards of others in a simple form, with lists of
// lines (page "Receive message content"); what has another form is looked through for texts.
func cardText(c gjson.Result) string {
	var lines []string
	for _, part := range []string{"elements", "body", "i18n_elements"} {
		collect(c.Get(part), deepestCard, &lines)
	}
	return strings.Join(lines, "\n")
}

func collect(e gjson.Result, deep int, lines *[]string) {
	switch {
	case deep == 0:
	case e.IsArray():
		var line strings.Builder
		for _, x := range e.Array() {
			if words, ok := simple(x); ok {
				line.WriteString(words)
				continue
			}
			collect(x, deep-1, lines)
		}
		if s := strings.TrimSpace(line.String()); s != "" {
			*lines = append(*lines, s)
		}
	case e.IsObject():
		if words, ok := simple(e); ok {
			*lines = append(*lines, words)
			return
		}
		for _, part := range []string{"title", "text", "content", "header", "fields", "columns", "actions", "options", "elements"} {
			if x := e.Get(part); x.IsObject() || x.IsArray() {
				collect(x, deep-1, lines)
			} else if s := strings.TrimSpace(x.String()); s != "" && part != "header" {
				*lines = append(*lines, s)
			}
		}
	}
}

// simple reads a part of a line.
func simple(e gjson.Result) (string, bool) {
	if !e.IsObject() || e.Get("text").IsObject() {
		return "", false
	}
	switch text := e.Get("text").String(); e.Get("tag").String() {
	case "text", "plain_text":
		return text, true
	case "a":
		return link(text, e.Get("href").String()), true
	case "at":
		return at(e.Get("user_id").String(), e.Get("user_name").String()), true
	case "img":
		return chat.Mark("图片", ""), true
	case "button":
		return " 〔" + text + "〕", true
	case "hr":
		return "---", true
	}
	return "", false
}
