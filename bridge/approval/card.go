package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/claude/workspace"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// whyField is the form field for the reason of a refusal.
const whyField = "why"

// Card shows an approval: the request with its buttons, or the outcome.
func Card(a db.Approval, l i18n.Lang) chat.Card {
	title, body := requestText(a, l)
	first := i18n.FirstLine(withoutFence(body))
	switch a.Tool { // a summary is plain text; a command stays unchanged
	case claude.QuestionTool, claude.FormTool:
		first = strings.ReplaceAll(first, "**", "")
	case claude.PlanTool:
		first = strings.TrimPrefix(first, "> ")
	}
	c := chat.Card{Title: title, State: chat.CardNeedsYou, Body: body, Summary: title + " " + first}
	c.Panels = descriptionPanel(a, l)
	if a.State != convo.Waiting {
		c.Status, c.State = OutcomeLine(a, l), chat.CardQueued
		if a.State == convo.Allowed {
			c.State = chat.CardDone
		}
		c.Summary = c.Status
		return c
	}
	patience := i18n.RoughDuration(a.Expires.Sub(a.Created), l)
	c.Footer = fmt.Sprintf(i18n.ApprovalBounds.In(l), strings.TrimSpace(patience))
	if a.Always != nil {
		c.Footer += fmt.Sprintf(i18n.ApprovalBoundsAlways.In(l), scopeText(*a.Always, l))
	}
	button := func(label i18n.Phrase, do string) chat.Button {
		act := chat.Action{Do: do, Turn: a.Turn, ID: ActionID(a)}
		return chat.Button{
			Label: label.In(l), Primary: do == DoAllow, Danger: do == DoRefuse, Quiet: do == DoExplain, Action: act,
		}
	}
	switch a.Tool {
	case claude.QuestionTool, claude.FormTool:
		c.Buttons = optionButtons(a, l)
		submit := button(i18n.ApprovalSubmitButton, DoAllow)
		if fields := questionFields(a, l); len(fields) > 0 {
			submit.Primary = len(c.Buttons) == 0
			c.Form = &chat.Form{Fields: fields, Buttons: []chat.Button{submit}, Last: len(c.Buttons) > 0}
		} else if len(c.Buttons) == 0 { // nothing is to be filled in
			submit.Label = i18n.FormDoneButton.In(l)
			c.Buttons = []chat.Button{submit}
		}
		skip := button(i18n.ApprovalSkipButton, DoRefuse)
		skip.Danger, skip.Quiet = false, true
		c.Buttons = append(c.Buttons, skip)
	case claude.PlanTool:
		c.Buttons = []chat.Button{
			button(i18n.ApprovalApproveButton, DoAllow), button(i18n.ApprovalKeepPlanningButton, DoRefuse),
			button(i18n.ApprovalChangeButton, DoExplain),
		}
	default:
		c.Buttons = []chat.Button{button(i18n.ApprovalAllowButton, DoAllow)}
		if a.Always != nil {
			c.Buttons = append(c.Buttons, button(i18n.ApprovalAlwaysButton, DoAlways))
		}
		c.Buttons = append(c.Buttons, button(i18n.ApprovalRefuseButton, DoRefuse), button(i18n.ApprovalExplainButton, DoExplain))
	}
	return c
}

// ExplainCard is the [Card] of an open approval with a field for the reason of a refusal in place of the button that
// asks for it: a form takes much room, and most people need none.
func ExplainCard(a db.Approval, l i18n.Lang) chat.Card {
	c := Card(a, l)
	i := slices.IndexFunc(c.Buttons, func(b chat.Button) bool { return b.Action.Do == DoExplain })
	if i < 0 {
		return c
	}
	label, why, hint := i18n.ApprovalRefuseSayingButton, i18n.ApprovalWhy, i18n.ApprovalWhyHint
	if a.Tool == claude.PlanTool {
		label, why, hint = i18n.ApprovalChangeSayingButton, i18n.ApprovalBetter, i18n.ApprovalBetterHint
	}
	refuse := c.Buttons[i]
	c.Buttons = slices.Delete(c.Buttons, i, i+1)
	refuse.Label, refuse.Quiet, refuse.Danger = label.In(l), false, true
	refuse.Action.Do = DoRefuse
	c.Form = reasonForm(why, hint, refuse, l)
	return c
}

// reasonForm is a form at the end of a card that asks why somebody refuses.
func reasonForm(label, hint i18n.Phrase, refuse chat.Button, l i18n.Lang) *chat.Form {
	why := chat.Field{Name: whyField, Label: label.In(l), Hint: hint.In(l), Kind: chat.Words}
	return &chat.Form{Fields: []chat.Field{why}, Buttons: []chat.Button{refuse}, Last: true}
}

// OutcomeLine describes the outcome of an approval in one line.
func OutcomeLine(a db.Approval, l i18n.Lang) string {
	who := i18n.SafeName(a.By.Name)
	if who == "" {
		who = i18n.ApprovalSomebody.In(l)
	}
	line := map[convo.Verdict]i18n.Phrase{
		convo.Allowed: i18n.ApprovalWasAllowed, convo.Denied: i18n.ApprovalWasRefused, convo.Expired: i18n.ApprovalWasExpired,
		convo.Withdrawn: i18n.ApprovalWasWithdrawn,
	}[a.State]
	switch {
	case a.Tool == claude.PlanTool && a.State == convo.Expired:
		line = i18n.PlanWasExpired
	case stream.AsksPeople(a.Tool) && a.State == convo.Expired:
		line = i18n.QuestionWasExpired
	case stream.AsksPeople(a.Tool) && a.State == convo.Withdrawn:
		line = i18n.QuestionWasWithdrawn
	case a.Tool == claude.PlanTool && a.State == convo.Allowed:
		line = i18n.ApprovalWasApproved
	case a.Tool == claude.PlanTool && a.State == convo.Denied:
		line = i18n.ApprovalWasNotApproved
	case stream.AsksPeople(a.Tool) && a.State == convo.Allowed:
		line = i18n.ApprovalWasAnswered
	case stream.AsksPeople(a.Tool) && a.State == convo.Denied:
		line = i18n.ApprovalWasSkipped
	}
	text := line.In(l)
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, who)
	}
	switch {
	case a.Words == "":
	case a.State == convo.Denied:
		text += " · " + fmt.Sprintf(i18n.ApprovalSaid.In(l), a.Words)
	default:
		text += " · " + a.Words
	}
	return text
}

// longestShown is the maximum length of a request in bytes. A request is shown in full or refused, because an omitted
// part could be the harmful one. Nobody would read longer cards.
const longestShown = 60_000

// DisplayProblem tells the agent that its request cannot be shown; empty = it can be.
func DisplayProblem(tool string, input json.RawMessage) string {
	if _, err := readInput(tool, input); err != nil {
		return "The tool's input cannot be shown to the user, who has to allow it."
	}
	if stream.AsksPeople(tool) {
		if _, err := questionsOf(tool, input, i18n.English); err != nil {
			return "The questions cannot be shown: " + err.Error() + "."
		}
	}
	// A request that does not fit on a card cannot be approved: the hidden part might be the harmful one.
	a := db.Approval{Tool: tool, Input: input}
	_, body := requestText(a, i18n.English)
	for _, p := range descriptionPanel(a, i18n.English) {
		body += p.Body
	}
	if len(body) > longestShown {
		return "This is too long to be shown to the user, who has to allow it. Do it in smaller steps. " +
			"A long command can be written to a file piece by piece and run from there."
	}
	return ""
}

// requestText formats a request for people: a title and the exact text.
func requestText(a db.Approval, l i18n.Lang) (title, body string) {
	in, err := readInput(a.Tool, a.Input)
	if err != nil { // only readable requests are shown
		return fmt.Sprintf(i18n.ApprovalAsks.In(l), a.Tool), i18n.CodeBlock("json", string(a.Input))
	}
	switch a.Tool {
	case claude.QuestionTool:
		return i18n.ApprovalAsksQuestion.In(l), questionBody(a, l)
	case claude.FormTool:
		return formText(a, l)
	case claude.PlanTool:
		return i18n.ApprovalAsksPlan.In(l), prefixLines("> ", in.Plan) + otherInput(a)
	}
	if title, body = describeCall(a, in, l); title != "" {
		return title, body + otherInput(a)
	}
	what := fmt.Sprintf(i18n.ApprovalUses.In(l), i18n.Visible(a.Tool))
	if server, tool, ok := workspace.ServerTool(a.Tool); ok {
		what = fmt.Sprintf(i18n.ApprovalUsesOf.In(l), i18n.Visible(server), i18n.Visible(tool))
	}
	if a.Tool == "NotebookEdit" {
		what = i18n.ApprovalEditsNotebook.In(l)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, a.Input, "", "  "); err != nil {
		return fmt.Sprintf(i18n.ApprovalAsks.In(l), what), i18n.CodeBlock("json", string(a.Input))
	}
	return fmt.Sprintf(i18n.ApprovalAsks.In(l), what), i18n.CodeBlock("json", pretty.String())
}

// describeCall describes a tool call for which there is a text. An empty title means that there is none.
func describeCall(a db.Approval, in toolInput, l i18n.Lang) (title, body string) {
	asks := func(what i18n.Phrase) string { return fmt.Sprintf(i18n.ApprovalAsks.In(l), what.In(l)) }
	switch a.Tool {
	case "Bash":
		what := i18n.ApprovalRuns
		if in.Background {
			what = i18n.ApprovalRunsInBackground
		}
		return asks(what), i18n.CodeBlock("bash", in.Command)
	case "Write":
		return asks(i18n.ApprovalWrites), pathBlock(in.File, a.Project) +
			i18n.CodeBlock("diff", prefixLines("+ ", in.Content))
	case "Edit":
		what := i18n.ApprovalEdits
		if in.ReplaceAll {
			what = i18n.ApprovalEditsAll
		}
		return asks(what), pathBlock(in.File, a.Project) + i18n.CodeBlock("diff", diff(in.Old, in.New))
	case "Read":
		return asks(i18n.ApprovalReads), pathBlock(in.File, a.Project)
	case "WebFetch":
		purpose := fmt.Sprintf(i18n.ApprovalFetchesFor.In(l), i18n.PlainText(in.Prompt))
		return asks(i18n.ApprovalFetches), i18n.CodeBlock("", in.URL) + "\n" + purpose
	case "WebSearch":
		return asks(i18n.ApprovalSearches), i18n.CodeBlock("", in.Query)
	}
	return "", ""
}

// descriptionPanel shows the agent's description of a command. It may be wrong, so it is collapsed, and the command is
// shown in full.
func descriptionPanel(a db.Approval, l i18n.Lang) []chat.Panel {
	in, err := readInput(a.Tool, a.Input)
	if err != nil || a.Tool != "Bash" || in.Description == "" {
		return nil
	}
	return []chat.Panel{{Title: i18n.AgentSays.In(l), Body: i18n.PlainText(in.Description), Last: true}}
}

// diff shows a text change in full, with a mark before each removed and added line.
func diff(before, after string) string {
	if strings.HasSuffix(before, "\n") && strings.HasSuffix(after, "\n") {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	gone, come := linesOf(before), linesOf(after)
	head, tail := 0, 0
	for head < min(len(gone), len(come)) && gone[head] == come[head] {
		head++
	}
	for tail < min(len(gone), len(come))-head && gone[len(gone)-1-tail] == come[len(come)-1-tail] {
		tail++
	}
	var lines []string
	add := func(mark string, list []string) {
		for _, line := range list {
			lines = append(lines, mark+line)
		}
	}
	add("  ", gone[:head])
	add("- ", gone[head:len(gone)-tail])
	add("+ ", come[head:len(come)-tail])
	add("  ", gone[len(gone)-tail:])
	return strings.Join(lines, "\n")
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// otherInput are the parts of an input that the tool's own layout does not show, such as one that leaves the sandbox.
func otherInput(a db.Approval) string {
	rest := map[string]json.RawMessage{}
	if err := json.Unmarshal(a.Input, &rest); err != nil { // it was readable before
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
		return "\n\n" + i18n.CodeBlock("json", string(a.Input))
	}
	return "\n\n" + i18n.CodeBlock("json", string(data))
}

// pathBlock is a file's path: relative to the project if inside it, otherwise in full.
func pathBlock(path, project string) string {
	if rest, ok := strings.CutPrefix(path, project+"/"); ok {
		path = rest
	}
	return i18n.CodeBlock("", path) + "\n"
}

// prefixLines puts a prefix before each line of a text.
func prefixLines(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix)
}

// withoutFence removes the first line of a code block, for a one-line summary.
func withoutFence(text string) string {
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "```") {
		return rest
	}
	return text
}

// The actions of an approval's buttons. The Action's ID is the approval's ID, a dot, and the beginning of the hash of
// the request. That of an option has another dot and the option's number.
const (
	DoAllow   = "allow"       // allow once; or submit the answers, or accept the plan
	DoChoose  = "choose"      // answer the only question with one of its options
	DoAlways  = "always"      // and from now on in this chat
	DoRefuse  = chat.DoRefuse // with an optional reason
	DoExplain = "explain"     // show the field for the reason
)

// HasAction reports whether a button's action is that of an approval.
func HasAction(do string) bool {
	return slices.Contains([]string{DoAllow, DoChoose, DoAlways, DoRefuse, DoExplain}, do)
}

// hashLength is the length of the hash in a button.
const hashLength = 16

// ActionID is the ID of a card's actions. It identifies the approval and its exact request.
func ActionID(a db.Approval) string { return a.ID + "." + a.Hash()[:hashLength] }
