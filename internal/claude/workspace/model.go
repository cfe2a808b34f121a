package workspace

import (
	"regexp"
	"slices"
	"strings"

	"magpie/internal/i18n"
)

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
