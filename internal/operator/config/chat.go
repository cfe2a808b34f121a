package config

import (
	"errors"
	"slices"
	"time"

	"magpie/internal/chat"
	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// Chat is the section about chats, whichever door they come through.
type Chat struct {
	// the bot's language: zh, en, or auto for the language of each chat
	Lang string `toml:"lang" env:"LANG"`
	// each topic of a chat is a chat of its own; otherwise all topics share the chat's History
	Topics bool `toml:"topics" env:"TOPICS"`
	// the default rule for which group messages are for the bot
	GroupMention chat.MentionRule `toml:"group_mention" env:"GROUP_MENTION"`
	// messages of other bots are accepted when they mention this one
	AnswerBots bool `toml:"answer_bots" env:"ANSWER_BOTS"`
	// agents get a tool to send files of their project
	SendFiles bool `toml:"send_files" env:"SEND_FILES"`
	// length in characters from which an answer also comes as a Markdown file; 0 = never
	LongAnswer int `toml:"answer_file_chars" env:"ANSWER_FILE_CHARS"`
	// how long an answer must have taken for its asker to be mentioned; 0 = never
	NotifyAfter configtype.Duration `toml:"notify_after" env:"NOTIFY_AFTER"`
	// size up to which files are downloaded; 0 = no file is
	MaxFile configtype.Size `toml:"max_file_size" env:"MAX_FILE_SIZE"`
}

// maxDownload is the largest file that Feishu sends (page im-v1/message/get-2).
const maxDownload = 100 << 20

// langAuto is the [Chat.Lang] with which the bot uses the language of each chat.
const langAuto = "auto"

func chatDefaults() Chat {
	return Chat{
		Lang: langAuto, Topics: true, GroupMention: chat.MentionOnly, SendFiles: true, LongAnswer: 20_000,
		NotifyAfter: configtype.Duration{Duration: 2 * time.Minute}, MaxFile: 30 << 20,
	}
}

// FixedLang is the language for all chats; empty = each chat has its own.
func (c Chat) FixedLang() string {
	if c.Lang == langAuto {
		return ""
	}
	return c.Lang
}

// Validate reports all mistakes of the section at once.
func (c Chat) Validate() error {
	var errs []error
	if !slices.Contains([]string{"", langAuto, "zh", "en"}, c.Lang) {
		errs = append(errs,
			i18n.Mistakef("[chat] lang %q：应为 auto、zh 或 en", "[chat] lang %q: must be auto, zh or en", c.Lang))
	}
	if c.GroupMention != "" && !c.GroupMention.IsValid() {
		errs = append(errs, i18n.Mistakef("[chat] group_mention %q：应为 mention、all 或 commands",
			"[chat] group_mention %q: must be mention, all or commands", c.GroupMention))
	}
	if c.LongAnswer < 0 {
		errs = append(errs, i18n.Mistakef("[chat] answer_file_chars：不能是负数", "[chat] answer_file_chars: must be 0 or more"))
	}
	if c.NotifyAfter.Duration < 0 {
		errs = append(errs, i18n.Mistakef("[chat] notify_after：不能是负数", "[chat] notify_after: must be 0 or more"))
	}
	if c.MaxFile > maxDownload {
		errs = append(errs, i18n.Mistakef("[chat] max_file_size %d MB：飞书只能下载不超过 100 MB 的文件",
			"[chat] max_file_size %d MB: Feishu serves files of up to 100 MB", int64(c.MaxFile)>>20))
	}
	return errors.Join(errs...)
}
