// Package shell reads commands as the shell does, as far as it is sure what they do: of all that a shell knows only
// commands of plain words, and what joins them. Whether such a command may run is for others to decide.
package shell

import (
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// maxLength is in bytes. Where commands stand in one another, the parser takes quadratic time.
const maxLength = 4 << 10

// opening are the signs that open something else than a word, in quotes as well: what is sure does not depend on which
// shell reads it, or on its options.
const opening = "\n\r\x00`$(){}\\"

// joining are the signs that join commands, or redirect what they read and write.
const joining = ";&|<>"

// Command is a command of plain words.
type Command struct {
	Words []Word // at least one
	Sets  bool   // it sets variables, for itself
}

// Word is a word of a command.
type Word struct {
	Text    string // without its quotes
	Quoted  bool
	Pattern bool // the shell puts names of files in its place
}

// Single is the command of a text that is surely just one, and redirects nothing.
func Single(text string) (c Command, ok bool) {
	if strings.ContainsAny(text, joining+"!") {
		return c, false
	}
	list, ok := List(text)
	if !ok || len(list) != 1 {
		return c, false
	}
	return list[0], true
}

// List is the commands of a text that is surely nothing but commands of plain words, one after another or joined by
// pipes, "&&" and "||". They may drop their errors or send them along with their output.
func List(text string) (list []Command, ok bool) {
	if len(text) > maxLength || strings.ContainsAny(text, opening) {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil || len(file.Last) > 0 {
		return nil, false
	}
	for _, s := range file.Stmts {
		if list, ok = appendCommands(list, s); !ok {
			return nil, false
		}
	}
	ended := len(list) > 0 && !file.Stmts[len(file.Stmts)-1].Semicolon.IsValid()
	return list, ended
}

// WordsBefore is the words of a text before the one that it ends in, as far as they are plain and without blanks: those
// that a command has whatever follows the text. There are none if the text is more than words.
func WordsBefore(text string) (words []string) {
	if len(text) > maxLength || strings.ContainsFunc(text, unusual) {
		return nil
	}
	for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(text + "x")) {
		if err != nil && !syntax.IsIncomplete(err) {
			return nil
		}
		if err != nil || int(w.End().Offset()) > len(text) { // the text ends in this word
			return words
		}
		word, ok := wordOf(w)
		if !ok || strings.Contains(word.Text, " ") {
			return words
		}
		words = append(words, strings.ReplaceAll(word.Text, `\`, ""))
	}
	return words
}

// unusual are the signs that only some shells take for ends of words, or nobody sees.
func unusual(r rune) bool { return r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r)) }

func appendCommands(list []Command, s *syntax.Stmt) ([]Command, bool) {
	if len(s.Comments) > 0 || s.Negated || s.Background || s.Coprocess || s.Disown {
		return nil, false
	}
	for _, r := range s.Redirs {
		if !dropsErrors(r) {
			return nil, false
		}
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.PipeAll {
			return nil, false
		}
		list, ok := appendCommands(list, cmd.X)
		if !ok {
			return nil, false
		}
		return appendCommands(list, cmd.Y)
	case *syntax.CallExpr:
		c, ok := plain(cmd)
		return append(list, c), ok
	}
	return nil, false
}

// dropsErrors reports whether a redirection is 2>/dev/null or 2>&1.
func dropsErrors(r *syntax.Redirect) bool {
	if r.N == nil || r.N.Value != "2" || r.Word == nil {
		return false
	}
	return r.Op == syntax.RdrOut && r.Word.Lit() == "/dev/null" || r.Op == syntax.DplOut && r.Word.Lit() == "1"
}

func plain(call *syntax.CallExpr) (c Command, ok bool) {
	for _, a := range call.Assigns {
		if a.Append || a.Index != nil || a.Array != nil {
			return c, false
		}
		if a.Value != nil {
			if _, ok := wordOf(a.Value); !ok {
				return c, false
			}
		}
		c.Sets = true
	}
	for _, w := range call.Args {
		word, ok := wordOf(w)
		if !ok || strings.ContainsAny(word.Text, joining) {
			return c, false
		}
		c.Words = append(c.Words, word)
	}
	return c, len(c.Words) > 0
}

func wordOf(w *syntax.Word) (word Word, ok bool) {
	var text strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsFunc(p.Value, unusual) {
				return word, false
			}
			text.WriteString(p.Value)
			word.Pattern = word.Pattern || strings.ContainsAny(p.Value, "*?[")
		case *syntax.SglQuoted:
			if p.Dollar {
				return word, false
			}
			text.WriteString(p.Value)
			word.Quoted = true
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar {
					return word, false
				}
				text.WriteString(lit.Value)
			}
			word.Quoted = true
		default:
			return word, false
		}
	}
	word.Text = text.String()
	return word, true
}
