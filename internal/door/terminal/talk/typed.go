package talk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/peterh/liner"
	"github.com/rivo/uniseg"

	"magpie/internal/chat"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// typing is a conversation with somebody who types at a terminal.
type typing struct {
	*Talk
	link
	line    *liner.State
	typed   chan typedLine
	reading bool   // a line is being typed
	prompt  string // of that line

	answer *answer           // what is waited for; nil = nothing
	grown  map[string]string // what was printed of each card's text, by its ID
	shown  map[string]bool   // texts and files
	asks   []terminal.Event  // cards that wait for a decision, oldest first
	form   *filled           // a form that is being filled in; nil = none
	status bool              // the last line is a status
	code   bool              // within a block of code
	stops  int
}

type typedLine struct {
	words string
	err   error
}

// filled is a form with the values so far.
type filled struct {
	card   terminal.Event
	button chat.Button
	values map[string][]string
	next   int // the field that is asked for
}

// Type talks with somebody at a terminal until he leaves. said is the first message; empty = he is asked for it. Ctrl-C
// stops a turn; a second time, or while nothing is answered, it leaves.
func (t *Talk) Type(ctx context.Context, said string, stop <-chan os.Signal) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	v := &typing{
		Talk: t, link: t.connect(ctx), line: liner.NewLiner(), typed: make(chan typedLine),
		grown: map[string]string{}, shown: map[string]bool{},
	}
	defer v.line.Close() //nolint:errcheck // the terminal is as it was, or gone
	v.line.SetCtrlCAborts(true)
	for once := false; ; {
		if once && v.answer == nil || len(v.asks) > 0 {
			v.read(ctx)
		}
		select {
		case ok := <-v.connected:
			if !ok {
				v.print(dim, i18n.TerminalWaits.In(v.Lang))
			} else if !once && said != "" {
				v.answer = v.say(ctx, v.link, said)
			}
			once = once || ok
		case err := <-v.failed:
			return err
		case e := <-v.events:
			v.show(ctx, e)
		case l := <-v.typed:
			v.reading = false
			if l.err != nil && (v.answer == nil || !errors.Is(l.err, liner.ErrPromptAborted)) {
				return nil
			} else if l.err != nil {
				v.stop(ctx)
			} else {
				v.take(ctx, strings.TrimSpace(l.words))
			}
		case <-stop:
			if v.answer == nil || v.stop(ctx) {
				return nil
			}
		}
	}
}

// stop asks for the end of the turn, and reports whether that was asked for before.
func (v *typing) stop(ctx context.Context) bool {
	v.stops++
	v.say(ctx, v.link, "/stop")
	return v.stops > 1
}

// read lets a line be typed.
func (v *typing) read(ctx context.Context) {
	if v.reading {
		return
	}
	v.clear()
	v.reading, v.prompt = true, "> "
	if v.form != nil {
		v.prompt = text.ForTerminal(text.OneLine(v.form.card.Card.Form.Fields[v.form.next].Label)) + ": "
	}
	prompt := v.prompt
	go func() {
		words, err := v.line.Prompt(prompt)
		give(ctx, v.typed, typedLine{words, err})
	}()
}

// take takes a line: the value of a field, a choice, or a message.
func (v *typing) take(ctx context.Context, words string) {
	switch {
	case v.form != nil:
		v.fill(ctx, words)
	case len(v.asks) > 0 && len(words) == 1 && int(words[0]-'a') < len(buttonsOf(v.asks[0])) && words[0] >= 'a':
		card := v.asks[0]
		f := &filled{card: card, button: buttonsOf(card)[words[0]-'a'], values: map[string][]string{}}
		if form := card.Card.Form; form != nil && slices.Contains(form.Buttons, f.button) && len(form.Fields) > 0 {
			v.form = f
			v.offerField()
			return
		}
		v.press(ctx, f)
	case words == "":
	default:
		v.line.AppendHistory(words)
		a := v.say(ctx, v.link, words)
		if v.answer == nil {
			v.answer, v.stops = a, 0
		}
	}
}

// buttonsOf are the choices of a card.
func buttonsOf(e terminal.Event) []chat.Button {
	if e.Card.Form == nil {
		return e.Card.Buttons
	}
	return slices.Concat(e.Card.Buttons, e.Card.Form.Buttons)
}

// offerField prints the options of the field that is asked for.
func (v *typing) offerField() {
	field := v.form.card.Card.Form.Fields[v.form.next]
	for i, o := range field.Options {
		v.print(plain, fmt.Sprintf("  %d. %s", i+1, o.Label))
	}
	if field.Hint != "" {
		v.print(dim, field.Hint)
	}
}

// fill takes the value of a field, and presses the form's button after the last one. Options are numbers.
func (v *typing) fill(ctx context.Context, words string) {
	fields := v.form.card.Card.Form.Fields
	field := fields[v.form.next]
	var values []string
	if field.Kind == chat.Words && words != "" {
		values = []string{words}
	} else if field.Kind != chat.Words {
		for _, number := range strings.FieldsFunc(words, func(r rune) bool { return strings.ContainsRune(" ,，、", r) }) {
			if n, err := strconv.Atoi(number); err == nil && n > 0 && n <= len(field.Options) {
				values = append(values, field.Options[n-1].Value)
			}
		}
	}
	if len(values) == 0 && (field.Required || words != "") || field.Kind == chat.One && len(values) > 1 {
		v.offerField() // and again
		return
	}
	v.form.values[field.Name] = values
	if v.form.next++; v.form.next < len(fields) {
		v.offerField()
		return
	}
	f := v.form
	v.form = nil
	v.press(ctx, f)
}

// press presses a button. The card is drawn anew, with other buttons or none.
func (v *typing) press(ctx context.Context, f *filled) {
	v.asks = slices.DeleteFunc(v.asks, func(e terminal.Event) bool { return e.ID == f.card.ID })
	toast, err := v.Client.Press(ctx, f.card.ID, f.button.Action, f.values)
	if err != nil {
		toast = err.Error()
	}
	v.print(dim, toast)
}

// show shows what has happened.
func (v *typing) show(ctx context.Context, e terminal.Event) {
	about := v.answer != nil && v.answer.take(e)
	switch {
	case e.Reaction != nil:
	case e.Card == nil && v.shown[e.ID]:
	case e.File != "":
		v.shown[e.ID] = true
		v.clear()
		v.save(ctx, e)
	case e.Card == nil:
		v.shown[e.ID] = true
		v.markdown(e.Text)
	case !e.Asks:
		v.grow(e)
	default:
		v.ask(e)
	}
	if about && v.answer.isOver() {
		v.answer = nil
	}
}

// ask shows what people are to decide, or how it was decided.
func (v *typing) ask(e terminal.Event) {
	waits := e.Card.State == chat.CardNeedsYou && len(buttonsOf(e)) > 0
	if !e.Closed && waits {
		return // it is drawn again in a moment
	}
	v.asks = slices.DeleteFunc(v.asks, func(old terminal.Event) bool { return old.ID == e.ID })
	if !waits {
		v.print(dim, e.Card.Title+" · "+e.Card.Status)
		if v.form != nil && v.form.card.ID == e.ID {
			v.form = nil
		}
		return
	}
	v.print(bold, e.Card.Title)
	v.markdown(words(e))
	for _, p := range e.Card.Panels {
		v.print(dim, p.Title+" "+p.Body)
	}
	v.print(dim, e.Card.Footer)
	var choices []string
	for i, b := range buttonsOf(e) {
		choices = append(choices, fmt.Sprintf("[%c] %s", 'a'+i, b.Label))
	}
	v.print(bold, strings.Join(choices, "   "))
	v.asks = append(v.asks, e)
}

// grow prints the lines of a card's text that are new, and shows the last one, which still grows, or else the card's
// status, in a line that is overwritten.
func (v *typing) grow(e terminal.Event) {
	all, done := words(e), v.grown[e.ID]
	if c := e.Card; !c.Live && c.State != chat.CardDone && c.Title != "" && c.State != "" {
		v.print(bold, strings.TrimSuffix(c.Title+" · "+c.Status, " · "))
	}
	if !strings.HasPrefix(all, done) && !strings.HasPrefix(done, all) {
		v.print(dim, "…") // the text was written anew
		done = ""
	}
	rest := strings.TrimPrefix(all, done)
	if strings.HasPrefix(done, all) {
		rest = ""
	}
	for {
		line, after, whole := strings.Cut(rest, "\n")
		if !whole && (e.Card.Live || line == "") {
			break
		}
		v.printLine(line)
		rest = after
		done = all[:len(all)-len(rest)]
		if !whole {
			done = all
		}
	}
	v.grown[e.ID] = done
	if !e.Card.Live {
		v.print(dim, e.Card.Footer)
		return
	}
	if rest == "" {
		rest = e.Card.Status
	}
	v.setStatus(rest)
}

// The styles of text.
const (
	plain = ""
	bold  = "1"
	dim   = "2"
)

// print prints lines in a style, without empty ones.
func (v *typing) print(style, s string) {
	for line := range strings.Lines(text.ForTerminal(s)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			v.put(v.styled(style, line))
		}
	}
}

// markdown prints a whole text.
func (v *typing) markdown(s string) {
	for line := range strings.Lines(s) {
		v.printLine(strings.TrimRight(line, "\n"))
	}
	v.code = false
}

// printLine prints a line of Markdown: code is dim, headings are bold.
func (v *typing) printLine(line string) {
	style := plain
	switch fence := strings.HasPrefix(strings.TrimSpace(line), "```"); {
	case fence:
		v.code = !v.code
		style = dim
	case v.code:
		style = dim
	case strings.HasPrefix(line, "#"):
		style = bold
	}
	v.put(v.styled(style, text.ForTerminal(line)))
}

func (v *typing) styled(style, line string) string {
	if style == plain || v.Plain {
		return line
	}
	return "\x1b[" + style + "m" + line + "\x1b[m"
}

// put prints a line above the one that is being typed, which its editor draws again with the next key.
func (v *typing) put(line string) {
	v.clear()
	if !v.reading {
		_, _ = fmt.Fprint(v.Out, line+"\n")
		return
	}
	_, _ = fmt.Fprint(v.Out, "\r\x1b[K"+line+"\n"+v.prompt)
}

// setStatus shows the end of a line as the status, unless something is being typed.
func (v *typing) setStatus(line string) {
	if v.reading {
		return
	}
	v.clear()
	line = text.ForTerminal(strings.ReplaceAll(line, "\t", " "))
	for width := v.Width() - 1; uniseg.StringWidth(line) > width && line != ""; {
		_, line, _, _ = uniseg.FirstGraphemeClusterInString(line, -1)
	}
	_, _ = fmt.Fprint(v.Out, v.styled(dim, line))
	v.status = true
}

// clear removes the status.
func (v *typing) clear() {
	if v.status {
		_, _ = fmt.Fprint(v.Out, "\r\x1b[K")
	}
	v.status = false
}
