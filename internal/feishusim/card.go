package feishusim

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of a card (docs: feishu-cards/card-json-v2-structure and the components' pages). Tables are
// documented per component and measured per card. Third parties saw cards of 131 KB accepted; the
// double keeps to the documented 30 KB.
const (
	maxCardBytes     = 30 << 10
	maxCardElements  = 200
	maxCardTables    = 5
	maxElementTables = 4
	maxCardDepth     = 5 // nested containers
	maxButtonText    = 100
	maxHeaderTags    = 3
	maxInputText     = 1000
	schemaV2         = "2.0"
	tagMarkdown      = "markdown"
	tagPlainText     = "plain_text"
	containerTags    = " column_set form collapsible_panel interactive_container "
	interactiveTags  = " button input select_static multi_select_static select_person multi_select_person " +
		"date_picker picker_time picker_datetime select_img multi_select_img checker "
	removedTags = " note action "
	knownTags   = containerTags + interactiveTags + " markdown plain_text lark_md div img img_combination hr " +
		"person person_list chart table audio video column overflow standard_icon custom_icon text_tag repeat "
	elementIDPattern  = `^[A-Za-z][A-Za-z0-9_]{0,19}$`
	msgTablesOver     = "card table number over limit"
	msgElementsExceed = "element exceeds the limit"
)

var elementID = regexp.MustCompile(elementIDPattern)

// flaw is an error in a card. One flaw has two codes: the message API wraps inner in 230099, and CardKit answers with
// kit.
type flaw struct {
	rule       Rule
	inner, kit int
	msg        string
}

func (f *flaw) inMessage() *refusal {
	return refuse(f.rule, codeCardRefused, "Failed to create card content, ext=ErrCode: %d; ErrMsg: %s; ",
		f.inner, f.msg)
}

func (f *flaw) inKit() *refusal {
	if f.kit == codeCardRefused {
		return f.inMessage()
	}
	return refuse(f.rule, f.kit, "%s", f.msg)
}

// parseCard decodes card JSON.
func parseCard(raw string) (map[string]any, *flaw) {
	var root map[string]any
	if err := json.Unmarshal([]byte(raw), &root); err != nil {
		return nil, &flaw{RuleCard, codeCardJSON, codeKitParam, "parse card json err: " + err.Error()}
	}
	return root, nil
}

// checkCard checks a card as the platform does when it is stored. ownImage reports whether the bot may use an image
// key.
func checkCard(root map[string]any, ownImage func(key string) bool) *flaw {
	if len(mustJSON(root)) > maxCardBytes {
		return &flaw{RuleSize, codeTooLong, codeKitSize, "card content exceeds 30 KB"}
	}
	c := cardCheck{
		v2: root["schema"] == schemaV2, ownImage: ownImage, ids: make(map[string]bool), names: make(map[string]bool),
	}
	c.colors, _ = member(root, "config", "style", "color").(map[string]any)
	if c.v2 {
		if f := checkV2(root); f != nil {
			return f
		}
		if f := checkCardProperties(root); f != nil {
			return f
		}
	}
	c.walk(root, 0)
	if c.flaw == nil && c.tables > maxCardTables {
		c.fail(RuleTables, codeCardExceeds, codeCardRefused, msgTablesOver)
	}
	if c.flaw == nil && c.elements > maxCardElements {
		c.fail(RuleElements, codeCardExceeds, codeKitElements, msgElementsExceed)
	}
	return c.flaw
}

// checkV2 checks the outer structure of a card of schema 2.0.
func checkV2(root map[string]any) *flaw {
	if config, _ := root["config"].(map[string]any); config["update_multi"] == false {
		return &flaw{RuleCard, codeKitNotShared, codeKitNotShared, "update_multi must be true in schema 2.0"}
	}
	header, _ := root["header"].(map[string]any)
	if header != nil && text(member(header, "title", "content")) == "" {
		return &flaw{RuleCard, codeCardJSON, codeKitParam, "a header needs a title"}
	}
	if tags, _ := header["text_tag_list"].([]any); len(tags) > maxHeaderTags {
		return &flaw{RuleCard, codeCardExceeds, codeKitParam, "too many entries in text_tag_list"}
	}
	if _, old := root["elements"]; old {
		return &flaw{RuleCard, codeCardJSON, codeKitParam, "elements belong into body in schema 2.0"}
	}
	body, ok := root["body"].(map[string]any)
	if !ok && header == nil {
		return &flaw{RuleEmpty, codeCardJSON, codeKitEmpty, "the card is empty"}
	}
	elements, ok := body["elements"].([]any)
	if body != nil && !ok {
		return &flaw{RuleCard, codeCardJSON, codeKitParam, "body.elements is not a list"}
	}
	for _, el := range elements {
		if m, ok := el.(map[string]any); !ok || m["tag"] == nil {
			return &flaw{RuleCard, codeCardJSON, codeKitParam, "an element without tag"}
		}
	}
	return nil
}

// cardCheck walks all elements of a card and stops at the first flaw. Maps are walked in random order, so of several
// flaws any one may be reported.
type cardCheck struct {
	v2       bool
	ownImage func(string) bool
	colors   map[string]any // of the card's own, by name
	ids      map[string]bool
	names    map[string]bool // of components and forms
	elements int
	tables   int
	forms    int // around the element
	flaw     *flaw
}

func (c *cardCheck) fail(rule Rule, inner, kit int, msg string) {
	if c.flaw == nil {
		c.flaw = &flaw{rule, inner, kit, msg}
	}
}

// walk checks node and everything in it; depth counts the containers around it.
func (c *cardCheck) walk(node any, depth int) {
	switch n := node.(type) {
	case []any:
		for _, x := range n {
			c.walk(x, depth)
		}
	case map[string]any:
		if tag, ok := n["tag"].(string); ok {
			c.element(tag, n, depth)
			if strings.Contains(containerTags, " "+tag+" ") {
				depth++
			}
			if tag == "form" {
				c.forms++
				defer func() { c.forms-- }()
			}
		}
		// These three hold the app's own data, which may have a member "tag" without being a component.
		for k, x := range n {
			if k != "value" && k != "behaviors" && k != "chart_spec" && c.flaw == nil {
				c.walk(x, depth)
			}
		}
	}
}

func (c *cardCheck) element(tag string, n map[string]any, depth int) {
	c.elements++
	if f := checkProperties(tag, n, c.colors); c.v2 && c.flaw == nil {
		c.flaw = f
	}
	c.checkID(n)
	c.checkName(tag, n)
	switch {
	case c.flaw != nil:
	case c.v2 && strings.Contains(removedTags, " "+tag+" "):
		c.fail(RuleCard, codeCardTag, codeCardTag,
			"cards of schema V2 no longer support this capability; unsupported tag "+tag)
	case c.v2 && !strings.Contains(knownTags, " "+tag+" "):
		c.fail(RuleCard, codeCardTag, codeCardTag, "unknown tag "+tag)
	case c.v2 && depth > maxCardDepth:
		c.fail(RuleCard, codeCardExceeds, codeKitParam, "components are nested too deep")
	case tag == "img" && !c.ownImage(text(n["img_key"])):
		c.fail(RuleImage, codeCardImage, codeCardImage, "image key is invalid: "+text(n["img_key"]))
	case tag == "table":
		c.tables++
	case tag == tagMarkdown || tag == "lark_md":
		c.markdown(text(n["content"]))
	case tag == "button" && utf8.RuneCountInString(text(member(n, "text", "content"))) > maxButtonText:
		c.fail(RuleCard, codeCardExceeds, codeKitParam, "the text of a button is too long")
	case tag == "form":
		c.form(n, depth)
	case c.v2:
		c.part(tag, n)
	}
}

// checkID checks form and uniqueness of an element_id: a letter, then at most 19 letters, digits or
// underscores (doc: feishu-cards/card-json-v2-structure).
func (c *cardCheck) checkID(n map[string]any) {
	v, ok := n["element_id"]
	if !ok {
		return
	}
	id := text(v)
	if !elementID.MatchString(id) {
		c.fail(RuleCard, codeCardJSON, codeKitParam, "element_id is invalid: "+id)
	} else if c.ids[id] {
		c.fail(RuleCard, codeKitDuplicate, codeKitDuplicate, "element_id is not unique: "+id)
	}
	c.ids[id] = true
}

// markdown checks the text of a rich text component (doc: content-components/rich-text).
func (c *cardCheck) markdown(md string) {
	prose := outsideCode(md)
	for _, m := range imageLink.FindAllStringSubmatch(prose, -1) {
		if !c.ownImage(m[1]) {
			c.fail(RuleImage, codeCardImage, codeCardImage, "image key is invalid: "+m[1])
			return
		}
	}
	n := countTables(prose)
	c.tables += n
	if n > maxElementTables {
		c.fail(RuleTables, codeCardExceeds, codeCardRefused, msgTablesOver)
	}
}
