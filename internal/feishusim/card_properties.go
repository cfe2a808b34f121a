package feishusim

import (
	"slices"
	"strings"
)

// properties are the members of components in schema 2.0, by tag (docs: feishu-cards/card-json-v2-components). Of a
// component that is not listed every member passes.
var properties = map[string]string{
	tagMarkdown:           "content text_align text_size icon",
	tagPlainText:          "content text_size text_color text_align lines i18n_content",
	"lark_md":             "content text_size text_color text_align lines",
	"div":                 "text fields icon width",
	"hr":                  "",
	"img":                 "img_key alt title corner_radius scale_type size transparent preview custom_width",
	"column_set":          "columns flex_mode background_style horizontal_spacing horizontal_align action",
	"column":              "elements width weight vertical_align vertical_spacing padding direction background_style action",
	"form":                "name elements direction vertical_spacing horizontal_spacing padding confirm",
	"button":              "type size text icon width disabled disabled_tips hover_tips confirm behaviors name required form_action_type value url",
	"input":               "name required placeholder default_value disabled width max_length input_type show_icon rows auto_resize max_rows label label_position value behaviors confirm fallback",
	"checker":             "name checked text disabled overall_checkable button_area checked_style pc_display_rule behaviors hover_tips disabled_tips confirm padding",
	"text_tag":            "text color",
	"chart":               "aspect_ratio color_theme chart_spec preview height",
	"table":               "page_size row_height row_max_height freeze_first_column header_style columns rows",
	"standard_icon":       "token color size",
	"custom_icon":         "img_key size",
	"collapsible_panel":   "expanded header elements border background_color padding direction vertical_spacing horizontal_spacing vertical_align",
	"select_static":       "name type required placeholder initial_option initial_index options width disabled behaviors confirm",
	"multi_select_static": "name type required placeholder selected_values options width disabled behaviors confirm",
}

// everywhere are the members that all components have.
var everywhere = []string{"tag", "element_id", "margin"}

// cardProperties are the members of a card, and of its parts that are no components.
var cardProperties = map[string]string{
	"":                        "schema config card_link header body",
	"config":                  "streaming_mode streaming_config summary locales enable_forward update_multi width_mode use_custom_translation enable_forward_interaction style compact_width",
	"config streaming_config": "print_frequency_ms print_step print_strategy",
	"header":                  "title subtitle text_tag_list i18n_text_tag_list template icon padding",
	"body":                    "elements direction padding vertical_spacing horizontal_spacing vertical_align horizontal_align",
}

// enums are the values of members that take no others.
var enums = map[string]string{
	"button type":              "default primary danger text primary_text danger_text primary_filled danger_filled laser",
	"button size":              "tiny small medium large",
	"column_set flex_mode":     "none stretch flow bisect trisect",
	"column vertical_align":    "top center bottom",
	"input label_position":     "top left",
	"header template":          "default blue wathet turquoise green yellow orange red carmine violet purple indigo grey",
	"streaming print_strategy": "fast delay",
	"markdown text_size":       "heading-0 heading-1 heading-2 heading-3 heading-4 heading normal notation xxxx-large xxx-large xx-large x-large large medium small x-small",
	"markdown text_align":      "left center right",
	"chart aspect_ratio":       "1:1 2:1 4:3 16:9",
	"chart color_theme":        "brand rainbow complementary converse primary",
}

// checkCardProperties checks the members of a card outside of its components.
func checkCardProperties(root map[string]any) *flaw {
	for where, known := range cardProperties {
		part, ok := root, true
		for name := range strings.FieldsSeq(where) {
			if part, ok = part[name].(map[string]any); !ok {
				break
			}
		}
		for name := range part {
			if ok && !slices.Contains(strings.Fields(known), name) {
				return unknownProperty(where, name)
			}
		}
	}
	header, _ := root["header"].(map[string]any)
	if f := checkEnum("header", "template", header); f != nil {
		return f
	}
	config, _ := root["config"].(map[string]any)
	streaming, _ := config["streaming_config"].(map[string]any)
	return checkEnum("streaming", "print_strategy", streaming)
}

// checkProperties checks the members of a component.
func checkProperties(tag string, n map[string]any) *flaw {
	known, ok := properties[tag]
	if !ok {
		return nil
	}
	for name := range n {
		if !slices.Contains(everywhere, name) && !slices.Contains(strings.Fields(known), name) {
			return unknownProperty(tag, name)
		}
		if f := checkEnum(tag, name, n); f != nil {
			return f
		}
	}
	return nil
}

func checkEnum(tag, name string, n map[string]any) *flaw {
	values, ok := enums[tag+" "+name]
	v, has := n[name]
	if !ok || !has || slices.Contains(strings.Fields(values), text(v)) {
		return nil
	}
	return &flaw{RuleCard, codeCardJSON, codeKitParam, "unsupported value of " + tag + "." + name + ": " + text(v)}
}

func unknownProperty(where, name string) *flaw {
	return &flaw{RuleCard, codeCardJSON, codeKitParam, "unknown property, path: " + where + "." + name}
}
