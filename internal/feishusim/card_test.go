package feishusim

import (
	"fmt"
	"strings"
	"testing"
)

func TestCardChecks(t *testing.T) {
	table := "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
	many := make([]any, 201)
	for i := range many {
		many[i] = markdown(fmt.Sprintf("e%d", i), "")
	}
	nested := obj{"tag": "column_set", "columns": []any{}}
	for range 6 {
		nested = obj{"tag": "interactive_container", "elements": []any{nested}}
	}
	form := func(els ...any) obj { return obj{"tag": "form", "name": "f", "elements": els} }
	submit := obj{
		"tag": "button", "name": "ok", "form_action_type": "submit", "text": obj{"tag": "plain_text", "content": "OK"},
	}
	choice := func(options ...any) obj { return obj{"tag": "select_static", "name": "c", "options": options} }
	option := func(value string) obj { return obj{"text": obj{"tag": "plain_text", "content": "x"}, "value": value} }
	panel := func(title string) obj {
		return obj{
			"tag": "collapsible_panel", "header": obj{"title": obj{"tag": "plain_text", "content": title}},
			"elements": []any{markdown("in", "x")},
		}
	}
	headed := func(header obj) obj {
		c := card(true, markdown("md", "x"))
		c["header"] = header
		return c
	}
	title := obj{"tag": "plain_text", "content": "title"}
	for _, color := range strings.Fields("default blue wathet turquoise green yellow orange red carmine violet purple indigo grey") {
		if f := checkCard(mustDecode(t, headed(obj{"title": title, "template": color})), nil); f != nil {
			t.Errorf("a header in %s: %+v", color, f)
		}
	}
	for name, row := range map[string]struct {
		inner, kit int
		rule       Rule
		card       obj
	}{
		"header in pink":       {codeCardJSON, codeKitParam, RuleCard, headed(obj{"title": title, "template": "pink"})},
		"header without title": {codeCardJSON, codeKitParam, RuleCard, headed(obj{"template": "blue"})},
		"good": {0, 0, "",
			card(true, markdown("md", strings.Repeat(table, 4)), form(obj{"tag": "input", "name": "i"}, submit))},
		"tag note": {codeCardTag, codeCardTag, RuleCard, card(false, obj{"tag": "note"})},
		"tag action": {codeCardTag, codeCardTag, RuleCard, card(false, obj{
			"tag": "action", "actions": []any{},
		})},
		"property unknown": {codeCardJSON, codeKitParam, RuleCard, card(false, obj{"tag": "markdown", "content": "x", "colour": "red"})},
		"value unknown": {codeCardJSON, codeKitParam, RuleCard, card(false, obj{
			"tag": "button", "type": "scary", "text": obj{"tag": "plain_text", "content": "x"},
		})},
		"tag unknown": {codeCardTag, codeCardTag, RuleCard, card(false, obj{"tag": "blink"})},
		"image URL": {codeCardImage, codeCardImage, RuleImage,
			card(false, markdown("md", "see ![x](https://x/y.png)"))},
		"image key unknown": {codeCardImage, codeCardImage, RuleImage, card(false, obj{
			"tag": "img", "img_key": "img_v3_none",
		})},
		"five tables in one": {codeCardExceeds, codeCardRefused, RuleTables,
			card(false, markdown("md", strings.Repeat(table, 5)))},
		"six tables in two": {codeCardExceeds, codeCardRefused, RuleTables,
			card(false, markdown("a", strings.Repeat(table, 3)), markdown("b", strings.Repeat(table, 3)))},
		"201 elements": {codeCardExceeds, codeKitElements, RuleElements, card(false, many...)},
		"id twice": {codeKitDuplicate, codeKitDuplicate, RuleCard,
			card(false, markdown("a", ""), markdown("a", ""))},
		"id malformed": {codeCardJSON, codeKitParam, RuleCard, card(false, markdown("1a", ""))},
		"id too long": {codeCardJSON, codeKitParam, RuleCard,
			card(false, markdown(strings.Repeat("a", 21), ""))},
		"not shared": {codeKitNotShared, codeKitNotShared, RuleCard, obj{
			"schema": "2.0", "config": obj{"update_multi": false}, "body": obj{"elements": []any{}},
		}},
		"elements outside body": {codeCardJSON, codeKitParam, RuleCard, obj{"schema": "2.0", "elements": []any{}}},
		"element without tag":   {codeCardJSON, codeKitParam, RuleCard, card(false, obj{"content": "x"})},
		"nested too deep":       {codeCardExceeds, codeKitParam, RuleCard, card(false, nested)},
		"button too long": {codeCardExceeds, codeKitParam, RuleCard,
			card(false, button(strings.Repeat("长", 101), obj{}))},
		"form without submit": {codeCardForm, codeCardForm, RuleCard, card(false, form(obj{
			"tag": "input", "name": "i",
		}))},
		"form without names": {codeCardForm, codeCardForm, RuleCard,
			card(false, form(obj{"tag": "input"}, submit))},
		"form inside": {codeCardForm, codeCardForm, RuleCard, card(false, obj{
			"tag": "collapsible_panel", "header": panel("p")["header"], "elements": []any{form(submit)},
		})},
		"form with a table": {codeCardForm, codeCardForm, RuleCard,
			card(false, form(obj{"tag": "table"}, submit))},
		"name twice": {codeCardForm, codeCardForm, RuleCard,
			card(false, form(obj{"tag": "input", "name": "ok"}, submit))},
		"name of another form": {codeCardForm, codeCardForm, RuleCard,
			card(false, form(submit), obj{"tag": "form", "name": "g", "elements": []any{submit}})},
		"submit without form": {codeCardForm, codeCardForm, RuleCard, card(false, submit)},
		"button of another kind": {codeCardForm, codeCardForm, RuleCard,
			card(false, form(obj{"tag": "button", "name": "x", "form_action_type": "send"}, submit))},
		"choice":               {0, 0, "", card(false, form(choice(option("a"), option("b")), submit))},
		"choice of nothing":    {codeCardForm, codeCardForm, RuleCard, card(false, form(choice(), submit))},
		"option without value": {codeCardForm, codeCardForm, RuleCard, card(false, form(choice(option("")), submit))},
		"option twice": {codeCardForm, codeCardForm, RuleCard,
			card(false, form(choice(option("a"), option("a")), submit))},
		"input of another kind": {codeCardForm, codeCardForm, RuleCard,
			card(false, form(obj{"tag": "input", "name": "i", "input_type": "essay"}, submit))},
		"input too long": {codeCardExceeds, codeKitParam, RuleCard,
			card(false, form(obj{"tag": "input", "name": "i", "max_length": 1001}, submit))},
		"panel":               {0, 0, "", card(true, panel("p"))},
		"panel without title": {codeCardJSON, codeKitParam, RuleCard, card(true, panel(""))},
		"panel without elements": {codeCardJSON, codeKitParam, RuleCard, card(true, obj{
			"tag": "collapsible_panel", "header": panel("p")["header"],
		})},
		"too big": {codeTooLong, codeKitSize, RuleSize,
			card(false, markdown("a", strings.Repeat("长", 10<<10)))},
		"image URL in code":      {0, 0, "", card(false, markdown("md", "```\n![x](https://x/y.png)\n```"))},
		"many tables, but code":  {0, 0, "", card(false, markdown("md", "```\n"+strings.Repeat(table, 9)+"```"))},
		"old schema, tag action": {0, 0, "", obj{"elements": []any{obj{"tag": "action", "actions": []any{}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := checkCard(clone(mustDecode(t, row.card)).(obj), func(string) bool { return false })
			switch {
			case f == nil && row.inner == 0:
			case f == nil || f.inner != row.inner || f.kit != row.kit || f.rule != row.rule:
				t.Errorf("flaw %+v", f)
			}
		})
	}
}

func mustDecode(t *testing.T, card obj) obj {
	t.Helper()
	root, f := parseCard(string(mustJSON(card)))
	if f != nil {
		t.Fatal(f)
	}
	return root
}
