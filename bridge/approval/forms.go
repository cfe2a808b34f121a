package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"magpie/db"
	"magpie/internal/claude/stream"
	"magpie/internal/i18n"
)

// form is what an MCP server wants to know from people: each field of its schema is a question. Without questions they
// answer on a page, or only agree.
type form struct {
	server, message string
	link            *url.URL // nil = there is none
	questions       []question
}

// formField is what a field of a form takes.
type formField struct {
	name        string
	kind        string // of the schema's types and formats
	optional    bool
	values      []json.RawMessage // of the options
	least, most *float64          // of a number; of the length of a text
}

// Limits of a form on one card.
const (
	maxFields  = 20
	maxChoices = 100
)

// formOf parses an MCP server's form, and rejects one that a card cannot show.
func formOf(input json.RawMessage, l i18n.Lang) (f form, err error) {
	v := gjson.ParseBytes(input)
	f.server, f.message = v.Get("server").String(), v.Get("message").String()
	if link := v.Get("url"); link.Exists() {
		f.link, err = url.Parse(link.String())
		if err != nil || f.link.Scheme != "https" && f.link.Scheme != "http" || f.link.Host == "" || f.link.User != nil {
			return form{}, errors.New("the address is none of a page")
		}
	}
	fields := v.Get("schema.properties").Map()
	if len(fields) > maxFields {
		return form{}, fmt.Errorf("the form has more than %d fields", maxFields)
	}
	needed := v.Get("schema.required").Array()
	v.Get("schema.properties").ForEach(func(name, schema gjson.Result) bool {
		required := slices.ContainsFunc(needed, func(n gjson.Result) bool { return n.String() == name.String() })
		q, ok := fieldQuestion(name.String(), schema, l)
		switch {
		case ok:
			q.field.optional = !required
			f.questions = append(f.questions, q)
		case required:
			err = fmt.Errorf("the form has a field of a kind that people cannot fill in: %s", name.String())
		}
		return err == nil
	})
	return f, err
}

// fieldQuestion is the question for a field of a form. ok is false if people cannot fill it in here.
func fieldQuestion(name string, schema gjson.Result, l i18n.Lang) (q question, ok bool) {
	title := schema.Get("title").String()
	if strings.TrimSpace(title) == "" {
		title = name
	}
	q.Header, q.Question = title, title
	if more := schema.Get("description").String(); strings.TrimSpace(more) != "" {
		q.Question += " — " + more
	}
	q.field = &formField{name: name, kind: schema.Get("type").String()}
	for _, t := range schema.Get("type").Array() { // it may be one of several
		if schema.Get("type").IsArray() && t.String() != "null" {
			q.field.kind = t.String()
			break
		}
	}
	choices := schema
	if q.field.kind == "array" {
		q.Several, choices = true, schema.Get("items")
	}
	switch q.addOptions(choices); {
	case len(q.Options) > maxChoices:
		return q, false
	case len(q.Options) > 0:
		return q, true
	}
	switch q.field.kind {
	case "boolean":
		q.addOption(i18n.FormYes.In(l), json.RawMessage("true"))
		q.addOption(i18n.FormNo.In(l), json.RawMessage("false"))
	case "number", "integer":
		q.field.least, q.field.most = number(schema.Get("minimum")), number(schema.Get("maximum"))
	case "string":
		q.field.least, q.field.most = number(schema.Get("minLength")), number(schema.Get("maxLength"))
		if f := schema.Get("format").String(); formats[f] != nil {
			q.field.kind = f
		}
	default:
		return q, false
	}
	return q, true
}

// addOptions adds the values that a schema lists, with their titles.
func (q *question) addOptions(schema gjson.Result) {
	for i, v := range schema.Get("enum").Array() {
		label := schema.Get("enumNames." + strconv.Itoa(i)).String()
		if label == "" {
			label = v.String()
		}
		q.addOption(label, json.RawMessage(v.Raw))
	}
	for _, list := range []string{"oneOf", "anyOf"} {
		for _, o := range schema.Get(list).Array() {
			value, label := o.Get("const"), o.Get("title").String()
			if !value.Exists() {
				continue
			}
			if label == "" {
				label = value.String()
			}
			q.addOption(label, json.RawMessage(value.Raw))
		}
	}
}

// addOption adds an option. Its label is unique, since the chosen ones are known by it.
func (q *question) addOption(label string, value json.RawMessage) {
	for q.optionIndex(label) >= 0 {
		label += " (" + string(value) + ")"
	}
	q.Options = append(q.Options, option{Label: label})
	q.field.values = append(q.field.values, value)
}

func (q question) optionIndex(label string) int {
	return slices.IndexFunc(q.Options, func(o option) bool { return o.Label == label })
}

func number(v gjson.Result) *float64 {
	if v.Type != gjson.Number {
		return nil
	}
	n := v.Float()
	return &n
}

// format checks a text of a kind.
type format struct {
	wanted i18n.Phrase
	valid  func(string) bool
}

var formats = map[string]*format{
	"email": {i18n.FormEmail, func(s string) bool { a, err := mail.ParseAddress(s); return err == nil && a.Address == s }},
	"uri":   {i18n.FormAddress, func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() }},
	"date":  {i18n.FormDate, func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }},
	"date-time": {i18n.FormTime, func(s string) bool {
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	}},
	"number": {i18n.FormNumber, func(s string) bool { return json.Valid([]byte(s)) && isNumber(s) }},
	"integer": {i18n.FormInteger, func(s string) bool {
		_, err := strconv.ParseInt(s, 10, 64)
		return err == nil && json.Valid([]byte(s))
	}},
}

func isNumber(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil }

// wanted describes what the field takes.
func (f formField) wanted(l i18n.Lang) string {
	text, least, most := i18n.FormText.In(l), i18n.FormLeastLong, i18n.FormMostLong
	if known := formats[f.kind]; known != nil {
		text = known.wanted.In(l)
	}
	if f.isNumber() {
		least, most = i18n.FormLeast, i18n.FormMost
	}
	if f.least != nil {
		text += least.Sprintf(l, strconv.FormatFloat(*f.least, 'f', -1, 64))
	}
	if f.most != nil {
		text += most.Sprintf(l, strconv.FormatFloat(*f.most, 'f', -1, 64))
	}
	return text
}

func (f formField) isNumber() bool { return f.kind == "number" || f.kind == "integer" }

// accepts reports whether the field takes a text.
func (f formField) accepts(text string) bool {
	if known := formats[f.kind]; known != nil && !known.valid(text) {
		return false
	}
	size := float64(utf8.RuneCountInString(text))
	if f.isNumber() {
		size, _ = strconv.ParseFloat(text, 64) // it is one
	}
	return (f.least == nil || size >= *f.least) && (f.most == nil || size <= *f.most)
}

// fill adds the value of the field to the answers of its form: the chosen options, or else a text. objection is what is
// missing or wrong.
func (q question) fill(to map[string]any, chosen []string, text string, l i18n.Lang) (objection string) {
	var values []json.RawMessage
	for _, label := range chosen {
		values = append(values, q.field.values[q.optionIndex(label)])
	}
	switch f := q.field; {
	case len(values) > 0 && q.Several:
		to[f.name] = values
	case len(values) > 0:
		to[f.name] = values[0]
	case text == "" && f.optional:
	case text == "" || len(q.Options) > 0:
		return fmt.Sprintf(i18n.ApprovalUnanswered.In(l), i18n.FirstLine(q.Header))
	case !f.accepts(text):
		return i18n.FormWrong.Sprintf(l, i18n.FirstLine(q.Header), f.wanted(l))
	case f.isNumber():
		to[f.name] = json.Number(text)
	default:
		to[f.name] = stream.BreakMarkup(text) // the server may show it to the agent
	}
	return ""
}

// optionNamed is the value on the card of the only question's option with that label, in either language.
func optionNamed(a db.Approval, label string, l i18n.Lang) (value string, ok bool) {
	list, err := questionsOf(a.Tool, a.Input, l)
	if err != nil || len(list) != 1 {
		return "", false
	}
	i := slices.IndexFunc(list[0].Options, func(o option) bool { return strings.EqualFold(o.Label, strings.TrimSpace(label)) })
	return strconv.Itoa(i), i >= 0
}

// formText describes a form for people. The server's words are plain; an address is shown in full, so that they see
// where it leads.
func formText(a db.Approval, l i18n.Lang) (title, body string) {
	f, err := formOf(a.Input, l)
	if err != nil { // only readable requests are shown
		return i18n.ApprovalAsksQuestion.In(l), i18n.CodeBlock("json", string(a.Input))
	}
	parts := []string{i18n.PlainText(f.message)}
	if f.link != nil {
		address := strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\\", "%5C").Replace(f.link.String())
		parts = append(parts, i18n.FormLink.In(l)+"\n["+i18n.PlainText(f.link.Host)+"]("+address+")\n"+i18n.InlineCode(address))
	}
	if len(f.questions) > 0 {
		parts = append(parts, questionBody(a, l))
	}
	return i18n.FormAsks.Sprintf(l, i18n.Visible(f.server)), strings.Join(parts, "\n\n")
}
