package config

import (
	"bytes"
	"encoding"
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"magpie/internal/configtype"
	"magpie/internal/text"
)

// byteOrderMark is what Windows editors put before the text of a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Decode parses a file's text into c. It rejects unknown keys, and shows the line. Messages contain no values, which
// may be secrets.
func Decode(data []byte, c *Config) error {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if err := checkValues(data); err != nil {
		return err
	}
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(c)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		var errs []error
		for _, e := range strict.Errors {
			row, _ := e.Position()
			errs = append(errs, lineError(data, row,
				configtype.Mistakef("没有 %s 这个键%v", "unknown key %s%v", strings.Join(e.Key(), "."), suggest(e.Key()))))
		}
		return errors.Join(errs...)
	case errors.As(err, &bad):
		row, column := bad.Position()
		return lineError(data, row, explainDecode(bad, runeAt(data, row, column)))
	case err != nil:
		return errNotTOML
	}
	return nil
}

// checkValues reports every value that is not valid for its key's type. The decoder would stop at the first, would
// report a bare number without its line, and would report the others in English only. What checkValues cannot parse is
// left to the decoder.
func checkValues(data []byte) error {
	var p unstable.Parser
	p.Reset(data)
	var section []string
	var errs []error
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			section = keyOf(nil, e)
		case unstable.KeyValue:
			errs = append(errs, checkValue(&p, section, e))
		default:
		}
	}
	if p.Error() != nil {
		return nil
	}
	return errors.Join(errs...)
}

// keyOf is the full key of an expression in a section.
func keyOf(section []string, e *unstable.Node) []string {
	key := append([]string{}, section...)
	for it := e.Key(); it.Next(); {
		key = append(key, string(it.Node().Data))
	}
	return key
}

// checkValue is [checkValues] for one key, or for those of an inline table.
func checkValue(p *unstable.Parser, section []string, e *unstable.Node) error {
	key, value := keyOf(section, e), e.Value()
	given := string(value.Data)
	switch value.Kind {
	case unstable.InlineTable:
		var errs []error
		for it := value.Children(); it.Next(); {
			errs = append(errs, checkValue(p, key, it.Node()))
		}
		return errors.Join(errs...)
	case unstable.Array:
		return nil
	case unstable.Integer: // may be written as 1_000 or 0x10
		if n, err := strconv.ParseInt(given, 0, 64); err == nil {
			given = strconv.FormatInt(n, 10)
		}
	default:
	}
	t, ok := typeOf(key)
	if !ok {
		return nil
	}
	typed, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler)
	if !ok {
		return nil
	}
	if err := typed.UnmarshalText([]byte(given)); err != nil {
		return lineError(p.Data(), p.Shape(value.Raw).Start.Line, keyError(key, err))
	}
	return nil
}

// typeOf is the type of a key of the file.
func typeOf(key []string) (reflect.Type, bool) {
	t := reflect.TypeFor[Config]()
	for _, name := range key {
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			f, ok := t.FieldByNameFunc(func(field string) bool {
				f, _ := t.FieldByName(field)
				return f.Tag.Get("toml") == name
			})
			if !ok || name == "-" {
				return nil, false
			}
			t = f.Type
		default:
			return nil, false
		}
	}
	return t, true
}

// wrongType matches the decoder's message with Go types, which an operator does not know.
var wrongType = regexp.MustCompile(`^toml: cannot decode TOML ([a-z -]+?) into (?:struct field \S+ of type )?(\S+)$`)

// inWords names the types of values for an operator.
var inWords = map[string]error{
	"string":   configtype.Mistakef("引号里的文字", "text in quotes"),
	"[]string": configtype.Mistakef(`列表，例如 ["one", "two"]`, `a list, as in ["one", "two"]`),
	"bool":     configtype.Mistakef("开关（true 或 false）", "true or false"),
	"int":      configtype.Mistakef("整数", "a whole number"),
	"int64":    configtype.Mistakef("整数", "a whole number"),
	"float64":  configtype.Mistakef("数字", "a number"),
}

// tomlTypes are the format's own types of the actual value.
var tomlTypes = map[string]error{
	"string":       configtype.Mistakef("文字", "text"),
	"integer":      configtype.Mistakef("整数", "a whole number"),
	"float":        configtype.Mistakef("小数", "a decimal number"),
	"boolean":      configtype.Mistakef("开关（true 或 false）", "true or false"),
	"array":        configtype.Mistakef("列表", "a list"),
	"table":        configtype.Mistakef("一节", "a section"),
	"inline table": configtype.Mistakef("花括号里的表", "a table in braces"),
}

// errNotTOML is the error for anything without a better explanation.
var errNotTOML = configtype.Mistakef("这一行不符合 TOML 格式", "this is not valid TOML")

// complaints maps the decoder's errors about the format to ours; the first match counts.
var complaints = []struct {
	words []string
	say   error
}{
	{[]string{"expected newline"}, configtype.Mistakef(
		"后面有多余的内容；每个键各占一行", "there is more than belongs here; each key has a line of its own")},
	{[]string{"U+000A", "U+000D", "expected value"}, configtype.Mistakef("缺少值", "a value is missing")},
	{[]string{"cannot have new lines", "unterminated", "not terminated"},
		configtype.Mistakef("缺少右引号", "the closing quote is missing")},
	{[]string{"escape", "need a character after"}, configtype.Mistakef(
		`双引号里的反斜杠要写两个（\\），或者改用单引号，例如 'C:\work'`,
		`a backslash in double quotes must be doubled (\\), or use single quotes, as in 'C:\work'`)},
	{[]string{"at start of value", "must be quoted", "expected keyword"}, configtype.Mistakef(
		"这个值无效；文字要加引号，开关写 true 或 false", "this value is not valid; text must be in quotes, a switch is true or false")},
	{[]string{"'=' after key"}, configtype.Mistakef(
		"键后面要有等号，例如 key = \"value\"", "a key must be followed by an equals sign, as in key = \"value\"")},
	{[]string{"to close table name", "to close array table name"}, configtype.Mistakef(
		"节名要用方括号括起来，例如 [claude]", "the name of a section must be in brackets, as in [claude]")},
	{[]string{"array is incomplete", "after array value"}, configtype.Mistakef(
		"列表里缺少逗号，或结尾缺少 ]", "a comma is missing in the list, or the ] at its end")},
	{[]string{"after inline table key-value", "table is incomplete", "in inline table"}, configtype.Mistakef(
		"花括号里的逗号不对，或结尾缺少 }", "the commas in the braces are wrong, or the } at their end is missing")},
	{[]string{"start of key", "expected key"}, configtype.Mistakef(
		"这里应该是键或 [节]；键只能用英文字母、数字、- 和 _", "a key or a [section] must be here; keys are letters a to z, digits, - and _")},
	{[]string{"UTF-8"}, configtype.Mistakef(
		"文件不是 UTF-8 编码，请用 UTF-8 保存", "the file is not in UTF-8: save it in this encoding",
	)},
	{[]string{"should be a table", "store a table in"}, configtype.Mistakef("这是一个键，不是一节", "this is a key, not a section")},
	{[]string{"array table"}, configtype.Mistakef(
		"节名只用一层方括号，例如 [claude]", "a section has single brackets, as in [claude]",
	)},
	{[]string{"number", "digit", "leading zeroes", "decimal", "exponent", "radix"},
		configtype.Mistakef("这个数字无效", "this number is not valid")},
}

// fullWidth are characters of Chinese input methods that look like those of the format.
const fullWidth = "“”‘’＂＇＝［］【】｛｝，：＃"

// explainDecode describes an error in the terms of the file format; at is the character at which the decoder stopped.
func explainDecode(bad *toml.DecodeError, at rune) error {
	complaint := bad.Error()
	if m := wrongType.FindStringSubmatch(complaint); m != nil {
		given, ok := tomlTypes[m[1]]
		if !ok {
			given = configtype.Mistakef("日期或时间", "a date or a time")
		}
		if want, ok := inWords[m[2]]; ok {
			return keyError(bad.Key(), configtype.Mistakef("应为%v，而不是%v", "must be %v, not %v", want, given))
		}
		return keyError(bad.Key(), configtype.Mistakef("类型不对：%v", "wrong type: %v", given))
	}
	if strings.ContainsRune(fullWidth, at) {
		return configtype.Mistakef("%q 是全角符号，请改用英文（半角）符号", "%q is a full-width character: use the plain one", string(at))
	}
	if strings.Contains(complaint, "already") {
		return configtype.Mistakef("%s 出现了两次", "%s appears twice", strings.Join(bad.Key(), "."))
	}
	for _, c := range complaints {
		for _, words := range c.words {
			if strings.Contains(complaint, words) {
				return c.say
			}
		}
	}
	return errNotTOML
}

// runeAt is the character at a position as the decoder counts it: from 1, in bytes.
func runeAt(data []byte, row, column int) rune {
	lines := bytes.Split(data, []byte("\n"))
	if row < 1 || row > len(lines) || column < 1 || column > len(lines[row-1]) {
		return utf8.RuneError
	}
	r, _ := utf8.DecodeRune(lines[row-1][column-1:])
	return r
}

// suggest names the key that an unknown one may stand for; nil if none is similar.
func suggest(key []string) error {
	known := keys()
	if len(key) == 1 { // a section, or a key outside of sections
		for i, k := range known {
			known[i], _, _ = strings.Cut(k, ".")
		}
	}
	if near, ok := text.Nearest(strings.Join(key, "."), known); ok {
		return configtype.Mistakef("，是不是 %s？", "; did you mean %s?", near)
	}
	// A key in the wrong section, or in none.
	for _, k := range keys() {
		if section, name, found := strings.Cut(k, "."); found && name == key[len(key)-1] {
			return configtype.Mistakef("，它属于 [%s]", "; it belongs to [%s]", section)
		}
	}
	return configtype.Mistakef("", "")
}

// keys are those of the file, as section.key.
func keys() (list []string) {
	for sections, i := reflect.TypeFor[Config](), 0; i < sections.NumField(); i++ {
		section := sections.Field(i)
		switch name := section.Tag.Get("toml"); {
		case name == "-":
		case section.Type.Kind() == reflect.Map || section.Tag.Get("envPrefix") == "":
			list = append(list, name)
		default:
			for j := range section.Type.NumField() {
				if key := section.Type.Field(j).Tag.Get("toml"); key != "-" {
					list = append(list, name+"."+key)
				}
			}
		}
	}
	return list
}

// keyError adds a key, as the file writes it, to an error.
func keyError(key []string, err error) error {
	if len(key) == 0 {
		return err
	}
	section, name := strings.Join(key[:len(key)-1], "."), key[len(key)-1]
	if section != "" {
		name = "[" + section + "] " + name
	}
	return configtype.Mistakef("%s：%v", "%s: %v", name, err)
}

// lineError adds the line and its number to an error, without the line's value.
func lineError(data []byte, row int, what error) error {
	line := ""
	if lines := bytes.Split(data, []byte("\n")); row >= 1 && row <= len(lines) {
		line = string(bytes.TrimSpace(lines[row-1]))
	}
	if key, _, ok := strings.Cut(line, "="); ok {
		line = strings.TrimSpace(key) + " = …"
	} else if i := strings.IndexAny(line, " :\t\"'"+fullWidth); i > 0 {
		line = line[:i] + " …" // a value may follow
	}
	return configtype.Mistakef("第 %d 行：%v\n%4d| %s", "line %d: %v\n%4d| %s", row, what, row, line)
}
