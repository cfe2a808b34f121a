package chat

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/internal/text"
)

// File is something that belongs to a message and does not come with it: a picture, a recording, the message that it
// answers. It is fetched when it is needed.
type File struct {
	Number int // within its message, from 1
	Kind   FileKind
	Of     string        // the platform's id of the message that holds it
	Key    string        // the platform's id of it there; empty for what is a message itself
	Name   string        // as its sender called it: untrusted, and empty when it has no name
	Length time.Duration // of what is heard or seen; 0 = not known

	State FileState
	Path  string // where it lies on this machine, once it is here; empty for what is read
	Said  string // what it says in words, once they are here; untrusted
	Shown bool   // the agent sees it without opening it
}

// FileKind says what a [File] is.
type FileKind string

// The kinds. The last two are messages, which are read and not stored as files.
const (
	Picture   FileKind = "image"
	Document  FileKind = "file"
	Sound     FileKind = "audio"
	Film      FileKind = "video"
	Quote     FileKind = "quote"   // the message that this one answers
	Forwarded FileKind = "forward" // the messages that this one passes on
)

// Word is what a file of this kind is called where it stands as a [Mark].
func (k FileKind) Word() string {
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

// FileState says whether a [File] is here.
type FileState string

// The states. All but Wanted are final.
const (
	Wanted FileState = "wanted" // still to be fetched
	Here   FileState = "here"
	Missed FileState = "missed"  // it cannot be had
	TooBig FileState = "too_big" // more than is taken in
	Past   FileState = "past"    // it was here, and its time is over or it was taken back
)

// markWords are what a file, or another thing that is no text, is called in the text of its message.
var markWords = []string{"图片", "文件夹", "文件", "语音", "视频会议", "视频", "表情包", "位置", "名片", "群名片", "日程", "任务", "投票", "红包", "合并转发", "卡片"}

// Mark is how something that is no text stands in the text of a message, such as [文件 a.pdf]. what is untrusted.
func Mark(word, what string) string {
	if what = text.Line(what); what != "" {
		word += " " + what
	}
	return "[" + word + "]"
}

var mark = regexp.MustCompile(`\[(?:` + strings.Join(longestFirst(markWords), "|") + `)(?: [^\[\]\n]*)?\]`)

func longestFirst(words []string) []string {
	return slices.SortedFunc(slices.Values(words), func(a, b string) int { return len(b) - len(a) })
}

// Unmarked is a message's text without marks: what its author wrote; empty when that is nothing.
func Unmarked(text string) string { return strings.TrimSpace(mark.ReplaceAllString(text, "")) }
