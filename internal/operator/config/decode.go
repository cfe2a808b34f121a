package config

import (
	"bytes"
	"encoding"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"magpie/internal/i18n"
	"magpie/internal/text"
)

// byteOrderMark is what Windows editors put before the text of a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Decode parses a file's text into c. It rejects unknown keys, and shows the line. It reports all mistakes that do not
// follow from others. Messages contain no values, which may be secrets.
func Decode(data []byte, c *Config) error {
	found := decode(data, c)
	var errs []error
	for _, m := range found.mistakes {
		errs = append(errs, m.error)
	}
	return errors.Join(errs...)
}

// decoding is what is wrong with the text of a file.
type decoding struct {
	text     []byte // without what cannot be used; each line is where it was
	mistakes []mistake
	// the keys, as section.key, and sections of the mistakes: their values are not those that the operator wants
	wrong   map[string]bool
	stopped bool // behind the last mistake nothing could be read
}

// mistake is an error in a line of the file; 0 = the line is not known: the key may be missing.
type mistake struct {
	line int
	error
}

// add records a mistake in the value of a key.
func (d *decoding) add(line int, key []string, err error) {
	d.mistakes = append(d.mistakes, mistake{line, err})
	if full := strings.Join(key, "."); full != "" {
		d.wrong[full] = true
	}
}

// maxMistakes limits the mistakes of a file that are reported at once.
const maxMistakes = 50

// decode is [Decode]. It also reads keys in old places.
func decode(data []byte, c *Config) decoding {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if listsApps(data) {
		return decodeApps(data, c)
	}
	f := file{Config: *c}
	f.Feishu.Config = c.Feishu
	found := decodeFile(data, &f)
	*c = f.Config
	c.Feishu = f.Feishu.Config
	f.adopt(c, data, &found)
	return found
}

// decodeFile parses the text of a file. After a mistake it continues without the expression in which it was found.
func decodeFile[T any](data []byte, f *T) (found decoding) {
	found.wrong = map[string]bool{}
	rest := bytes.Clone(data)
	found.text = rest
	for len(found.mistakes) < maxMistakes {
		checkValues(data, rest, &found)
		read := *f
		err := toml.NewDecoder(bytes.NewReader(rest)).DisallowUnknownFields().Decode(&read)
		var strict *toml.StrictMissingError
		var bad *toml.DecodeError
		switch {
		case err == nil:
			*f = read
			return found
		case errors.As(err, &strict):
			*f = read
			for _, e := range strict.Errors {
				row, _ := e.Position()
				found.add(row, e.Key(), lineError(data, row,
					i18n.Mistakef("没有 %s 这个键%v", "unknown key %s%v", strings.Join(e.Key(), "."), suggest(e.Key()))))
				if near, ok := nearestKey(e.Key()); ok {
					found.wrong[near] = true
				}
			}
			return found
		case !errors.As(err, &bad):
			found.add(0, nil, errNotTOML)
			*f, found.stopped = read, true
			return found
		}
		row, column := bad.Position()
		if slices.ContainsFunc(found.mistakes, func(m mistake) bool { return m.line == row }) {
			found.stopped = true // something above is not closed
			blankFrom(rest, row)
			continue
		}
		found.add(row, keyAt(bad.Key(), rest, row), lineError(data, row, explainDecode(bad, runeAt(data, row, column))))
		// It is not known where a list or a table that is not closed should end.
		open := strings.Contains(bad.Error(), "array") || strings.Contains(bad.Error(), "inline table")
		if !blank(rest, row) && (open || !blankLine(rest, row)) {
			found.stopped = true
			blankFrom(rest, row)
		}
		if len(found.mistakes) >= maxMistakes {
			*f, found.stopped = read, true
		}
	}
	return found
}

// keyAt is the key of a mistake, or else the one that its row seems to set.
func keyAt(key []string, data []byte, row int) []string {
	if len(key) > 0 {
		return key
	}
	lines := bytes.Split(data, []byte("\n"))
	name, _, _ := strings.Cut(string(lines[min(row, len(lines))-1]), "=")
	key = []string{strings.TrimSpace(name)}
	for _, line := range slices.Backward(lines[:min(row, len(lines))-1]) {
		if section, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "["); ok {
			section, _, _ = strings.Cut(section, "]")
			return append(strings.Split(section, "."), key...)
		}
	}
	return key
}

// blank overwrites the key and the value at a row with spaces, so that what follows can be read without them. It
// returns false if they cannot be parsed.
func blank(data []byte, row int) bool {
	first, next := 0, bytes.Count(data, []byte("\n"))+2
	var p unstable.Parser
	p.Reset(bytes.Clone(data))
	for p.NextExpression() {
		e := p.Expression()
		it := e.Key()
		if !it.Next() {
			continue
		}
		line := p.Shape(it.Node().Raw).Start.Line
		switch {
		case line > row:
			next = min(next, line)
		case e.Kind == unstable.KeyValue:
			first = line
		default:
			first = 0 // a section
		}
	}
	var bad *unstable.ParserError
	switch errors.As(p.Error(), &bad); {
	case p.Error() == nil:
	case bad != nil && cap(bad.Highlight) > 0:
		next = min(next, p.Shape(p.Range(bad.Highlight)).Start.Line)
	default: // at the end of the text
		next = min(next, bytes.Count(data, []byte("\n"))+1)
	}
	if first == 0 || row >= next {
		return false
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, line := range lines[first-1 : min(next-1, len(lines))] {
		overwrite(line)
	}
	return true
}

// blankLine is [blank] for a line that cannot be parsed. It returns false if too little is known of what follows: to
// which section it belongs, or where a value of several lines ends.
func blankLine(data []byte, row int) bool {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if row < 1 || row > len(lines) {
		return false
	}
	line := bytes.TrimSpace(lines[row-1])
	for _, begin := range []string{"[", "【", "［"} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return false
		}
	}
	if len(line) == 0 || bytes.ContainsAny(line[len(line)-1:], "[{") ||
		bytes.Contains(line, []byte(`"""`)) || bytes.Contains(line, []byte("'''")) {
		return false
	}
	overwrite(lines[row-1])
	return true
}

// blankFrom is [blank] for all lines from a row on, and for those before it without which the rest cannot be parsed.
func blankFrom(data []byte, row int) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, line := range lines[min(row, len(lines))-1:] {
		overwrite(line)
	}
	for _, line := range slices.Backward(lines[:min(row, len(lines))-1]) {
		var p unstable.Parser
		p.Reset(data)
		for p.NextExpression() {
			continue
		}
		if p.Error() == nil {
			return
		}
		overwrite(line)
	}
}

// overwrite replaces a line by spaces.
func overwrite(line []byte) {
	for i, b := range line {
		if b != '\n' {
			line[i] = ' '
		}
	}
}

// checkValues reports every value that is not valid for its key's type, and removes it from rest. The decoder would
// stop at the first, would report a bare number without its line, and would report the others in English only. What
// checkValues cannot parse is left to the decoder.
func checkValues(data, rest []byte, found *decoding) {
	var p unstable.Parser
	p.Reset(bytes.Clone(rest))
	var section []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			section = keyOf(nil, e)
		case unstable.KeyValue:
			before := len(found.mistakes)
			checkValue(&p, data, section, e, found)
			if len(found.mistakes) > before {
				blank(rest, found.mistakes[before].line)
			}
		default:
		}
	}
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
func checkValue(p *unstable.Parser, data []byte, section []string, e *unstable.Node, found *decoding) {
	key, value := keyOf(section, e), e.Value()
	given := string(value.Data)
	switch value.Kind {
	case unstable.InlineTable:
		for it := value.Children(); it.Next(); {
			checkValue(p, data, key, it.Node(), found)
		}
		return
	case unstable.Array:
		return
	case unstable.Integer: // may be written as 1_000 or 0x10
		if n, err := strconv.ParseInt(given, 0, 64); err == nil {
			given = strconv.FormatInt(n, 10)
		}
	default:
	}
	t, ok := typeOf(key)
	if !ok {
		return
	}
	typed, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler)
	if !ok {
		return
	}
	if err := typed.UnmarshalText([]byte(given)); err != nil {
		row := p.Shape(value.Raw).Start.Line
		found.add(row, key, lineError(data, row, keyError(key, err)))
	}
}

// typeOf is the type of a key of the file.
func typeOf(key []string) (reflect.Type, bool) {
	t := reflect.TypeFor[Config]()
	if len(key) == 3 && key[0] == oldPlace { // as in [feishu.access]
		key = key[1:]
	}
	now, _ := moved(strings.Join(key, "."))
	for name := range strings.SplitSeq(now, ".") {
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
	"string":   i18n.Mistakef("引号里的文字", "text in quotes"),
	"[]string": i18n.Mistakef(`列表，例如 ["one", "two"]`, `a list, as in ["one", "two"]`),
	"bool":     i18n.Mistakef("开关（true 或 false）", "true or false"),
	"int":      i18n.Mistakef("整数", "a whole number"),
	"int64":    i18n.Mistakef("整数", "a whole number"),
	"float64":  i18n.Mistakef("数字", "a number"),

	"map[string]string": i18n.Mistakef(`名字和值，例如 { NAME = "value" }`,
		`names with their values, as in { NAME = "value" }`),
}

// tomlTypes are the format's own types of the actual value.
var tomlTypes = map[string]error{
	"string":       i18n.Mistakef("文字", "text"),
	"integer":      i18n.Mistakef("整数", "a whole number"),
	"float":        i18n.Mistakef("小数", "a decimal number"),
	"boolean":      i18n.Mistakef("开关（true 或 false）", "true or false"),
	"array":        i18n.Mistakef("列表", "a list"),
	"table":        i18n.Mistakef("一节", "a section"),
	"inline table": i18n.Mistakef("内联表", "an inline table"),
}

// errNotTOML is the error for anything without a better explanation.
var errNotTOML = i18n.Mistakef("这一行不符合 TOML 格式", "this is not valid TOML")

// complaints maps the decoder's errors about the format to ours; the first match counts.
var complaints = []struct {
	words []string
	say   error
}{
	{[]string{"expected newline"}, i18n.Mistakef(
		"后面有多余的内容；每个键各占一行", "there is more than belongs here; each key has a line of its own")},
	{[]string{"U+000A", "U+000D", "expected value"}, i18n.Mistakef("缺少值", "a value is missing")},
	{[]string{"cannot have new lines", "unterminated", "not terminated"},
		i18n.Mistakef("缺少右引号", "the closing quote is missing")},
	{[]string{"escape", "need a character after"}, i18n.Mistakef(
		`双引号里的反斜杠要写两个（\\），或者改用单引号，例如 'C:\work'`,
		`a backslash in double quotes must be doubled (\\), or use single quotes, as in 'C:\work'`)},
	{[]string{"at start of value", "must be quoted", "expected keyword"}, i18n.Mistakef(
		"这个值无效；文字要加引号，开关写 true 或 false", "this value is not valid; text must be in quotes, a switch is true or false")},
	{[]string{"'=' after key"}, i18n.Mistakef(
		"键后面要有等号，例如 key = \"value\"", "a key must be followed by an equals sign, as in key = \"value\"")},
	{[]string{"to close table name", "to close array table name"}, i18n.Mistakef(
		"节名要用方括号括起来，例如 [claude]", "the name of a section must be in brackets, as in [claude]")},
	{[]string{"array is incomplete", "after array value"}, i18n.Mistakef(
		"列表里缺少逗号，或结尾缺少 ]", "a comma is missing in the list, or the ] at its end")},
	{[]string{"after inline table key-value", "table is incomplete", "in inline table"}, i18n.Mistakef(
		"花括号里的逗号不对，或结尾缺少 }", "the commas in the braces are wrong, or the } at their end is missing")},
	{[]string{"start of key", "expected key"}, i18n.Mistakef(
		"这里应该是键或 [节]；键只能用英文字母、数字、- 和 _，其他文字的名字要加引号",
		"a key or a [section] must be here; keys are letters a to z, digits, - and _, other names must be in quotes")},
	{[]string{"UTF-8"}, i18n.Mistakef(
		"文件不是 UTF-8 编码，请用 UTF-8 保存", "the file is not in UTF-8: save it in this encoding",
	)},
	{[]string{"should be a table", "store a table in"}, i18n.Mistakef("这是一个键，不是一节", "this is a key, not a section")},
	{[]string{"array table"}, i18n.Mistakef(
		"节名只用一层方括号，例如 [claude]", "a section has single brackets, as in [claude]",
	)},
	{[]string{"number", "digit", "leading zeroes", "decimal", "exponent", "radix"},
		i18n.Mistakef("这个数字无效", "this number is not valid")},
}

// fullWidth are characters of Chinese input methods that look like those of the format.
const fullWidth = "“”‘’＂＇＝［］【】｛｝，：＃"

// explainDecode describes an error in the terms of the file format; at is the character at which the decoder stopped.
func explainDecode(bad *toml.DecodeError, at rune) error {
	complaint := bad.Error()
	if m := wrongType.FindStringSubmatch(complaint); m != nil {
		given, ok := tomlTypes[m[1]]
		if !ok {
			given = i18n.Mistakef("日期或时间", "a date or a time")
		}
		if want, ok := inWords[m[2]]; ok {
			return keyError(bad.Key(), i18n.Mistakef("应为%v，而不是%v", "must be %v, not %v", want, given))
		}
		return keyError(bad.Key(), i18n.Mistakef("类型不对：%v", "wrong type: %v", given))
	}
	if strings.ContainsRune(fullWidth, at) {
		return i18n.Mistakef("%q 是全角符号，请改用英文（半角）符号", "%q is a full-width character: use the plain one", string(at))
	}
	if strings.Contains(complaint, "already") {
		return i18n.Mistakef("%s 出现了两次", "%s appears twice", strings.Join(bad.Key(), "."))
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
	if near, ok := nearestKey(key); ok {
		return i18n.Mistakef("，是不是 %s？", "; did you mean %s?", near)
	}
	if len(key) > 1 && key[0] == oldPlace && slices.Contains([]string{"name", "projects", "access", "budget"}, key[1]) {
		return i18n.Mistakef("；多个应用要写成 [[feishu]]", "; for several apps write [[feishu]]")
	}
	// A key in the wrong section, or in none.
	for _, k := range keys() {
		if section, name, found := strings.Cut(k, "."); found && name == key[len(key)-1] {
			return i18n.Mistakef("，它属于 [%s]", "; it belongs to [%s]", section)
		}
	}
	return i18n.Mistakef("", "")
}

// nearestKey is the key or the section that an unknown one may stand for.
func nearestKey(key []string) (string, bool) {
	if len(key) == 3 && key[0] == oldPlace { // as in [feishu.access]
		near, ok := nearestKey(key[1:])
		return oldPlace + "." + near, ok
	}
	known := keys()
	if len(key) == 1 { // a section, or a key outside of sections
		for i, k := range known {
			known[i], _, _ = strings.Cut(k, ".")
		}
	}
	for _, k := range chatKeys {
		known = append(known, oldPlace+"."+k)
	}
	near, ok := text.Nearest(strings.Join(key, "."), known)
	near, _ = moved(near)
	return near, ok
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
	return i18n.Mistakef("%s：%v", "%s: %v", name, err)
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
	return i18n.Mistakef("第 %d 行：%v\n%4d| %s", "line %d: %v\n%4d| %s", row, what, row, line)
}
