package feishu

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// The two public hosts of the platform. A tenant exists on one of them only.
const (
	hostFeishu = "https://open.feishu.cn"
	hostLark   = "https://open.larksuite.com"
)

// Config is the [feishu] section.
type Config struct {
	AppID     string `toml:"app_id" env:"APP_ID"`
	AppSecret string `toml:"app_secret" env:"APP_SECRET"`
	// BaseURL is the address of the platform: empty for Feishu, "lark" for the international one, or a URL.
	BaseURL string `toml:"base_url" env:"BASE_URL"`
	// Topics makes each topic of a chat a chat of its own. Without it all topics share the chat's History.
	Topics bool `toml:"topics" env:"TOPICS"`
	// AnswerBots accepts messages of other bots when they mention this one.
	AnswerBots bool `toml:"answer_bots" env:"ANSWER_BOTS"`
	// WholeCards redraws cards as a whole with each change, for a platform that accepts smaller updates and does not show
	// them.
	WholeCards bool `toml:"whole_cards" env:"WHOLE_CARDS"`
	// GroupMention is the default rule for which group messages are for the bot.
	GroupMention chat.MentionRule `toml:"group_mention" env:"GROUP_MENTION"`
	// SendFiles gives agents a tool to send files of their project.
	SendFiles bool `toml:"send_files" env:"SEND_FILES"`
	// File is the path of this configuration's file, which is never sent to a chat. Empty = there is none.
	File string `toml:"-" env:"-"`
	// LongAnswer is the length in characters from which an answer also comes as a Markdown file; 0 = never.
	LongAnswer int `toml:"answer_file_chars" env:"ANSWER_FILE_CHARS"`
	// NotifyAfter is how long an answer must have taken for its asker to be mentioned; 0 = never.
	NotifyAfter configtype.Duration `toml:"notify_after" env:"NOTIFY_AFTER"`
	// MaxFile is the size up to which files are downloaded; 0 = no file is.
	MaxFile Size `toml:"max_file_size" env:"MAX_FILE_SIZE"`
	// Lang is the bot's language: zh, en, or auto for the language of each chat.
	Lang string `toml:"lang" env:"LANG"`
	// CircuitTimeout is how long the circuit breaker stays open; 0 is half a minute. Tests use less.
	CircuitTimeout time.Duration `toml:"-" env:"-"`
	// NameWait is how long a message waits for its author's name, which the platform has to look up; 0 is 150 ms. Tests
	// on a busy machine use more.
	NameWait time.Duration `toml:"-" env:"-"`
	// AckTimeout is how long the platform waits for the acknowledgement of an event; 0 is the public platform's 3 s.
	// The double waits longer in tests on a busy machine.
	AckTimeout time.Duration `toml:"-" env:"-"`
	// Pace multiplies the public platform's rate limits, which the client keeps; 0 means 1. The public platform refuses
	// faster calls, so only tests set it, with a double without such limits.
	Pace float64 `toml:"-" env:"-"`
}

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{
		Topics: true, GroupMention: chat.MentionOnly, SendFiles: true, LongAnswer: 20_000, MaxFile: 30 << 20,
		Lang: langAuto, NotifyAfter: configtype.Duration{Duration: 2 * time.Minute},
	}
}

// Validate reports all mistakes of the section at once.
func (c Config) Validate() error {
	var errs []error
	switch {
	case c.AppID == "":
		errs = append(errs, i18n.Mistakef(
			"[feishu] app_id 是空的：从应用的“凭证与基础信息”页复制 App ID（cli_…）",
			"[feishu] app_id is empty: copy the App ID (cli_...) from the app's page \"Credentials & Basic Info\""))
	case configtype.IsPlaceholder(c.AppID):
		errs = append(errs, i18n.Mistakef(
			"[feishu] app_id %q 只是示例：从应用的“凭证与基础信息”页复制 App ID，或运行 magpie setup",
			"[feishu] app_id %q is an example: copy the App ID from the app's page \"Credentials & Basic Info\", or run magpie setup",
			c.AppID))
	case !IsAppID(c.AppID):
		errs = append(errs, i18n.Mistakef("[feishu] app_id %q 不是 App ID：应为 cli_ 加字母和数字",
			"[feishu] app_id %q is not an App ID: it must be cli_ and then letters and digits", c.AppID))
	}
	switch {
	case configtype.IsPlaceholder(c.AppSecret):
		errs = append(errs, i18n.Mistakef(
			"[feishu] app_secret 只是示例：从应用的“凭证与基础信息”页复制 App Secret，或运行 magpie setup",
			"[feishu] app_secret is an example: copy the App Secret from the app's page \"Credentials & Basic Info\", or run magpie setup"))
	case c.AppSecret == "":
		errs = append(errs, i18n.Mistakef(
			"[feishu] app_secret 是空的：从应用的“凭证与基础信息”页复制 App Secret",
			"[feishu] app_secret is empty: copy the App Secret from the app's page \"Credentials & Basic Info\""))
	}
	if !IsBaseURL(c.BaseURL) {
		errs = append(errs, i18n.Mistakef(
			"[feishu] base_url 不是地址：飞书留空，Lark 写 \"lark\"，或者写 %s 这样的地址",
			"[feishu] base_url is not an address: leave it empty for Feishu, write \"lark\" for Lark, or a URL such as %s", hostFeishu))
	}
	if c.GroupMention != "" && !c.GroupMention.IsValid() {
		errs = append(errs, i18n.Mistakef("[feishu] group_mention %q：应为 mention、all 或 commands",
			"[feishu] group_mention %q: must be mention, all or commands", c.GroupMention))
	}
	if !slices.Contains([]string{"", langAuto, "zh", "en"}, c.Lang) {
		errs = append(
			errs, i18n.Mistakef("[feishu] lang %q：应为 auto、zh 或 en", "[feishu] lang %q: must be auto, zh or en", c.Lang),
		)
	}
	if c.LongAnswer < 0 {
		errs = append(errs, i18n.Mistakef("[feishu] answer_file_chars：不能是负数",
			"[feishu] answer_file_chars: must be 0 or more"))
	}
	if c.NotifyAfter.Duration < 0 {
		errs = append(errs, i18n.Mistakef("[feishu] notify_after：不能是负数", "[feishu] notify_after: must be 0 or more"))
	}
	if c.MaxFile > maxDownload {
		errs = append(errs, i18n.Mistakef("[feishu] max_file_size %d MB：飞书只能下载不超过 100 MB 的文件",
			"[feishu] max_file_size %d MB: Feishu serves files of up to 100 MB", int64(c.MaxFile)>>20))
	}
	if c.Pace < 0 {
		errs = append(errs, i18n.Mistakef("[feishu] pace %v：不能是负数", "[feishu] pace %v: must be 0 or more", c.Pace))
	}
	return errors.Join(errs...)
}

// appIDForm matches App IDs.
var appIDForm = regexp.MustCompile(`^cli_[\w-]+$`)

// IsAppID reports whether a text has the form of an App ID, and is none of an example.
func IsAppID(id string) bool { return appIDForm.MatchString(id) && !configtype.IsPlaceholder(id) }

// IsBaseURL reports whether a text can be a [Config.BaseURL].
func IsBaseURL(text string) bool {
	u, err := url.Parse(Config{BaseURL: text}.baseURL())
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// langAuto is the [Config.Lang] with which the bot uses the language of each chat.
const langAuto = "auto"

// FixedLang is the language for all chats; empty = each chat has its own.
func (c Config) FixedLang() string {
	if c.Lang == langAuto {
		return ""
	}
	return c.Lang
}

// DefaultLang is the language for a chat without messages. The platform does not report a user's language.
func (c Config) DefaultLang() string {
	if c.baseURL() == hostLark {
		return "en"
	}
	return "zh"
}

// PlatformName is what people call the platform, as an argument of a text. In Chinese text a Latin word has a space
// before it.
func (c Config) PlatformName() error {
	if c.baseURL() == hostLark {
		return i18n.Mistakef(" Lark", "Lark")
	}
	return i18n.Mistakef("飞书", "Feishu")
}

// HasOwnAddress reports whether BaseURL is the address of a server, not the name of one of the two public platforms.
func (c Config) HasOwnAddress() bool {
	return !slices.Contains([]string{hostFeishu, hostLark}, c.baseURL())
}

// publicAckWait is the public platform's timeout for acknowledgements (page "Event subscription overview").
const publicAckWait = 3 * time.Second

// timeoutFactor is the factor by which all timeouts on the path of an event grow when the platform waits longer than
// usual for its acknowledgement.
func (c Config) timeoutFactor() time.Duration { return max(1, c.AckTimeout/publicAckWait) }

// apiConfig returns the configuration of the HTTP client.
func (c Config) apiConfig() openapi.Config {
	return openapi.Config{
		BaseURL: c.baseURL(), AppID: c.AppID, AppSecret: c.AppSecret, Pace: c.pace(), CircuitTimeout: c.CircuitTimeout,
	}
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
