package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// dialog asks the operator, line by line. While it waits, the end of ctx (Ctrl-C) ends the question.
type dialog struct {
	lang  lang
	out   io.Writer
	in    *os.File
	lines *bufio.Reader
	quiet bool // nobody is asked: what is proposed is taken
}

func newDialog(l lang, in *os.File, out io.Writer, quiet bool) *dialog {
	return &dialog{lang: l, out: out, in: in, lines: bufio.NewReader(in), quiet: quiet}
}

// say prints a line.
func (d *dialog) say(p phrase, args ...any) { d.print(d.lang.say(p, args...) + "\n") }

// print prints text as it is. A terminal that takes nothing has gone; the next question notices.
func (d *dialog) print(text string) { _, _ = io.WriteString(d.out, text) }

// ask gives what the operator writes, or what is proposed when he only presses Enter.
func (d *dialog) ask(ctx context.Context, p phrase, proposed string) (string, error) {
	if d.quiet {
		return proposed, nil
	}
	text := d.lang.say(p)
	if proposed != "" {
		text += " [" + proposed + "]"
	}
	d.print(text + ": ")
	answer, err := d.wait(ctx, func() (string, error) { return d.lines.ReadString('\n') })
	if err != nil {
		return "", err
	}
	if answer = strings.TrimSpace(answer); answer == "" {
		return proposed, nil
	}
	return answer, nil
}

// confirm asks a question that is answered by yes or no.
func (d *dialog) confirm(ctx context.Context, p phrase, proposed bool) (bool, error) {
	if d.quiet {
		return proposed, nil
	}
	choice := " [y/N]: "
	if proposed {
		choice = " [Y/n]: "
	}
	for {
		d.print(d.lang.say(p) + choice)
		answer, err := d.wait(ctx, func() (string, error) { return d.lines.ReadString('\n') })
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "":
			return proposed, nil
		case "y", "yes", "是", "好":
			return true, nil
		case "n", "no", "否", "不":
			return false, nil
		}
		d.say(setupTexts.YesOrNo)
	}
}

// secret gives what the operator writes, which is not shown.
func (d *dialog) secret(ctx context.Context, p phrase) (string, error) {
	d.print(d.lang.say(p) + ": ")
	before, err := term.GetState(int(d.in.Fd()))
	if err != nil {
		return "", err
	}
	answer, err := d.wait(ctx, func() (string, error) {
		data, err := term.ReadPassword(int(d.in.Fd()))
		return string(data), err
	})
	d.print("\n")
	if err != nil {
		return "", errors.Join(err, term.Restore(int(d.in.Fd()), before)) // the read that was left does not do it
	}
	return strings.TrimSpace(answer), nil
}

// wait reads until ctx is done. A read of a terminal cannot be ended; one that is left ends with the program.
func (d *dialog) wait(ctx context.Context, read func() (string, error)) (string, error) {
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
			return "", errGivenUp // Ctrl-D
		}
		if errors.Is(l.err, io.EOF) {
			l.err = nil
		}
		return l.text, l.err
	}
}

// errGivenUp is the operator's wish to end a dialog.
var errGivenUp = errors.New("given up")

// columns is the width of the terminal, 0 when there is none.
func (d *dialog) columns() int {
	f, ok := d.out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// pick prints choices and gives the index of the one that is picked; the first is proposed.
func (d *dialog) pick(ctx context.Context, p phrase, choices ...phrase) (int, error) {
	if d.quiet {
		return 0, nil
	}
	for {
		d.say(p)
		for i, c := range choices {
			d.print(fmt.Sprintf("  %d. %s\n", i+1, d.lang.say(c)))
		}
		answer, err := d.ask(ctx, setupTexts.Number, "1")
		if err != nil {
			return 0, err
		}
		var n int
		if _, err := fmt.Sscan(answer, &n); err == nil && n >= 1 && n <= len(choices) {
			return n - 1, nil
		}
	}
}
