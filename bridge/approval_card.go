package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// whyField is the field in which is said why something is refused.
const whyField = "why"

// approvalCard draws an approval: what is asked, and how to decide; or what became of it.
func approvalCard(a db.Approval, l lang) chat.Card {
	title, body := shown(a, l)
	first := firstLine(unfenced(body))
	switch a.Tool { // a summary is plain text; a command stays as it is
	case claude.QuestionTool:
		first = strings.ReplaceAll(first, "**", "")
	case claude.PlanTool:
		first = strings.TrimPrefix(first, "> ")
	}
	c := chat.Card{Body: title + "\n\n" + body, Summary: strings.ReplaceAll(title, "**", "") + " " + first}
	if a.State != db.Waiting {
		c.Status = outcomeLine(a, l)
		c.Summary = c.Status
		return c
	}
	c.Status = cardTexts.YourTurn.in(l)
	c.Footer = fmt.Sprintf(approvalTexts.Bounds.in(l), strings.TrimSpace(span(a.Expires.Sub(a.Created), l)))
	if a.Always != nil {
		c.Footer += fmt.Sprintf(approvalTexts.BoundsAlways.in(l), scope(*a.Always, l))
	}
	button := func(label phrase, do string) chat.Button {
		return chat.Button{Label: label.in(l), Danger: do == doRefuse, Action: chat.Action{Do: do, Turn: a.Turn, ID: actionID(a)}}
	}
	why := func(label, hint phrase) chat.Field {
		return chat.Field{Name: whyField, Label: label.in(l), Hint: hint.in(l), Kind: chat.Words}
	}
	switch a.Tool {
	case claude.QuestionTool:
		c.Form = &chat.Form{Fields: questionFields(a.Input, l), Buttons: []chat.Button{button(approvalTexts.SubmitButton, doAllow)}}
		c.Buttons = []chat.Button{button(approvalTexts.SkipButton, doRefuse)}
	case claude.PlanTool:
		c.Form = &chat.Form{
			Fields:  []chat.Field{why(approvalTexts.Better, approvalTexts.BetterHint)},
			Buttons: []chat.Button{button(approvalTexts.KeepPlanningButton, doRefuse)},
		}
		c.Buttons = []chat.Button{button(approvalTexts.ApproveButton, doAllow)}
	default:
		c.Form = &chat.Form{
			Fields:  []chat.Field{why(approvalTexts.Why, approvalTexts.WhyHint)},
			Buttons: []chat.Button{button(approvalTexts.RefuseSayingButton, doRefuse)},
		}
		c.Buttons = []chat.Button{button(approvalTexts.AllowButton, doAllow)}
		if a.Always != nil {
			c.Buttons = append(c.Buttons, button(approvalTexts.AlwaysButton, doAlways))
		}
		c.Buttons = append(c.Buttons, button(approvalTexts.RefuseButton, doRefuse))
	}
	return c
}

// outcomeLine says in one line what became of an approval.
func outcomeLine(a db.Approval, l lang) string {
	who := nameText(a.By.Name)
	if who == "" {
		who = approvalTexts.Somebody.in(l)
	}
	line := map[db.ApprovalState]phrase{
		db.Approved: approvalTexts.WasAllowed, db.Refused: approvalTexts.WasRefused, db.Expired: approvalTexts.WasExpired,
		db.Withdrawn: approvalTexts.WasWithdrawn, db.Lost: approvalTexts.WasLost,
	}[a.State]
	switch {
	case a.Tool == claude.PlanTool && a.State == db.Approved:
		line = approvalTexts.WasApproved
	case a.Tool == claude.PlanTool && a.State == db.Refused:
		line = approvalTexts.WasNotApproved
	case a.Tool == claude.QuestionTool && a.State == db.Approved:
		line = approvalTexts.WasAnswered
	case a.Tool == claude.QuestionTool && a.State == db.Refused:
		line = approvalTexts.WasSkipped
	}
	text := line.in(l)
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, who)
	}
	switch {
	case a.Words == "":
	case a.State == db.Refused:
		text += " · " + fmt.Sprintf(approvalTexts.Said.in(l), a.Words)
	default:
		text += " · " + a.Words
	}
	return text
}

// longestShown is how much of what an agent wants is shown, in bytes. It is shown whole or not done: what is left out
// could be what matters. Beyond this nobody would read the cards that it takes.
const longestShown = 60_000

// unshowable is what the agent reads when it wants something that cannot be shown; empty = it can be.
func unshowable(tool string, input json.RawMessage) string {
	if _, err := readInput(tool, input); err != nil {
		return "The tool's input cannot be shown to the user, who has to allow it."
	}
	if tool == claude.QuestionTool {
		if _, err := questionsOf(input); err != nil {
			return "The questions cannot be shown: " + err.Error() + "."
		}
	}
	if _, body := shown(db.Approval{Tool: tool, Input: input}, en); len(body) > longestShown {
		return "This is too long to be shown to the user, who has to allow it. Do it in smaller steps. A long command can be written to a file " +
			"piece by piece and run from there."
	}
	return ""
}

// shown is what an agent wants, as people read it: a title and the exact text.
func shown(a db.Approval, l lang) (title, body string) {
	in, err := readInput(a.Tool, a.Input)
	if err != nil { // it is asked for only when it can be read
		return fmt.Sprintf(approvalTexts.Asks.in(l), a.Tool), fenced("json", string(a.Input))
	}
	switch a.Tool {
	case claude.QuestionTool:
		return approvalTexts.AsksQuestion.in(l), questionBody(a.Input, l)
	case claude.PlanTool:
		return approvalTexts.AsksPlan.in(l), marked("> ", in.Plan) + besides(a)
	}
	if title, body = inWords(a, in, l); title != "" {
		return title, body + besides(a)
	}
	what := fmt.Sprintf(approvalTexts.Uses.in(l), visible(a.Tool))
	if a.Tool == "NotebookEdit" {
		what = approvalTexts.EditsNotebook.in(l)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, a.Input, "", "  "); err != nil {
		return fmt.Sprintf(approvalTexts.Asks.in(l), what), fenced("json", string(a.Input))
	}
	return fmt.Sprintf(approvalTexts.Asks.in(l), what), fenced("json", pretty.String())
}

// inWords is what an agent wants of a tool that is shown in a way of its own; without a title it is not.
func inWords(a db.Approval, in toolInput, l lang) (title, body string) {
	asks := func(what phrase) string { return fmt.Sprintf(approvalTexts.Asks.in(l), what.in(l)) }
	switch a.Tool {
	case "Bash":
		what := approvalTexts.Runs
		if in.Background {
			what = approvalTexts.RunsInBackground
		}
		body = fenced("bash", in.Command)
		if in.Description != "" {
			body += "\n" + fmt.Sprintf(approvalTexts.AgentSays.in(l), plainText(in.Description))
		}
		return asks(what), body
	case "Write":
		return asks(approvalTexts.Writes), named(in.File, a.Project) + fenced("", in.Content)
	case "Edit":
		what := approvalTexts.Edits
		if in.ReplaceAll {
			what = approvalTexts.EditsAll
		}
		return asks(what), named(in.File, a.Project) + fenced("diff", marked("- ", in.Old)+"\n"+marked("+ ", in.New))
	case "Read":
		return asks(approvalTexts.Reads), named(in.File, a.Project)
	case "WebFetch":
		return asks(approvalTexts.Fetches), fenced("", in.URL) + "\n" + fmt.Sprintf(approvalTexts.FetchesFor.in(l), plainText(in.Prompt))
	case "WebSearch":
		return asks(approvalTexts.Searches), fenced("", in.Query)
	}
	return "", ""
}

// besides are the parts of an input for which its tool's own way has no words, such as one that leads out of the
// sandbox.
func besides(a db.Approval) string {
	rest := map[string]json.RawMessage{}
	if err := json.Unmarshal(a.Input, &rest); err != nil { // it could be read before
		return ""
	}
	maps.DeleteFunc(rest, func(key string, _ json.RawMessage) bool {
		return slices.Contains(inputKeys[a.Tool], key) || slices.Contains(plainKeys[a.Tool], key)
	})
	if len(rest) == 0 {
		return ""
	}
	data, err := json.MarshalIndent(rest, "", "  ")
	if err != nil {
		return "\n\n" + fenced("json", string(a.Input))
	}
	return "\n\n" + fenced("json", string(data))
}

// named shows which file is meant: within the project from there, else in full.
func named(path, project string) string {
	if rest, ok := strings.CutPrefix(path, project+"/"); ok {
		path = rest
	}
	return fenced("", path) + "\n"
}

// marked is a text with a mark before each of its lines.
func marked(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark)
}

// fenced is a text as a block of code in which nothing is markup, and nothing is hidden.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + revealed(strings.TrimSuffix(text, "\n")) + "\n" + fence + "\n"
}

// unfenced is a text without the first line of a block of code, for a summary of one line.
func unfenced(text string) string {
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "```") {
		return rest
	}
	return text
}

// revealed shows what cannot be seen, or makes other things look different than they are, by its number.
func revealed(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n' || r == '\t' || r == ' ':
			b.WriteRune(r)
		case !unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) ||
			unicode.IsSpace(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
