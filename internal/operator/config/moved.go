package config

import (
	"bytes"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"magpie/feishu"
	"magpie/internal/i18n"
)

// The keys of [chat] were once in [feishu], where they are still read.
const (
	newPlace, oldPlace   = "chat", "feishu"
	newPrefix, oldPrefix = EnvPrefix + "CHAT_", EnvPrefix + "FEISHU_"
)

// file is what the text of magpie.toml may hold: the configuration, and keys in their old place.
type file struct {
	Config
	Feishu feishuAndChat `toml:"feishu"`
}

type feishuAndChat struct {
	feishu.Config
	Chat
}

// chatKeys are the keys of [chat].
var chatKeys = func() (list []string) {
	for section, i := reflect.TypeFor[Chat](), 0; i < section.NumField(); i++ {
		list = append(list, section.Field(i).Tag.Get("toml"))
	}
	return list
}()

// moved is the place of a key, as section.key, and whether it is not the given one.
func moved(key string) (string, bool) {
	section, name, _ := strings.Cut(key, ".")
	if section != oldPlace || !slices.Contains(chatKeys, name) {
		return key, false
	}
	return newPlace + "." + name, true
}

// movedVariable is [moved] for the variable of a key.
func movedVariable(name string) (string, bool) {
	key, ok := strings.CutPrefix(name, oldPrefix)
	if !ok || !slices.Contains(chatKeys, strings.ToLower(key)) {
		return name, false
	}
	return newPrefix + key, true
}

// givenAs is the variable that sets a key: its own, or that of its old place.
func givenAs(vars map[string]string, name string) string {
	if key, ok := strings.CutPrefix(name, newPrefix); ok && vars[name] == "" && vars[oldPrefix+key] != "" {
		return oldPrefix + key
	}
	return name
}

// adopt moves what a file sets in an old place to c. A key in both places is a mistake.
func (f *file) adopt(c *Config, data []byte, found *decoding) {
	lines := map[string]int{}
	for key, line := range keyLines(found.text) {
		lines[strings.ToLower(key)] = line // as the decoder finds them
	}
	from, to := reflect.ValueOf(f.Feishu.Chat), reflect.ValueOf(&c.Chat).Elem()
	for i, key := range chatKeys {
		old, now := lines[oldPlace+"."+key], lines[newPlace+"."+key]
		switch {
		case old == 0:
		case now != 0:
			found.add(old, []string{oldPlace, key}, lineError(data, old, i18n.Mistakef(
				"[feishu] %s 现在属于 [chat]，那里的第 %d 行也设置了它：请删掉这一行",
				"[feishu] %s belongs to [chat] now, where line %d sets it as well: remove this line", key, now)))
		default:
			to.Field(i).Set(from.Field(i))
		}
	}
}

// adoptVariables returns vars with those of old places under their new names. A key with both is a mistake.
func adoptVariables(vars map[string]string) (_ map[string]string, errs []error) {
	adopted := maps.Clone(vars)
	for _, old := range oldVariables(vars) {
		now, _ := movedVariable(old)
		if vars[now] != "" {
			errs = append(errs, &VariableError{old, i18n.Mistakef(
				"它现在叫 %[1]s，而 %[1]s 也设置了：请只保留后者", "it is %[1]s now, which is set as well: keep only that one", now)})
			continue
		}
		adopted[now] = vars[old]
	}
	return adopted, errs
}

// oldVariables are those of vars that set a key in its old place.
func oldVariables(vars map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(vars)), func(name string) bool {
		_, old := movedVariable(name)
		return !old || vars[name] == ""
	})
}

// OldPlaces lists what sets a key in its old place: keys of the file at path, and variables of the environment.
func OldPlaces(path string, environ []string) (keys, variables []string) {
	data, _ := os.ReadFile(path) // without a file there are no keys
	lines := keyLines(bytes.TrimPrefix(data, byteOrderMark))
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		if _, old := moved(strings.ToLower(key)); old {
			keys = append(keys, strings.TrimPrefix(strings.ToLower(key), oldPlace+"."))
		}
	}
	return keys, oldVariables(env.ToMap(environ))
}
