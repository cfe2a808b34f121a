package i18n

import (
	"strings"

	"github.com/caarlos0/env/v11"
)

// OfLocale is the language of the locale that an environment names (locale(7): the first of these variables that is set
// counts): Chinese or English, and English when it names none.
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
