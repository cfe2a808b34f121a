package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keys lists the keys that the file may have, as the READMEs write them.
func keys() (list []string) {
	sections := reflect.TypeFor[Config]()
	for i := range sections.NumField() {
		section := sections.Field(i)
		switch name := section.Tag.Get("toml"); {
		case name == "-":
		case section.Type.Kind() == reflect.Map:
			list = append(list, "["+name+"]")
		case section.Tag.Get("envPrefix") == "": // a key of no section
			list = append(list, name)
		default:
			for j := range section.Type.NumField() {
				switch f := section.Type.Field(j); {
				case f.Tag.Get("toml") == "-":
				case f.Type.Kind() == reflect.Map:
					list = append(list, "["+name+"."+f.Tag.Get("toml")+"]")
				default:
					list = append(list, "["+name+"] "+f.Tag.Get("toml"))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

var (
	keyRow = regexp.MustCompile("(?m)^\\| ((?:`[^`|]+`(?:, |、)?)+) \\|")
	inTick = regexp.MustCompile("`([^`]+)`")
)

// described lists the keys in the table of a README that begins with this row. Of several keys in one row only the
// first has its section.
func described(page, firstRow string) (list []string) {
	_, page, _ = strings.Cut(page, firstRow)
	page, _, _ = strings.Cut(page, "\n\n")
	for _, row := range keyRow.FindAllStringSubmatch(page, -1) {
		section := ""
		for _, m := range inTick.FindAllStringSubmatch(row[1], -1) {
			key := m[1]
			if s, rest, ok := strings.Cut(key, "] "); ok {
				section, key = s+"] ", rest
			}
			list = append(list, section+key)
		}
	}
	slices.Sort(list)
	return list
}

// The tables in both READMEs name every key, and no other.
func TestTheREADMEsNameEveryKey(t *testing.T) {
	for name, firstRow := range map[string]string{
		"README.md": "| Key | Default | Meaning |", "README.zh.md": "| 键 | 默认值 | 含义 |",
	} {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		got, want := described(string(data), firstRow), keys()
		for _, key := range want {
			if !slices.Contains(got, key) {
				t.Errorf("%s does not describe %s", name, key)
			}
		}
		for _, key := range got {
			if !slices.Contains(want, key) {
				t.Errorf("%s describes %s, which does not exist", name, key)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s describes %d keys, there are %d", name, len(got), len(want))
		}
	}
}
