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

// addFile records an attachment that can be downloaded.
func (r *contentReader) addFile(kind chat.FileKind, key, name string, length time.Duration) {
	if key != "" {
		r.files = append(r.files, chat.File{
			Number: len(r.files) + 1, Kind: kind, Of: r.id, Key: key, Name: name, Length: length,
		})
	}
}

// picture, and the other readers of attachments, leave a mark in the text at the place of the attachment, so that the
// agent sees what belongs where.
func (r *contentReader) picture(key string) string {
	r.images++
	r.addFile(chat.Picture, key, "", 0)
	return chat.AttachmentMark(chat.Picture.Label(), strconv.Itoa(r.images))
}

func (r *contentReader) file(c gjson.Result) string {
	name := safepath.FileName(c.Get("file_name").String())
	r.addFile(chat.Document, c.Get("file_key").String(), name, 0)
	return chat.AttachmentMark(chat.Document.Label(), name)
}

func (r *contentReader) video(c gjson.Result) string {
	name, length := safepath.FileName(c.Get("file_name").String()), duration(c)
	r.addFile(chat.Film, c.Get("file_key").String(), name, length)
	return chat.AttachmentMark(chat.Film.Label(), strings.TrimSpace(name+" "+seconds(length)))
}

func (r *contentReader) audio(c gjson.Result) string {
	length := duration(c)
	r.addFile(chat.Sound, c.Get("file_key").String(), "", length)
	return chat.AttachmentMark(chat.Sound.Label(), seconds(length))
}

// duration reads a length in milliseconds; it limits the value, which may be forged.
func duration(c gjson.Result) time.Duration {
	const longest = 1 << 40 // milliseconds; a larger value is invalid
	return time.Duration(min(max(c.Get("duration").Int(), 0), longest)) * time.Millisecond
}

func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%d 秒", (d+time.Second-1)/time.Second)
}

// addForwarded records that this message is a merged forward.
func (r *contentReader) addForwarded() string {
	r.files = append(r.files, chat.File{Number: len(r.files) + 1, Kind: chat.Forwarded, Of: r.id})
	return chat.AttachmentMark(chat.Forwarded.Label(), "")
}

// readOther reads the message types without text of the author's own.
func (r *contentReader) readOther(form string, c gjson.Result) (text string, ok bool) {
	switch form {
	case "image":
		return r.picture(c.Get("image_key").String()), true
	case "file":
		return r.file(c), true
	case "folder": // it cannot be downloaded (page im-v1/message/get-2)
		return chat.AttachmentMark("文件夹", c.Get("file_name").String()), true
	case "audio":
		return r.audio(c), true
	case "media":
		return r.video(c), true
	case "sticker": // neither can this
		return chat.AttachmentMark("表情包", ""), true
	case "merge_forward":
		return r.addForwarded(), true
	case "interactive":
		return r.card(c), true
	case "location":
		return chat.AttachmentMark("位置", c.Get("name").String()) + coordinates(c), true
	case "share_user":
		id := c.Get("user_id").String()
		return chat.AttachmentMark("名片", r.userName(id)) + inBrackets(id), true
	case "share_chat":
		return chat.AttachmentMark("群名片", c.Get("chat_name").String()) + inBrackets(c.Get("chat_id").String()), true
	case "share_calendar_event", "calendar", "general_calendar":
		times := period(c.Get("start_time"), c.Get("end_time"))
		return chat.AttachmentMark("日程", c.Get("summary").String()) + inBrackets(times), true
	case "video_chat":
		start := period(c.Get("start_time"), gjson.Result{})
		return chat.AttachmentMark("视频会议", c.Get("topic").String()) + inBrackets(start), true
	case "todo":
		return r.todo(c), true
	case "vote":
		return vote(c), true
	case "hongbao":
		return chat.AttachmentMark("红包", ""), false
	}
	return chat.AttachmentMark(form, ""), false
}

func (r *contentReader) userName(id string) string {
	if r.nameOf == nil {
		return ""
	}
	return r.nameOf(id)
}

// inBrackets formats a short addition to a mark, on one line like the mark itself.
func inBrackets(s string) string {
	if s = text.SafeLine(s); s == "" {
		return ""
	}
	return "（" + s + "）"
}

func coordinates(c gjson.Result) string {
	lat, long := c.Get("latitude").String(), c.Get("longitude").String()
	if lat == "" || long == "" {
		return ""
	}
	return inBrackets("纬度 " + lat + "，经度 " + long)
}

// stamp is the format of times in texts.
const stamp = "2006-01-02 15:04"

// period formats a time, or a range of two, given in milliseconds or, in old messages, in seconds.
func period(from, to gjson.Result) string {
	var parts []string
	for _, t := range []gjson.Result{from, to} {
		n := t.Int()
		if n <= 0 {
			continue
		}
		// Seconds reach 1e11 in the year 5138, milliseconds had it in 1973.
		if n < 1e11 {
			n *= 1000
		}
		parts = append(parts, time.UnixMilli(n).Format(stamp))
	}
	return strings.Join(parts, " 至 ")
}

func (r *contentReader) todo(c gjson.Result) string {
	text := chat.AttachmentMark("任务", c.Get("summary.title").String()) +
		inBrackets(period(c.Get("due_time"), gjson.Result{}))
	// The text of a task is a rich text without the object around it.
	return strings.TrimSpace(text + "\n" + r.flatten(gjson.Parse(`{"content":`+rawArray(c.Get("summary.content"))+`}`)))
}

func rawArray(c gjson.Result) string {
	if !c.IsArray() {
		return "[]"
	}
	return c.Raw
}

func vote(c gjson.Result) string {
	text := chat.AttachmentMark("投票", c.Get("topic").String())
	for _, o := range c.Get("options").Array() {
		text += "\n- " + o.String()
	}
	return text
}
