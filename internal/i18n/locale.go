package i18n

import (
	"strings"

	"github.com/caarlos0/env/v11"
)

// OfLocale is the language of the locale in an environment, Chinese or English; the default is English. As in
// locale(7), the first of these variables that is set counts.
func OfLocale(environ []string) Lang {
	vars := env.ToMap(environ)
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := vars[name]; v != "" {
			if strings.HasPrefix(strings.ToLower(v), "zh") {
				return Chinese
			}
			return English
		}
	}
	return English
}
