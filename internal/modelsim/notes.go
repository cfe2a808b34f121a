package modelsim

import (
	"regexp"
	"slices"
	"strings"
)

// The CLI also writes in the role of the user: it adds reminders to people's messages, and sends texts of its own. This
// file distinguishes them.

// origin is the author of a text with the role user or system.
type origin int

const (
	byCLI       origin = iota // a marker, a filler or information: nothing to answer
	byPerson                  // a person, through the bridge
	interrupted               // the marker that a person stopped the turn
	goOn                      // the CLI wants the rest of an answer, or a visible one
	compact                   // the CLI wants a summary of the conversation
	summary                   // that summary, which replaces the messages
)

// reminder is what the CLI tells the model with the user's words. Since 2.1.332 this is also its request for the rest of an
// answer.
var reminder = regexp.MustCompile(`(?s)<system-reminder>\s*(.*?)</system-reminder>`)

// additions are what the CLI puts around a person's words.
var additions = []*regexp.Regexp{
	reminder,
	regexp.MustCompile(`(?s)<local-command-(?:caveat|stdout|stderr)>.*?</local-command-(?:caveat|stdout|stderr)>`),
	regexp.MustCompile(`(?s)<command-(?:name|message|args)>.*?</command-(?:name|message|args)>`),
}

// limitHit is the beginning of the CLI's request for the rest of an answer.
const limitHit = "Output token limit hit."

// openings are the beginnings of the CLI's own texts.
var openings = []struct {
	text string
	from origin
}{
	{"[Request interrupted by user", interrupted},
	{"Continue from where you left off.", byCLI},
	{"(no content)", byCLI},
	{"Tool loaded.", byCLI},     // after a request for the description of a tool, since 2.1.330
	{"[Image: source: ", byCLI}, // where it keeps a copy of a picture, since 2.1.330
	{"[structured-output-enforce]", goOn},
	{"[Your previous response had no visible output", goOn},
	{limitHit, goOn},
	{"CRITICAL: Respond with TEXT ONLY", compact},
	{"Your task is to create a detailed summary of", compact},
	{"This session is being continued from a previous conversation", summary},
}

// filler is what the CLI writes in the assistant's name.
const filler = "No response requested."

// While a turn runs, the CLI passes on a person's next message as a system message between these two.
const (
	midTurnOpening = "The user sent a new message while you were working:\n"
	midTurnEnding  = "\n\nIMPORTANT:"
)

// attribute finds the author of a text and returns the text without additions.
func attribute(role, text string) (string, origin) {
	// A message that arrived while a tool ran is a system message with an introduction of the CLI (2.1.197).
	if role == "system" {
		rest, ok := strings.CutPrefix(strings.TrimSpace(text), midTurnOpening)
		if !ok {
			return "", byCLI
		}
		if i := strings.LastIndex(rest, midTurnEnding); i >= 0 {
			rest = rest[:i]
		}
		return strings.TrimSpace(rest), byPerson
	}
	if m := reminder.FindStringSubmatch(text); m != nil && strings.HasPrefix(m[1], limitHit) {
		return m[1], goOn
	}
	for _, a := range additions {
		text = a.ReplaceAllString(text, "")
	}
	text = strings.TrimSpace(text)
	for _, o := range openings {
		if strings.HasPrefix(text, o.text) {
			return text, o.from
		}
	}
	if text == "" {
		return "", byCLI
	}
	return text, byPerson
}

// Person is what a person wrote in the message; empty if nobody did. If the CLI has merged several messages, because
// none was answered in between, it is the last one.
func (m *Message) Person() string {
	if m.Role == "assistant" {
		return ""
	}
	for _, b := range slices.Backward(m.blocks) {
		if b.kind != "text" {
			continue
		}
		if text, from := attribute(m.Role, b.text); from == byPerson {
			return text
		}
	}
	return ""
}

// The brain's summaries are lists of what users said. The CLI puts its own text around them.
const (
	summaryHeading = "Summary:\n"
	bullet         = "- "
	indent         = "  "
)

// digest lists what users said, without the question when that asks for the list.
func (v *view) digest() string {
	var b strings.Builder
	for _, s := range append(slices.Clone(v.known), historyMessage{user: true, text: v.question}) {
		if s.user && s.text != "" && !summarise.MatchString(s.text) {
			b.WriteString(bullet + strings.ReplaceAll(shorten(s.text, 2000), "\n", "\n"+indent) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readDigest parses such a list from the CLI's summary. A text without a list becomes one message.
func readDigest(text string) []historyMessage {
	var list []historyMessage
	_, lines, _ := strings.Cut(text, summaryHeading)
	for line := range strings.SplitSeq(lines, "\n") {
		if item, ok := strings.CutPrefix(line, bullet); ok {
			list = append(list, historyMessage{user: true, text: item})
		} else if more, ok := strings.CutPrefix(line, indent); ok && len(list) > 0 {
			list[len(list)-1].text += "\n" + more
		} else if len(list) > 0 {
			break
		}
	}
	if list == nil {
		return []historyMessage{{user: true, text: text}}
	}
	return list
}
