package feishusim

import (
	"strings"
	"unicode/utf8"
)

// The rules for the parts of a card (doc: the pages of feishu-cards/card-json-v2-components).

// checkName records the name of a component; the callback of a press refers to components by their names.
func (c *cardCheck) checkName(tag string, n map[string]any) {
	name := text(n["name"])
	if name == "" || tag != "form" && !strings.Contains(interactiveTags, " "+tag+" ") {
		return
	}
	if c.names[name] {
		c.fail(RuleCard, codeCardForm, codeCardForm, "the name of a component is not unique: "+name)
	}
	c.names[name] = true
}

// form checks a form container: only at the root, with a submit button, all components named, and no table in it.
func (c *cardCheck) form(n map[string]any, depth int) {
	submit, bad := false, ""
	eachTag(n["elements"], func(tag string, el map[string]any) {
		switch {
		case tag == "table":
			bad = "a form holds no table"
		case strings.Contains(interactiveTags, " "+tag+" ") && text(el["name"]) == "":
			bad = "a component of a form needs a name: " + tag
		}
		submit = submit || submits(el)
	})
	switch {
	case depth > 0:
		bad = "a form stands only at the root"
	case text(n["name"]) == "":
		bad = "form name is empty"
	case bad == "" && !submit:
		bad = "a form without submit button"
	}
	if bad != "" {
		c.fail(RuleCard, codeCardForm, codeCardForm, bad)
	}
}

func submits(el map[string]any) bool {
	return el["form_action_type"] == "submit" || el["action_type"] == "form_submit"
}

// part checks a component by its own page.
func (c *cardCheck) part(tag string, n map[string]any) {
	switch tag {
	case "collapsible_panel":
		title := text(member(n, "header", "title", "tag"))
		_, list := n["elements"].([]any)
		if title != tagPlainText && title != tagMarkdown ||
			text(member(n, "header", "title", "content")) == "" || !list {
			c.fail(RuleCard, codeCardJSON, codeKitParam, "a panel needs a title and elements")
		}
	case "select_static", "multi_select_static":
		c.options(n)
	case "input":
		c.input(n)
	case "button":
		if kind, ok := n["form_action_type"]; ok && (c.forms == 0 || kind != "submit" && kind != "reset") {
			c.fail(RuleCard, codeCardForm, codeCardForm, "a button that submits or resets belongs into a form")
		}
	}
}

// options checks the choices of a select: two with one value could not be told apart in the callback.
func (c *cardCheck) options(n map[string]any) {
	options, _ := n["options"].([]any)
	values := make(map[string]bool)
	for _, o := range options {
		value := text(member(o, "value"))
		if value == "" || values[value] || text(member(o, "text", "content")) == "" {
			c.fail(RuleCard, codeCardForm, codeCardForm, "an option needs a text and a value of its own")
			return
		}
		values[value] = true
	}
	if len(options) == 0 {
		c.fail(RuleCard, codeCardForm, codeCardForm, "a choice without options")
	}
}

var inputTypes = map[any]bool{nil: true, "text": true, "multiline_text": true, "password": true}

func (c *cardCheck) input(n map[string]any) {
	most, limited := n["max_length"].(float64)
	switch {
	case utf8.RuneCountInString(text(n["default_value"])) > maxInputText, limited && (most < 1 || most > maxInputText):
		c.fail(RuleCard, codeCardExceeds, codeKitParam, "the text of an input is too long")
	case !inputTypes[n["input_type"]]:
		c.fail(RuleCard, codeCardForm, codeCardForm, "unknown input_type "+text(n["input_type"]))
	}
}
