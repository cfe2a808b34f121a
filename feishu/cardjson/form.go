package cardjson

import (
	"fmt"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"

	"magpie/internal/chat"
	"magpie/internal/text"
)

// Limits of one form.
const (
	maxFields      = 8
	maxOptions     = 8    // of one field
	maxFormOptions = 16   // of all fields
	maxOption      = 60   // bytes of an option's label
	maxLabels      = 1200 // bytes of all labels above the fields
	maxInput       = 1000 // characters of a text field; the platform's maximum
	maxSubmits     = 4
)

// formJSON is a form (page "Form container", feishu-cards/card-json-v2-components/containers/form-container). The
// platform allows it only at the root of a card; a press reports the values by the names in it.
type formJSON struct {
	Tag      string `json:"tag"`
	ID       string `json:"element_id"`
	Name     string `json:"name"`
	Elements []any  `json:"elements"`
}

// fieldJSON is one input element of a form (pages "Single-select drop-down", "Multi-select drop-down" and "Input").
type fieldJSON struct {
	Tag       string       `json:"tag"`
	ID        string       `json:"element_id"`
	Name      string       `json:"name"`
	Required  bool         `json:"required"`
	Width     string       `json:"width"`
	Hint      *plainText   `json:"placeholder,omitempty"`
	Options   []optionJSON `json:"options,omitempty"`
	InputType string       `json:"input_type,omitempty"`
	Rows      int          `json:"rows,omitempty"`
	MaxLength int          `json:"max_length,omitempty"`
}

// optionJSON is one option. Text is what users see, and Value is what the callback reports.
type optionJSON struct {
	Text  *plainText `json:"text"`
	Value string     `json:"value"`
}

// drawForm writes a form. The remaining fields share the room that the previous ones have left.
func drawForm(f chat.Form) formJSON {
	out := formJSON{Tag: "form", ID: "form", Name: "form"}
	fields := f.Fields[:min(len(f.Fields), maxFields)]
	asked, options := maxLabels, maxFormOptions
	for i, field := range fields {
		if field.Label != "" {
			// the zero-width space keeps a leading number from becoming a list
			text := zwsp + shortenToCost(text.OneLine(new(prose).line(stripControl(field.Label))), asked/(len(fields)-i))
			asked -= cost(text)
			out.Elements = append(out.Elements, element{
				Tag: "markdown", ID: fmt.Sprintf("field_%d_label", i), Content: text,
			})
		}
		drawn := drawField(fmt.Sprintf("field_%d", i), field, min(maxOptions, options/(len(fields)-i)))
		options -= len(drawn.Options)
		out.Elements = append(out.Elements, drawn)
	}
	columns := buttonColumns("submit", f.Buttons[:min(len(f.Buttons), maxSubmits)])
	for _, c := range columns {
		b := &c.Elements[0]
		b.Name, b.Submits = b.ID, "submit"
	}
	out.Elements = append(out.Elements, element{Tag: "column_set", ID: "submits", FlexMode: "flow", Columns: columns})
	return out
}

func drawField(id string, f chat.Field, most int) fieldJSON {
	out := fieldJSON{ID: id, Name: f.Name, Required: f.Required, Width: "fill"}
	if f.Hint != "" {
		out.Hint = plainLabel(f.Hint, maxOption)
	}
	switch f.Kind {
	case chat.One:
		out.Tag = "select_static"
	case chat.Many:
		out.Tag = "multi_select_static"
	case chat.Words:
		out.Tag, out.InputType, out.Rows, out.MaxLength = "input", "multiline_text", 2, maxInput
	}
	// Options beyond the limit are cut off; the free-text field can be used instead.
	for _, o := range f.Options[:min(len(f.Options), most)] {
		out.Options = append(out.Options, optionJSON{Text: plainLabel(o.Label, maxOption), Value: o.Value})
	}
	return out
}

// FormValues reads the filled-in fields, by their names. They come with the press of a form's button, or when an input
// element outside a form is used (page "Card callback communication", feishu-cards/card-callback-communication). They
// are cut to the limits above, since a press may be forged.
func FormValues(a *callback.CallBackAction) map[string][]string {
	values := map[string][]string{}
	add := func(name string, value any) {
		s, ok := value.(string)
		// maxInput counts characters, of at most four bytes in UTF-8.
		if ok && s != "" && len(values) < maxFields+maxButtons {
			values[name] = append(values[name], text.Clip(stripControl(s), 4*maxInput))
		}
	}
	for name, value := range a.FormValue {
		if list, ok := value.([]any); ok {
			for _, v := range list[:min(len(list), maxOptions)] {
				add(name, v)
			}
			continue
		}
		add(name, value)
	}
	if a.Name != "" && a.FormValue == nil {
		add(a.Name, a.Option)
		add(a.Name, a.InputValue)
		for _, o := range a.Options[:min(len(a.Options), maxOptions)] {
			add(a.Name, o)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}
