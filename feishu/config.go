package feishu

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// The two public hosts of the platform. A tenant lives on one of them only.
const (
	hostFeishu = "https://open.feishu.cn"
	hostLark   = "https://open.larksuite.com"
)

// Config is the [feishu] section.
type Config struct {
	AppID     string `toml:"app_id" env:"APP_ID"`
	AppSecret string `toml:"app_secret" env:"APP_SECRET"`
	// BaseURL is where the platform lives: empty for Feishu, "lark" for the international one, or an address.
	BaseURL string `toml:"base_url" env:"BASE_URL"`
	// Topics makes each topic of a chat a chat of its own; without, all topics share the chat's History.
	Topics bool `toml:"topics" env:"TOPICS"`
	// AnswerBots lets messages of other bots through when they mention this one.
	AnswerBots bool `toml:"answer_bots" env:"ANSWER_BOTS"`
	// GroupMention says which messages of a group are for the bot, where the group has no rule of its own.
	GroupMention chat.MentionRule `toml:"group_mention" env:"GROUP_MENTION"`
	// SendFiles gives agents a tool to send files of their project.
	SendFiles bool `toml:"send_files" env:"SEND_FILES"`
	// File is where these very lines stand; it is never sent. Empty = nowhere.
	File string `toml:"-" env:"-"`
	// LongAnswer is the length in characters from which an answer also comes as a Markdown file; 0 = never.
	LongAnswer int `toml:"answer_file_chars" env:"ANSWER_FILE_CHARS"`
	// MaxFile is how big a file may be that is taken in; 0 = none is.
	MaxFile Size `toml:"max_file_size" env:"MAX_FILE_SIZE"`
	// Lang is the language in which the bot speaks: zh, en, or auto for that of the chat.
	Lang string `toml:"lang" env:"LANG"`
	// Rest is how long a platform that does not answer is left alone; 0 is half a minute. Tests are less patient.
	Rest time.Duration `toml:"-" env:"-"`
	// NameWait is how long a message waits for its author's name, which the platform is asked for; 0 is 150 ms. Tests
	// on a busy machine are more patient.
	NameWait time.Duration `toml:"-" env:"-"`
	// AckWait is how long the platform waits for what it tells to be acknowledged; 0 is the public platform's 3 s. The
	// double waits longer in tests on a busy machine.
	AckWait time.Duration `toml:"-" env:"-"`
	// Pace is how many times the public platform's rates the app keeps to; 0 is once. The public platform refuses what
	// is faster, so only a platform without its limits is told of it: the double, in tests of many chats.
	Pace float64 `toml:"-" env:"-"`
}

// Defaults is the configuration of a program that configures nothing.
func Defaults() Config {
	return Config{Topics: true, GroupMention: chat.MentionOnly, SendFiles: true, LongAnswer: 20_000, MaxFile: 30 << 20, Lang: langAuto}
}

// Validate says everything that is wrong with the section at once.
func (c Config) Validate() error {
	var errs []error
	switch {
	case c.AppID == "":
		errs = append(errs, errors.New("[feishu] app_id is empty: copy the App ID (cli_...) from the app's page \"Credentials & Basic Info\""))
	case !strings.HasPrefix(c.AppID, "cli_"):
		errs = append(errs, fmt.Errorf("[feishu] app_id %q is not an App ID: it begins with cli_", c.AppID))
	}
	if c.AppSecret == "" {
		errs = append(errs, errors.New("[feishu] app_secret is empty: copy the App Secret from the app's page \"Credentials & Basic Info\""))
	}
	if u, err := url.Parse(c.baseURL()); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		errs = append(errs, errors.New("[feishu] base_url is not an address: leave it empty for Feishu, write \"lark\" for Lark, or a URL such as "+hostFeishu))
	}
	if c.GroupMention != "" && !c.GroupMention.Known() {
		errs = append(errs, fmt.Errorf("[feishu] group_mention %q: want mention, all or commands", c.GroupMention))
	}
	if !slices.Contains([]string{"", langAuto, "zh", "en"}, c.Lang) {
		errs = append(errs, fmt.Errorf("[feishu] lang %q: want auto, zh or en", c.Lang))
	}
	if c.LongAnswer < 0 {
		errs = append(errs, errors.New("[feishu] answer_file_chars: want 0 or more"))
	}
	if c.MaxFile > biggestFile {
		errs = append(errs, fmt.Errorf("[feishu] max_file_size %d bytes: the platform gives out 100MB at most", c.MaxFile))
	}
	if c.Pace < 0 {
		errs = append(errs, fmt.Errorf("[feishu] pace %v: want 0 or more", c.Pace))
	}
	return errors.Join(errs...)
}

// langAuto is the [Config.Lang] of a bot that speaks as each chat does.
const langAuto = "auto"

// Spoken is the language in which all chats are spoken to; empty = each as it speaks.
func (c Config) Spoken() string {
	if c.Lang == langAuto {
		return ""
	}
	return c.Lang
}

// NewLang is the language in which a chat is spoken to where nobody has spoken yet: the platform does not tell that of
// a user.
func (c Config) NewLang() string {
	if c.baseURL() == hostLark {
		return "en"
	}
	return "zh"
}

// publicAckWait is how long the public platform waits (page "Event subscription overview").
const publicAckWait = 3 * time.Second

// patience is how many times as long as usual those wait who must be answered soon, so that the platform still gets its
// acknowledgement.
func (c Config) patience() time.Duration { return max(1, c.AckWait/publicAckWait) }

// api is what the HTTP client must know.
func (c Config) api() openapi.Config {
	return openapi.Config{BaseURL: c.baseURL(), AppID: c.AppID, AppSecret: c.AppSecret, Pace: c.pace(), Rest: c.Rest}
}

func (c Config) pace() float64 {
	if c.Pace == 0 {
		return 1
	}
	return c.Pace
}

func (c Config) baseURL() string {
	switch strings.ToLower(c.BaseURL) {
	case "", "feishu":
		return hostFeishu
	case "lark":
		return hostLark
	default:
		return strings.TrimRight(c.BaseURL, "/")
	}
}
