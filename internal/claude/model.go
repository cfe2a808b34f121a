package claude

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Efforts are how hard a model can be told to think.
var Efforts = []string{"low", "medium", "high", "xhigh", "max"}

// Aliases are names of models that the CLI knows in every version.
var Aliases = []string{"opus", "sonnet", "haiku"}

// modelName is what can be the name of a model, such as "claude-sonnet-5" or "us.anthropic.claude-opus-4-8[1m]".
// Whether there is one of that name, only its API knows.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,99}(\[[a-z0-9]{1,8}\])?$`)

// MayUse reports whether a chat may choose the model: one of [Config.Models], or any name when there are none.
func (c Config) MayUse(model string) bool {
	if len(c.Models) > 0 {
		return slices.Contains(c.Models, model)
	}
	return modelName.MatchString(model)
}

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
