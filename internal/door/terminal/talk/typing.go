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
	"golang.org/x/term"

	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/text"
)

// typing is the part of a conversation of somebody who types at a terminal.
type typing struct {
	*Talk
	line   *liner.State
	prompt string            // of the line that is being typed; empty = none is
	cards  map[string]*drawn // cards, texts and files, by their IDs
	asks   []api.Event       // cards that wait for a decision, oldest first
	form   *filled           // a form that is being filled in; nil = none
	open   string            // a line that was begun, and grows
	broken bool              // that line was ended before its text
	code   bool              // the next line is within a block of code
	status string            // the last line is this status
}

// drawn is what was printed of a card.
type drawn struct {
	text  string
	lines map[string]int // how often each line besides
}

// filled is a form with the values so far.
type filled struct {
	card   string
	button api.Button
	fields []api.Field // that are still to be asked for
	values map[string][]string
}

// Type talks with somebody at a terminal until he leaves. said is the first message; empty = he is asked for it. Ctrl-C
// stops a turn; a second time, or while nothing is answered, it leaves.
func (t *Talk) Type(ctx context.Context, said string, stop <-chan os.Signal) error {
	v := &typing{Talk: t, line: liner.NewLiner(), cards: map[string]*drawn{}}
	defer v.line.Close() //nolint:errcheck // the terminal is as it was, or gone
	v.line.SetCtrlCAborts(true)
	t.typing = v
	if err := t.run(ctx, said, stop); !errors.Is(err, ErrNoAnswer) {
		return err
	}
	return nil
}

// read lets a line be typed, if it is time for one.
func (v *typing) read(ctx context.Context) {
	if v.prompt != "" || v.answer != nil && len(v.asks) == 0 {
		return
	}
	v.endLine()
	v.prompt = "> "
	if v.form != nil {
		v.prompt = text.ForTerminal(text.OneLine(v.form.fields[0].Label)) + ": "
	}
	prompt := v.prompt
	go func() {
		words, err := v.line.Prompt(prompt)
		v.later(ctx, func() error {
			v.prompt = ""
			switch {
			case err == nil:
				v.take(ctx, strings.TrimSpace(words))
			case v.answer != nil && errors.Is(err, liner.ErrPromptAborted):
				return v.stop(ctx)
			default:
				return ErrNoAnswer
			}
			return nil
		})
	}()
}

// take takes a line: the value of a field, a choice, or a message.
func (v *typing) take(ctx context.Context, words string) {
	switch {
	case v.form != nil:
		if values, ok := valuesOf(v.form.fields[0], words); ok {
			v.form.values[v.form.fields[0].Name] = values
			v.form.fields = v.form.fields[1:]
		}
		v.fill(ctx)
	case len(v.asks) > 0 && len(words) == 1 && words[0] >= 'a' && int(words[0]-'a') < len(v.asks[0].Buttons):
		card := v.asks[0]
		v.form = &filled{card: card.ID, button: card.Buttons[words[0]-'a'], values: map[string][]string{}}
		if v.form.button.Submits {
			v.form.fields = card.Fields
		}
		v.fill(ctx)
	case words != "":
		v.line.AppendHistory(words)
		v.ask(ctx, words)
	}
}

// fill offers the options of the next field, or after the last one presses the button. The card is drawn anew then, with
// other buttons or none.
func (v *typing) fill(ctx context.Context) {
	f := v.form
	if len(f.fields) == 0 {
		v.forget(f.card)
		v.press(ctx, f.card, f.button, f.values)
		return
	}
	for i, o := range f.fields[0].Options {
		v.print(plain, fmt.Sprintf("  %d. %s", i+1, o.Label))
	}
	v.print(dim, f.fields[0].Hint)
}

// forget asks no more for a decision about a card.
func (v *typing) forget(card string) {
	v.asks = slices.DeleteFunc(v.asks, func(e api.Event) bool { return e.ID == card })
	if v.form != nil && v.form.card == card {
		v.form = nil
	}
}

// valuesOf are the values of a field for what was typed: options are numbers.
func valuesOf(f api.Field, typed string) (values []string, ok bool) {
	if f.Kind == chat.Words && typed != "" {
		return []string{typed}, true
	}
	for _, number := range strings.FieldsFunc(typed, func(r rune) bool { return strings.ContainsRune(" ,，、", r) }) {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(f.Options) {
			return nil, false
		}
		values = append(values, f.Options[n-1].Value)
	}
	return values, len(values) == 1 || len(values) > 1 && f.Kind == chat.Many || len(values) == 0 && !f.Required
}

// show shows what has happened.
func (v *typing) show(ctx context.Context, e api.Event) {
	if e.Kind == api.KindMessage {
		return
	}
	d, known := v.cards[e.ID]
	if !known {
		d = &drawn{lines: map[string]int{}}
		v.cards[e.ID] = d
	}
	switch {
	case e.Kind == api.KindFile && known:
	case e.Kind == api.KindFile:
		v.save(ctx, e)
	case e.Asks:
		v.decide(e)
	default:
		if !known {
			v.endLine()
		}
		v.draw(d, e)
	}
}

// decide shows what people are to decide, or how it was decided.
func (v *typing) decide(e api.Event) {
	waits := e.State == chat.CardNeedsYou && len(e.Buttons) > 0
	if waits && e.Live {
		return // it is drawn again in a moment
	}
	v.forget(e.ID)
	if !waits {
		v.print(dim, e.Title+" · "+e.Status)
		return
	}
	v.print(bold, e.Title)
	v.writeAll(e.Text)
	v.print(dim, endPanels(e)+e.Footer)
	var choices []string
	for i, b := range e.Buttons {
		choices = append(choices, fmt.Sprintf("[%c] %s", 'a'+i, b.Label))
	}
	v.print(bold, strings.Join(choices, "   "))
	v.asks = append(v.asks, e)
}

// endPanels are the panels at the end of a card: details that people open in a chat.
func endPanels(e api.Event) (s string) {
	for _, p := range e.Panels {
		if p.Last {
			s += p.Title + "\n" + p.Text + "\n"
		}
	}
	return s
}

// draw prints what is new on a card: its text as it grows, a line for each step that has ended, and in a line that is
// overwritten what is being done.
func (v *typing) draw(d *drawn, e api.Event) {
	runs, seen := "", map[string]int{}
	once := func(style, line string) {
		if seen[line]++; seen[line] > d.lines[line] {
			d.lines[line]++
			v.print(style, line)
		}
	}
	for _, step := range stepsOf(e) {
		if strings.HasPrefix(step, chat.StepRuns) {
			runs = step
		} else {
			once(dim, step)
		}
	}
	v.grow(d, e.Text, e.Live)
	if e.Live {
		v.setStatus(runs, e.Status)
		return
	}
	v.writeAll("")
	if e.State != chat.CardDone {
		if e.State != "" {
			once(bold, strings.Trim(e.Title+" · "+e.Status, " ·"))
		}
		once(dim, endPanels(e))
	}
	once(dim, e.Footer)
}

// stepsOf are the lines of the steps on a card's panels.
func stepsOf(e api.Event) (steps []string) {
	for _, p := range e.Panels {
		code := false
		for line := range strings.Lines(p.Text) {
			code = code != strings.HasPrefix(line, "```")
			mark, _, _ := strings.Cut(line, " ")
			if !code && slices.Contains([]string{chat.StepRuns, chat.StepDone, chat.StepFailed}, mark) {
				steps = append(steps, strings.ReplaceAll(strings.TrimSpace(line), "**", ""))
			}
		}
	}
	return steps
}

// grow prints what is new in a text. While a line is typed below it, only whole lines are.
func (v *typing) grow(d *drawn, all string, live bool) {
	same := 0
	for same < min(len(d.text), len(all)) && d.text[same] == all[same] {
		same++
	}
	if same == len(all) {
		return // it begins anew with the same words
	} else if same < len(d.text) {
		v.print(dim, "…") // from here on it is written anew
		same = strings.LastIndexByte(all[:same], '\n') + 1
	}
	more := all[same:]
	if live && v.prompt != "" {
		more = more[:strings.LastIndexByte(more, '\n')+1]
	}
	d.text = all[:same] + more
	if v.broken {
		more = strings.TrimPrefix(more, "\n")
	}
	v.write(more)
}

// The styles of text.
const (
	plain = ""
	bold  = "1"
	dim   = "2"
)

func styled(style, s string) string {
	if style == plain || s == "" || os.Getenv("NO_COLOR") != "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[m"
}

// write writes Markdown, whose last line may grow: code is dim, headings are bold.
func (v *typing) write(s string) {
	for piece := range strings.Lines(s) {
		line, whole := strings.CutSuffix(piece, "\n")
		v.open, v.broken = v.open+line, false
		style, fence := plain, strings.HasPrefix(strings.TrimSpace(v.open), "```")
		if fence || v.code {
			style = dim
		} else if strings.HasPrefix(v.open, "#") {
			style = bold
		}
		line = styled(style, text.ForTerminal(line))
		if whole {
			v.open, v.code, line = "", v.code != fence, line+"\n"
		}
		v.emit(line)
	}
}

// writeAll writes a whole text, or the end of one.
func (v *typing) writeAll(s string) {
	v.write(s)
	v.endLine()
	v.code = false
}

// endLine ends a line that was begun.
func (v *typing) endLine() {
	v.emit("")
	if v.open != "" {
		v.write("\n")
		v.broken = true
	}
}

// print prints lines in a style, without empty ones.
func (v *typing) print(style, s string) {
	v.endLine()
	for line := range strings.Lines(text.ForTerminal(s)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			v.emit(styled(style, line) + "\n")
		}
	}
}

// emit writes to the terminal, above the line that is being typed, which its editor draws again with the next key.
func (v *typing) emit(s string) {
	if v.status != "" || v.prompt != "" && s != "" {
		v.status, s = "", "\r\x1b[K"+s
		s += v.prompt
	}
	_, _ = fmt.Fprint(v.Out, s)
}

// setStatus shows a status in a line that is overwritten, unless another line is in work.
func (v *typing) setStatus(step, status string) {
	if step != "" {
		v.endLine()
	}
	line := strings.Trim(text.ForTerminal(text.OneLine(step+" · "+status)), " ·")
	if v.prompt != "" || v.open != "" || line == v.status {
		return
	}
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width < 2 {
		width = 80
	}
	v.emit("")
	v.emit(styled(dim, text.Clip(line, width-1))) // no text has more columns than bytes
	v.status = line
}
