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
	colored := func(color string) obj { return obj{"tag": "plain_text", "content": "x", "text_color": color} }
	pressed := func(behavior obj) obj { return obj{"tag": "button", "text": title, "behaviors": []any{behavior}} }
	configured := func(config obj, elements ...any) obj {
		c := card(false, append(elements, markdown("md", "x"))...)
		c["config"] = config
		return c
	}
	const colors = "default blue wathet turquoise green yellow orange red carmine violet purple indigo grey"
	for _, color := range strings.Fields(colors) {
		if f := checkCard(mustDecode(t, headed(obj{"title": title, "template": color})), nil); f != nil {
			t.Errorf("a header in %s: %+v", color, f)
		}
	}
	type row struct {
		inner, kit int
		rule       Rule
		card       obj
	}
	bad := func(card obj) row { return row{codeCardJSON, codeKitParam, RuleCard, card} }
	for name, row := range map[string]row{
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
		"all that is known": {0, 0, "", configured(obj{"width_mode": "fill", "style": obj{"color": obj{"own": obj{}}}},
			obj{"tag": "column_set", "background_style": "own", "horizontal_align": "center", "columns": []any{obj{
				"tag": "column", "background_style": "blue-50", "elements": []any{obj{"tag": "interactive_container",
					"behaviors": []any{obj{"type": "open_url", "default_url": "https://x"}},
					"confirm":   obj{"title": title, "text": title},
					"elements":  []any{obj{"tag": "div", "text": colored("grey-900")}}}},
			}}}, panel("p"), obj{"tag": "table", "columns": []any{obj{"name": "a", "data_type": "text"}},
				"rows": []any{obj{"tag": 1}}})},
		"width of a button": bad(card(false, obj{"tag": "button", "text": title, "width": "wide"})),
		"width of a column": bad(
			card(false, obj{"tag": "column_set", "columns": []any{obj{"tag": "column", "width": "fill", "elements": []any{}}}})),
		"angle of an icon": bad(card(false, obj{
			"tag": "collapsible_panel", "header": obj{"title": title, "icon_expanded_angle": 45}, "elements": []any{},
		})),
		"widths in pixels": {0, 0, "", card(false, obj{"tag": "column_set", "columns": []any{
			obj{"tag": "column", "width": "120px", "elements": []any{obj{"tag": "button", "width": "100px", "text": title}}},
		}})},
		"color of a tag": bad(
			headed(obj{"title": title, "text_tag_list": []any{obj{"tag": "text_tag", "text": title, "color": "grey"}}})),
		"color of a text":  bad(card(false, obj{"tag": "div", "text": colored("own")})),
		"shade of a color": bad(card(false, obj{"tag": "div", "text": colored("blue-55")})),
		"background of columns": bad(
			card(false, obj{"tag": "column_set", "columns": []any{}, "background_style": "rgba(1,1,1,1)"})),
		"align of columns": bad(
			card(false, obj{"tag": "column_set", "columns": []any{}, "horizontal_align": "justify"})),
		"scale of an image": bad(
			card(false, obj{"tag": "img", "img_key": "img_v3_own", "scale_type": "stretch"})),
		"width of the card":     bad(configured(obj{"width_mode": "wide"})),
		"config of a style":     bad(configured(obj{"style": obj{"font": obj{}}})),
		"behavior unknown":      bad(card(false, pressed(obj{"type": "toast"}))),
		"behavior with a url":   bad(card(false, pressed(obj{"type": "open_url", "url": "https://x"}))),
		"behavior that is none": bad(card(false, obj{"tag": "button", "text": title, "behaviors": "callback"})),
		"member of a confirm": bad(
			card(false, obj{"tag": "button", "text": title, "confirm": obj{"title": title, "ok": title}})),
		"member of a header": bad(
			card(false, obj{"tag": "collapsible_panel", "elements": []any{}, "header": obj{"title": title, "icon_angle": 90}})),
		"value of a header": bad(
			card(false, obj{"tag": "collapsible_panel", "elements": []any{},
				"header": obj{"title": title, "icon_position": "above"}})),
		"member of an option": bad(
			card(false, form(choice(obj{"text": title, "value": "a", "selected": true}), submit))),
		"column of a table": bad(
			card(false, obj{"tag": "table", "columns": []any{obj{"name": "a", "type": "text"}}})),
		"data of a table": bad(
			card(false, obj{"tag": "table", "columns": []any{obj{"name": "a", "data_type": "int"}}})),
		"component not listed":   bad(card(false, obj{"tag": "video", "file_key": "x"})),
		"component without more": {0, 0, "", card(false, obj{"tag": "audio", "element_id": "a"})},
		"tag unknown":            {codeCardTag, codeCardTag, RuleCard, card(false, obj{"tag": "blink"})},
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
