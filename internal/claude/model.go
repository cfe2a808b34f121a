package claude

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Efforts are the CLI's levels of thinking effort.
var Efforts = []string{"low", "medium", "high", "xhigh", "max"}

// Aliases are model names that every version of the CLI knows.
var Aliases = []string{"opus", "sonnet", "haiku"}

// modelName matches possible names of models, such as "claude-sonnet-5" or "us.anthropic.claude-opus-4-8[1m]". Only the
// API knows whether a model exists.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,99}(\[[a-z0-9]{1,8}\])?$`)

// MayUse reports whether a chat may choose the model: one of [Config.Models], or any name when there are none.
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
			errs = append(errs, fmt.Errorf("[claude] model %q: no model has such a name", m))
		}
	}
	if c.Effort != "" && !slices.Contains(Efforts, c.Effort) {
		errs = append(errs, fmt.Errorf("[claude] effort %q: want one of %s", c.Effort, strings.Join(Efforts, ", ")))
	}
	return errs
}
