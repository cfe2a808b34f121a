package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"magpie/internal/i18n"
)

// dialog asks the operator, line by line. While it waits, the end of ctx (Ctrl-C) ends the question.
type dialog struct {
	lang       i18n.Lang
	out        io.Writer
	in         *os.File
	lines      *bufio.Reader
	unattended bool // ask nothing and use the proposed answers
}

func newDialog(l i18n.Lang, in *os.File, out io.Writer, unattended bool) *dialog {
	return &dialog{lang: l, out: out, in: in, lines: bufio.NewReader(in), unattended: unattended}
}

// say prints a line.
func (d *dialog) say(p i18n.Phrase, args ...any) { d.print(p.Sprintf(d.lang, args...) + "\n") }

// print prints text as it is. A write error is ignored: if the terminal is gone, the next question fails.
func (d *dialog) print(text string) { _, _ = io.WriteString(d.out, text) }

// prompt returns the operator's answer, or the proposed one for an empty line.
func (d *dialog) prompt(ctx context.Context, p i18n.Phrase, proposed string) (string, error) {
	// Flags and proposals replace answers.
	if d.unattended {
		return proposed, nil
	}
	text := p.Sprintf(d.lang)
	if proposed != "" {
		text += " [" + proposed + "]"
	}
	d.print(text + ": ")
	answer, err := d.read(ctx, func() (string, error) { return d.lines.ReadString('\n') })
	if err != nil {
		return "", err
	}
	if answer = strings.TrimSpace(answer); answer == "" {
		return proposed, nil
	}
	return answer, nil
}

// confirm asks a yes-or-no question.
func (d *dialog) confirm(ctx context.Context, p i18n.Phrase, proposed bool) (bool, error) {
	if d.unattended {
		return proposed, nil
	}
	choice := " [y/N]: "
	if proposed {
		choice = " [Y/n]: "
	}
	for {
		d.print(p.Sprintf(d.lang) + choice)
		answer, err := d.read(ctx, func() (string, error) { return d.lines.ReadString('\n') })
		if err != nil {
			return false, err
		}
		switch strings.ToLower(foldWidth(answer)) {
		case "":
			return proposed, nil
		case "y", "yes", "是", "好":
			return true, nil
		case "n", "no", "否", "不":
			return false, nil
		}
		d.say(i18n.SetupYesOrNo)
	}
}

// secret returns an answer that is typed without echo.
func (d *dialog) secret(ctx context.Context, p i18n.Phrase) (string, error) {
	d.print(p.Sprintf(d.lang) + ": ")
	before, err := term.GetState(int(d.in.Fd()))
	if err != nil {
		return "", err
	}
	answer, err := d.read(ctx, func() (string, error) {
		data, err := term.ReadPassword(int(d.in.Fd()))
		return string(data), err
	})
	d.print("\n")
	if err != nil {
		return "", errors.Join(err, term.Restore(int(d.in.Fd()), before)) // the abandoned read cannot restore it
	}
	return strings.TrimSpace(answer), nil
}

// read reads until ctx is done. A blocked read of a terminal cannot be canceled; an abandoned one ends with the
// program.
func (d *dialog) read(ctx context.Context, read func() (string, error)) (string, error) {
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() {
		text, err := read()
		got <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-got:
		if errors.Is(l.err, io.EOF) && l.text == "" {
			return "", ErrGivenUp // Ctrl-D
		}
		if errors.Is(l.err, io.EOF) {
			l.err = nil
		}
		return l.text, l.err
	}
}

// ErrGivenUp means that the operator has ended the dialog.
var ErrGivenUp = errors.New("given up")

// size is the size of the terminal in characters, 0 if there is none.
func (d *dialog) size() (columns, rows int) {
	f, ok := d.out.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// pick prints choices and returns the index of the chosen one; the first is the default.
func (d *dialog) pick(ctx context.Context, p i18n.Phrase, choices ...i18n.Phrase) (int, error) {
	if d.unattended {
		return 0, nil
	}
	d.say(p)
	for i, c := range choices {
		d.print(fmt.Sprintf("  %d. %s\n", i+1, c.Sprintf(d.lang)))
	}
	for {
		answer, err := d.prompt(ctx, i18n.SetupNumber, "1")
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(strings.TrimSuffix(foldWidth(answer), "."))
		if err == nil && n >= 1 && n <= len(choices) {
			return n - 1, nil
		}
		d.say(i18n.SetupNoSuchChoice, len(choices))
	}
}

// foldWidth returns an answer with the plain characters for the full-width ones that Chinese input methods type.
func foldWidth(answer string) string { return strings.TrimSpace(width.Fold.String(answer)) }
