package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// question is one question of the agent's AskUserQuestion tool.
type question struct {
	Question string   `json:"question"`
	Header   string   `json:"header"`
	Options  []option `json:"options"`
	Several  bool     `json:"multiSelect"`

	field *formField // of an MCP server's form; nil = the agent asks
}

// option is an answer that a question offers.
type option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// Limits of one card. The agent's tool has the same.
const (
	maxQuestions = 4
	maxOptions   = 4
)

// questionsOf parses the questions of a request, and rejects those that a card cannot show.
func questionsOf(tool string, input json.RawMessage, l i18n.Lang) ([]question, error) {
	if tool == claude.FormTool {
		f, err := formOf(input, l)
		return f.questions, err
	}
	var in struct {
		Questions []question `json:"questions"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	if len(in.Questions) == 0 || len(in.Questions) > maxQuestions {
		return nil, fmt.Errorf("ask 1 to %d questions", maxQuestions)
	}
	seen := map[string]bool{}
	// Answers are sent back by the text of the question (CLI 2.1.197), so it must be there and unique.
	for _, q := range in.Questions {
		switch {
		case strings.TrimSpace(q.Question) == "":
			return nil, errors.New("a question has no text")
		case seen[q.Question]:
			return nil, errors.New("two questions are the same")
		case len(q.Options) > maxOptions:
			return nil, fmt.Errorf("a question has more than %d options", maxOptions)
		}
		seen[q.Question] = true
	}
	return in.Questions, nil
}

// widestButton is the maximum width of an option on a button, in columns: about five English words.
const widestButton = 36

// hasButtons reports whether people answer by pressing a button: one question, of which one short option is chosen, in
// words that cannot pass as anything else. Otherwise there is a form.
func hasButtons(list []question) bool {
	if len(list) != 1 || list[0].Several || len(list[0].Options) > maxOptions {
		return false
	}
	for _, o := range list[0].Options {
		plain := strings.TrimSpace(o.Label) != "" && i18n.PlainText(o.Label) == o.Label
		if !plain || uniseg.StringWidth(o.Label) > widestButton {
			return false
		}
	}
	return len(list[0].Options) > 0
}

// optionButtons are the options of the only question as buttons; nil if there is a form.
func optionButtons(a db.Approval, l i18n.Lang) (buttons []chat.Button) {
	list, err := questionsOf(a.Tool, a.Input, l)
	if err != nil || !hasButtons(list) {
		return nil
	}
	for i, o := range list[0].Options {
		act := chat.Action{Do: DoChoose, Turn: a.Turn, ID: ActionID(a) + "." + strconv.Itoa(i)}
		buttons = append(buttons, chat.Button{Label: o.Label, Action: act})
	}
	return buttons
}

// withOption turns a press of an option's button into what the form would submit.
func withOption(p chat.Press) chat.Press {
	if i := strings.LastIndexByte(p.Action.ID, '.'); p.Action.Do == DoChoose && i >= 0 {
		p.Values = map[string][]string{choiceField(0): {p.Action.ID[i+1:]}}
		p.Action.ID = p.Action.ID[:i]
	}
	return p
}

// questionBody shows the questions with the descriptions of their options; fields and buttons only have room for
// labels.
func questionBody(a db.Approval, l i18n.Lang) string {
	list, err := questionsOf(a.Tool, a.Input, l)
	if err != nil { // only readable questions are shown
		return i18n.CodeBlock("json", string(a.Input))
	}
	onButtons := a.State == convo.Waiting && hasButtons(list)
	var b strings.Builder
	for i, q := range list {
		if len(list) > 1 {
			fmt.Fprintf(&b, "**%d.** ", i+1)
		}
		b.WriteString(i18n.PlainText(q.Question))
		if q.field != nil && q.field.optional {
			b.WriteString(i18n.FormOptional.In(l))
		}
		if q.Several {
			b.WriteString(i18n.ApprovalSeveral.In(l))
		}
		b.WriteString("\n")
		for _, o := range q.Options {
			if onButtons && o.Description == "" {
				continue
			}
			b.WriteString("- " + i18n.PlainText(o.Label))
			if o.Description != "" {
				b.WriteString(" — " + i18n.PlainText(o.Description))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}

// The form fields of a question: its options, and free text.
func choiceField(i int) string   { return "choice_" + strconv.Itoa(i) }
func freeTextField(i int) string { return "words_" + strconv.Itoa(i) }

// questionFields makes a form of the questions. Every question also gets a field for free text, since AskUserQuestion
// accepts an answer in other words than its options (CLI 2.1.197).
func questionFields(a db.Approval, l i18n.Lang) []chat.Field {
	list, err := questionsOf(a.Tool, a.Input, l)
	if err != nil { // see questionBody
		return nil
	}
	var fields []chat.Field
	for i, q := range list {
		label := i18n.PlainText(q.Header)
		if len(list) > 1 {
			label = strings.TrimSpace(strconv.Itoa(i+1) + ". " + label)
		}
		words := chat.Field{Name: freeTextField(i), Label: label, Hint: i18n.ApprovalOtherHint.In(l), Kind: chat.Words}
		switch {
		case q.field != nil && len(q.Options) == 0:
			words.Hint = q.field.wanted(l)
		case hasButtons(list):
			words.Label = i18n.ApprovalOwnAnswer.In(l)
		case len(q.Options) > 0:
			choice := chat.Field{Name: choiceField(i), Label: label, Kind: chat.One}
			if q.Several {
				choice.Kind = chat.Many
			}
			for n, o := range q.Options {
				option := chat.Option{Value: strconv.Itoa(n), Label: i18n.Visible(o.Label)}
				choice.Options = append(choice.Options, option)
			}
			fields = append(fields, choice)
			words.Label = fmt.Sprintf(i18n.ApprovalOther.In(l), label)
			if label == "" {
				words.Label = i18n.ApprovalOwnAnswer.In(l)
			}
		}
		if q.field == nil || len(q.Options) == 0 { // a form takes only its options
			fields = append(fields, words)
		}
	}
	return fields
}

// answers are the submitted answers.
type answers struct {
	said  []string        // one per question
	input json.RawMessage // the tool's input with the answers
}

// text joins the answers in one line.
func (a answers) text() string { return strings.Join(a.said, " · ") }

// longestAnswer limits a free-text answer, in runes.
const longestAnswer = 2000

// answersOf parses a submitted form. objection is what is missing or wrong in it. Values that the form does not offer are
// an error.
func answersOf(a db.Approval, values map[string][]string, l i18n.Lang) (_ answers, objection string, err error) {
	list, err := questionsOf(a.Tool, a.Input, l)
	if err != nil {
		return answers{}, "", err
	}
	var said []string
	byQuestion := map[string]any{}
	for i, q := range list {
		chosen, err := q.chosenLabels(values[choiceField(i)])
		if err != nil {
			return answers{}, "", err
		}
		own := strings.TrimSpace(strings.Join(values[freeTextField(i)], " "))
		if r := []rune(own); len(r) > longestAnswer {
			own = string(r[:longestAnswer])
		}
		if q.field != nil {
			if objection := q.fill(byQuestion, chosen, own, l); objection != "" {
				return answers{}, objection, nil
			}
		}
		if own != "" {
			chosen = append(chosen, stream.BreakMarkup(own))
		}
		// Several labels in one string, as the CLI expects them.
		switch text := strings.Join(chosen, ", "); {
		case text != "":
			said = append(said, i18n.PlainText(text))
			if q.field == nil {
				byQuestion[q.Question] = text
			}
		case q.field == nil:
			return answers{}, fmt.Sprintf(i18n.ApprovalUnanswered.In(l), i18n.FirstLine(q.Question)), nil
		}
	}
	// The other members of the input are sent back unchanged: the tool gets its complete input again.
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(a.Input, &all); err != nil {
		return answers{}, "", err
	}
	if all["answers"], err = json.Marshal(byQuestion); err != nil {
		return answers{}, "", err
	}
	input, err := json.Marshal(all)
	return answers{said, input}, "", err
}

// chosenLabels returns the labels of the chosen options.
func (q question) chosenLabels(values []string) ([]string, error) {
	if len(values) > 1 && !q.Several {
		return nil, errors.New("one option is to be chosen")
	}
	var labels []string
	for _, v := range values {
		n, err := strconv.Atoi(v)
		// The value comes from a press, which may be forged.
		if err != nil || n < 0 || n >= len(q.Options) {
			return nil, errors.New("there is no such option")
		}
		if label := q.Options[n].Label; !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels, nil
}
