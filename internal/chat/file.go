package chat

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/internal/text"
)

// File is an attachment of a message that is downloaded separately when needed: an image, a recording, the message that
// it replies to.
type File struct {
	Number int // within its message, from 1
	Kind   FileKind
	Of     string        // the platform's id of the message that contains it
	Key    string        // the platform's key of the file; empty for messages
	Name   string        // from its sender: untrusted, may be empty
	Length time.Duration // of audio and video; 0 = unknown

	State FileState
	Path  string // on this machine, after the download; empty for messages
	Said  string // text: a transcript or the content of a message; untrusted
	Shown bool   // it is part of the prompt, so the agent need not open it
	Topic bool   // quote: of the first message of a topic, to which every message there replies; not stored
}

// FileKind is the kind of a [File].
type FileKind string

// The kinds. The last two are messages, whose text is fetched and not stored as a file.
const (
	Picture   FileKind = "image"
	Document  FileKind = "file"
	Sound     FileKind = "audio"
	Film      FileKind = "video"
	Quote     FileKind = "quote"   // the message that this one replies to
	Forwarded FileKind = "forward" // the messages that this one forwards
)

// Label is the name of this kind of file in an [AttachmentMark].
func (k FileKind) Label() string {
	switch k {
	case Picture:
		return "图片"
	case Sound:
		return "语音"
	case Film:
		return "视频"
	case Forwarded:
		return "合并转发"
	}
	return "文件"
}

// FileState is the download state of a [File].
type FileState string

// The states. All but Wanted are final.
const (
	Wanted FileState = "wanted" // not downloaded yet
	Here   FileState = "here"
	Missed FileState = "missed"  // permanently unavailable
	TooBig FileState = "too_big" // larger than the configured limit
	Past   FileState = "past"    // deleted after its retention time, or recalled
)

// markWords are the names of attachments and other non-text contents in the text of a message.
var markWords = []string{
	"图片", "文件夹", "文件", "语音", "视频会议", "视频", "表情包", "位置", "名片", "群名片", "日程", "任务", "投票", "红包", "合并转发", "卡片",
}

// AttachmentMark represents an attachment in the text of a message, as in [文件 a.pdf]. name is untrusted.
func AttachmentMark(label, name string) string {
	if name = text.SafeLine(name); name != "" {
		label += " " + name
	}
	return "[" + label + "]"
}

var mark = regexp.MustCompile(`\[(?:` + strings.Join(longestFirst(markWords), "|") + `)(?: [^\[\]\n]*)?\]`)

func longestFirst(words []string) []string {
	return slices.SortedFunc(slices.Values(words), func(a, b string) int { return len(b) - len(a) })
}

// WithoutMarks is a message's text without marks: what its author wrote.
func WithoutMarks(text string) string { return strings.TrimSpace(mark.ReplaceAllString(text, "")) }
