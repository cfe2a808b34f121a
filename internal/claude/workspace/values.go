package workspace

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// AutoCount is a configured number, such as that of processes, or [Auto]. The zero value is Auto.
type AutoCount int

// Auto leaves the number to the program.
const Auto AutoCount = 0

// auto is its form in the configuration.
const auto = "auto"

func (n AutoCount) String() string {
	if n == Auto {
		return auto
	}
	return strconv.Itoa(int(n))
}

// MarshalText implements encoding.TextMarshaler.
func (n AutoCount) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *AutoCount) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*n = Auto
		return nil
	}
	i, err := strconv.Atoi(string(text))
	if err != nil || i < 1 {
		return i18n.Mistakef(`应为 1 或更大的整数，或 "auto"`, `must be a whole number, 1 or more, or "auto"`)
	}
	*n = AutoCount(i)
	return nil
}

// KeepAlive is how long a process waits for its chat's next message: a configured time, or [AutoKeepAlive].
type KeepAlive struct{ time.Duration }

// AutoKeepAlive keeps processes as long as there is memory for them, two hours at most.
var AutoKeepAlive = KeepAlive{-1}

func (k KeepAlive) String() string {
	if k == AutoKeepAlive {
		return auto
	}
	return configtype.Duration{Duration: k.Duration}.String()
}

// MarshalText implements encoding.TextMarshaler.
func (k KeepAlive) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *KeepAlive) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*k = AutoKeepAlive
		return nil
	}
	var d configtype.Duration
	if err := d.UnmarshalText(text); err != nil {
		return i18n.Mistakef(`%v，或 "auto"`, `%v, or "auto"`, err)
	}
	if d.Duration < 0 {
		return errKeepAlive
	}
	k.Duration = d.Duration
	return nil
}

// errKeepAlive describes valid values of keep_alive.
var errKeepAlive = i18n.Mistakef(`不能是负数；也可以写 "auto"`, `must be 0 or more, or "auto"`)

// longestIdle is the default of how long a process waits for its chat's next message. It only uses memory that nothing
// else needs.
const longestIdle = 2 * time.Hour

// Wait is the duration itself.
func (k KeepAlive) Wait() time.Duration {
	if k == AutoKeepAlive {
		return longestIdle
	}
	return k.Duration
}

// Efforts are the CLI's levels of thinking effort.
var Efforts = []string{"low", "medium", "high", "xhigh", "max"}

// Aliases are model names that every version of the CLI knows.
var Aliases = []string{"opus", "sonnet", "haiku"}

// modelName matches possible names of models, such as "claude-sonnet-5" or "us.anthropic.claude-opus-4-8[1m]". Only the
// API knows whether a model exists.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,99}(\[[a-z0-9]{1,8}\])?$`)

// modelID matches the IDs of Anthropic's models, of which there are two forms: "claude-opus-4-8", and the older
// "claude-3-5-haiku". A date and a cloud's suffix may follow.
var modelID = regexp.MustCompile(`\bclaude-(?:(\d{1,2})(?:-(\d{1,2}))?-)?([a-z]+)(?:-(\d{1,2}))?(?:-(\d{1,2}))?(?:[-@:[]|$)`)

// ModelName is the common name of a model, such as "Opus 4.8"; for a model that is not Anthropic's, its ID.
func ModelName(id string) string {
	m := modelID.FindStringSubmatch(id)
	if m == nil {
		id, _, _ = strings.Cut(id, "[") // the rest is the size of its window
		return id
	}
	name := strings.ToUpper(m[3][:1]) + m[3][1:]
	if version := strings.Trim(m[1]+"."+m[2], "."); version != "" {
		return name + " " + version
	}
	return strings.TrimSpace(name + " " + strings.Trim(m[4]+"."+m[5], "."))
}

// MayUse reports whether a chat may choose the model: one of [Config.Models], or any name if there are none.
func (c Config) MayUse(model string) bool {
	if len(c.Models) > 0 {
		return slices.Contains(c.Models, model)
	}
	return modelName.MatchString(model)
}

// checkModels checks only the form of names: the CLI passes unknown names to the API, which knows more
// models than we do.
func (c Config) checkModels() (errs []error) {
	for _, m := range append([]string{c.Model}, c.Models...) {
		if m != "" && !modelName.MatchString(m) {
			errs = append(errs, i18n.Mistakef("[claude] model %q：没有这样的模型名",
				"[claude] model %q: no model has such a name", m))
		}
	}
	if c.Effort != "" && !slices.Contains(Efforts, c.Effort) {
		errs = append(errs, i18n.Mistakef("[claude] effort %q：应为 %s 之一",
			"[claude] effort %q: must be one of %s", c.Effort, i18n.Listing(Efforts)))
	}
	return errs
}

// safeCommands are the CLI's slash commands that only show something, or tidy up their own session. Others may change
// settings for everyone, or come from project files and grant themselves tools, so the operator must name the trusted
// ones.
var safeCommands = []string{"compact", "context", "cost", "usage"}

// SlashCommands are the CLI's slash commands that chats may use, without the slash.
type SlashCommands []string

// SlashCommands returns the safe commands and [Config.Commands].
func (c Config) SlashCommands() SlashCommands {
	return append(slices.Clone(safeCommands), c.Commands...)
}

var (
	slashName    = regexp.MustCompile(`^[a-zA-Z][\w:-]*$`)
	slashCommand = regexp.MustCompile(`^/([a-zA-Z][\w:-]*)(\s|$)`)
)

// Allow reports whether line begins with one of the commands, such as "/compact".
func (s SlashCommands) Allow(line string) bool {
	word := slashCommand.FindStringSubmatch(line)
	return word != nil && slices.Contains(s, word[1])
}

// validate rejects commands with which chats could change the settings of the CLI.
func (s SlashCommands) validate() (errs []error) {
	for _, name := range s {
		switch {
		case !slashName.MatchString(name):
			errs = append(errs, i18n.Mistakef("[claude] slash_commands：%q 不是命令名；不要写斜杠",
				"[claude] slash_commands: %q is not the name of a command; write it without the slash", name))
		case slices.Contains([]string{"config", "permissions", "login", "logout"}, strings.ToLower(name)):
			errs = append(errs, i18n.Mistakef("[claude] slash_commands：%q 会让聊天修改 CLI 的设置",
				"[claude] slash_commands: %q would let chats change the settings of the CLI", name))
		}
	}
	return errs
}
