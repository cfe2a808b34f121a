package feishusim

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// properties are the members of components in schema 2.0, by tag (docs: feishu-cards/card-json-v2-components). A
// component that is not listed has only those that all have: add it from its page when it is used.
var properties = map[string]string{
	tagMarkdown:             "content text_align text_size icon",
	tagPlainText:            "content text_size text_color text_align lines i18n_content",
	"lark_md":               "content text_size text_color text_align lines",
	"div":                   "text fields icon width",
	"hr":                    "",
	"img":                   "img_key alt title corner_radius scale_type size transparent preview custom_width",
	"column_set":            "columns flex_mode background_style horizontal_spacing horizontal_align action",
	"column":                "elements width weight vertical_align vertical_spacing padding direction background_style action",
	"form":                  "name elements direction vertical_spacing horizontal_spacing padding confirm",
	"button":                "type size text icon width disabled disabled_tips hover_tips confirm behaviors name required form_action_type value url",
	"input":                 "name required placeholder default_value disabled width max_length input_type show_icon rows auto_resize max_rows label label_position value behaviors confirm fallback",
	"checker":               "name checked text disabled overall_checkable button_area checked_style pc_display_rule behaviors hover_tips disabled_tips confirm padding",
	"text_tag":              "text color",
	"chart":                 "aspect_ratio color_theme chart_spec preview height",
	"table":                 "page_size row_height row_max_height freeze_first_column header_style columns rows",
	"standard_icon":         "token color size",
	"custom_icon":           "img_key size",
	"collapsible_panel":     "expanded header elements border background_color padding direction vertical_spacing horizontal_spacing vertical_align",
	"interactive_container": "name width height background_style has_border border_color corner_radius padding behaviors hover_tips disabled disabled_tips confirm elements direction vertical_spacing horizontal_spacing vertical_align horizontal_align",
	"overflow":              "width options value confirm",
	"person":                "user_id size show_avatar show_name style",
	"person_list":           "persons size show_avatar show_name lines drop_invalid_user_id icon",
	"img_combination":       "combination_mode combination_transparent corner_radius img_list",
	"select_static":         "name type required placeholder initial_option initial_index options width disabled behaviors confirm",
	"multi_select_static":   "name type required placeholder selected_values options width disabled behaviors confirm",
}

// parts are the members of the untagged objects in a component, by its tag and the member's name; * is every tag.
var parts = map[string]string{
	"* behaviors":                 "type value default_url android_url ios_url pc_url",
	"* confirm":                   "title text",
	"collapsible_panel header":    "title background_color vertical_align padding position icon icon_position icon_expanded_angle width",
	"collapsible_panel border":    "color corner_radius",
	"select_static options":       "text value icon",
	"multi_select_static options": "text value icon",
	"overflow options":            "text value multi_url",
	"table columns":               "name display_name width data_type vertical_align horizontal_align format date_format",
	"table header_style":          "text_align text_size background_style text_color bold lines",
	"img_combination img_list":    "img_key",
	"person_list persons":         "id",
}

// everywhere are the members that all components have.
var everywhere = []string{"tag", "element_id", "margin"}

// cardProperties are the members of a card, and of its parts that are not components.
var cardProperties = map[string]string{
	"":                        "schema config card_link header body",
	"config":                  "streaming_mode streaming_config summary locales enable_forward update_multi width_mode use_custom_translation enable_forward_interaction style compact_width",
	"config streaming_config": "print_frequency_ms print_step print_strategy",
	"config summary":          "content i18n_content",
	"config style":            "text_size color",
	"card_link":               "url android_url ios_url pc_url",
	"header":                  "title subtitle text_tag_list i18n_text_tag_list template icon padding",
	"body":                    "elements direction padding vertical_spacing horizontal_spacing vertical_align horizontal_align",
}

// enums are the values of enumerated members. Colors also have shades, such as blue-500, and widths may be pixels.
var enums = map[string]string{
	"button width":              widths,
	"input width":               widths,
	"select_static width":       widths,
	"multi_select_static width": widths,
	"column width":              columnWidths,

	"collapsible_panel header icon_expanded_angle": "-180 -90 90 180",

	"config width_mode":                       "default compact fill",
	"text_tag color":                          "neutral blue turquoise lime orange violet indigo wathet green yellow red purple carmine",
	"plain_text text_color":                   colors,
	"lark_md text_color":                      colors,
	"column_set background_style":             colors,
	"column background_style":                 colors,
	"column_set horizontal_align":             "left center right",
	"img scale_type":                          "crop_center crop_top fit_horizontal",
	"* behaviors type":                        "open_url callback",
	"collapsible_panel header vertical_align": "top center bottom",
	"collapsible_panel header icon_position":  "left right follow_text",
	"table columns data_type":                 "text lark_md markdown options number persons date",
	"table columns horizontal_align":          "left center right",
	"table row_height":                        "low middle high auto",

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
	config, _ := root["config"].(map[string]any)
	streaming, _ := config["streaming_config"].(map[string]any)
	return cmp.Or(checkEnum("header", "template", header, nil), checkEnum("config", "width_mode", config, nil),
		checkEnum("streaming", "print_strategy", streaming, nil))
}

// checkProperties checks the members of a component. A card may define its own colors.
func checkProperties(tag string, n, ownColors map[string]any) *flaw {
	if !strings.Contains(knownTags, " "+tag+" ") {
		return nil // which is rejected as such
	}
	for name, v := range n {
		if !slices.Contains(everywhere, name) && !slices.Contains(strings.Fields(properties[tag]), name) {
			return unknownProperty(tag, name)
		}
		if f := checkEnum(tag, name, n, ownColors); f != nil {
			return f
		}
		for _, where := range []string{tag + " " + name, "* " + name} {
			if f := checkPart(where, v, ownColors); f != nil {
				return f
			}
		}
	}
	return nil
}

// checkPart checks an untagged object, or a list of them.
func checkPart(where string, v any, ownColors map[string]any) *flaw {
	known, ok := parts[where]
	if !ok || v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, part := range list {
		members, ok := part.(map[string]any)
		if !ok {
			return &flaw{RuleCard, codeCardJSON, codeKitParam, "no object: " + where}
		}
		for name := range members {
			if !slices.Contains(strings.Fields(known), name) {
				return unknownProperty(where, name)
			}
			if f := checkEnum(where, name, members, ownColors); f != nil {
				return f
			}
		}
	}
	return nil
}

const colors = "default white bg-white blue carmine green indigo lime grey orange purple red sunflower turquoise violet wathet yellow"

const (
	widths       = "default fill"
	columnWidths = "auto weighted"
)

var pixels = regexp.MustCompile(`^[1-9][0-9]{1,3}px$`)

var shade = regexp.MustCompile(`-(50|100|200|300|350|400|500|600|700|800|900)$`)

func checkEnum(tag, name string, n, ownColors map[string]any) *flaw {
	values, ok := enums[tag+" "+name]
	v, has := n[name]
	value := text(v)
	if number, isNumber := v.(float64); isNumber {
		value = strconv.FormatFloat(number, 'g', -1, 64)
	}
	inPixels := (values == widths || values == columnWidths) && pixels.MatchString(value)
	if !ok || !has || inPixels || slices.Contains(strings.Fields(values), value) {
		return nil
	}
	if values == colors {
		if color := shade.ReplaceAllString(text(v), ""); ownColors[text(v)] != nil ||
			slices.Contains(strings.Fields(colors), color) {
			return nil
		}
	}
	return &flaw{RuleCard, codeCardJSON, codeKitParam, "unsupported value of " + tag + "." + name + ": " + value}
}

func unknownProperty(where, name string) *flaw {
	return &flaw{RuleCard, codeCardJSON, codeKitParam, "unknown property, path: " + where + "." + name}
}
