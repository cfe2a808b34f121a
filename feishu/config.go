package feishu

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/feishu/openapi"
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
	// WholeCards redraws cards as a whole with each change, for a platform that accepts smaller updates and does not show
	// them.
	WholeCards bool `toml:"whole_cards" env:"WHOLE_CARDS"`
	// Topics makes each topic of a chat a chat of its own. Without it all topics share the chat's History.
	Topics bool `toml:"-" env:"-"`
	// AnswerBots accepts messages of other bots when they mention this one.
	AnswerBots bool `toml:"-" env:"-"`
	// Lang is the language for all chats: zh or en; empty = each chat has its own.
	Lang string `toml:"-" env:"-"`
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
