package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/setup"
	"magpie/internal/text"
)

// unknownWord matches what kong says of a word that it does not know. Its suggestions are for words without a typing
// error of two letters; see [suggestWord].
var unknownWord = regexp.MustCompile(`^(unexpected argument|unknown flag) (.+?)(?:, did you mean .+\?)?$`)

// usageErrors are kong's other errors about the command line, and how they are said here.
var usageErrors = []struct {
	kong *regexp.Regexp
	say  i18n.Phrase
}{
	// A flag at the end of the line.
	{regexp.MustCompile(`^(\S+): expected .+ value but got "EOL" \(<EOL>\)$`), i18n.CmdNoValue},
	{regexp.MustCompile(`^(\S+): expected .+ value but got "(.+)" \(.+\); perhaps try .+$`), i18n.CmdFlagForValue},
	{regexp.MustCompile(`^(\S+): expected a valid \d+ bit u?int but got (".*")$`), i18n.CmdNoNumber},
	{regexp.MustCompile(`^missing flags: (.+)$`), i18n.CmdMissing},
	{regexp.MustCompile(`^(?:missing positional arguments|expected) "?(<.+?)"?$`), i18n.CmdMissing},
	{regexp.MustCompile(`^expected one of (.+)$`), i18n.CmdNoCommand},
	{regexp.MustCompile(`^(\S+) and (\S+) can't be used together$`), i18n.CmdNotTogether},
	{regexp.MustCompile(`^(\S+): bool value must be .+ but got (".*")$`), i18n.CmdNoSwitch},
	{regexp.MustCompile(`^(\S+) must be one of (.+) but got (".*")$`), i18n.CmdNotOneOf},
	{regexp.MustCompile(`^(\S+): "(.+)" exists but is a directory$`), i18n.CmdNoFile},
	{regexp.MustCompile(`^(\S+): "(.+)" exists but is not a directory$`), i18n.CmdNoFolder},
}

// wrongUsage makes an error a mistake in the command line, for one that kong does not notice.
func wrongUsage(err error) error { return &setup.UsageError{Err: err} }

// usageText describes an error in the command line, and where to read about its syntax.
func usageText(err error, args []string, l i18n.Lang) string {
	var missing *config.Error
	if errors.As(err, &missing) { // nothing is wrong with the syntax
		return i18n.ErrorText(l, missing)
	}
	command := "magpie"
	var at *kong.Node
	var bad *kong.ParseError
	if errors.As(err, &bad) && bad.Context != nil {
		at = bad.Context.Model.Node
		for _, step := range bad.Context.Path {
			if step.Command != nil {
				at = step.Command
				command += " " + step.Command.Name
			}
		}
	}
	wrong := i18n.ErrorText(l, err)
	if m := unknownWord.FindStringSubmatch(wrong); m != nil && at != nil {
		wrong = unknownText(m[1] == "unknown flag", m[2], at, args, l)
	} else {
		wrong = explainUsage(wrong, l)
	}
	if l == i18n.Chinese {
		wrong = argumentWords.Replace(namedArgument.ReplaceAllString(wrong, "$1："))
	}
	return wrong + "\n" + i18n.CmdSeeHelp.Sprintf(l, command)
}

// namedArgument matches the argument or flag with which an error begins.
var namedArgument = regexp.MustCompile(`^(<\S+>|--\S+): `)

// explainUsage says an error of kong, as far as it is known. Lists get the commas of the language.
func explainUsage(wrong string, l i18n.Lang) string {
	for _, u := range usageErrors {
		m := u.kong.FindStringSubmatch(wrong)
		if m == nil {
			continue
		}
		var args []any
		for i, part := range m[1:] {
			if i < 2 { // the third is what was typed
				part = listed(part, l)
			}
			args = append(args, part)
		}
		return u.say.Sprintf(l, args...)
	}
	return wrong
}

// quotedWords matches a list as kong writes it.
var quotedWords = regexp.MustCompile(`^".*"(?:, ?(?:".*"|\.\.\.))+$`)

// listed is a list of kong with the commas of a language and without quotes; other text stays as it is.
func listed(part string, l i18n.Lang) string {
	if quotedWords.MatchString(part) {
		part = strings.ReplaceAll(strings.ReplaceAll(part, `"`, ""), ",...", "")
		part = strings.ReplaceAll(strings.ReplaceAll(part, ", ", ","), ",", ", ")
	}
	return i18n.ErrorText(l, i18n.Listing(strings.Split(part, ", ")))
}

// serviceHints say how what people try as a command is done with the service.
var serviceHints = map[string]i18n.Phrase{
	"start": i18n.CmdStartService, "stop": i18n.CmdUseManager, "restart": i18n.CmdUseManager, "status": i18n.CmdServiceStatus,
	"logs": i18n.CmdServiceLogs,
}

// unknownText says that a word of the command line is not known, and which one it may stand for.
func unknownText(flag bool, word string, at *kong.Node, args []string, l i18n.Lang) string {
	say, known := i18n.CmdUnknownCommand, []string(nil)
	for _, child := range at.Children {
		if !child.Hidden {
			known = append(known, child.Name)
		}
	}
	switch {
	case flag:
		say, word, known = i18n.CmdUnknownFlag, wholeFlag(word, args), flagsOf(at)
	case len(known) == 0:
		say = i18n.CmdTooMany
	}
	hint := ""
	if of, ok := serviceHints[word]; ok && at.Parent == nil {
		hint = of.Sprintf(l, word)
	} else if near, ok := suggestWord(word, known); ok {
		hint = i18n.CmdDidYouMean.Sprintf(l, near)
	}
	return say.Sprintf(l, word, hint)
}

// flagsOf are the flags of a command and of those above it.
func flagsOf(n *kong.Node) (list []string) {
	for _, flags := range n.AllFlags(true) {
		for _, f := range flags {
			list = append(list, "--"+f.Name)
		}
	}
	return list
}

// wholeFlag is the word as it was typed: of "-config", kong names only the first letter.
func wholeFlag(word string, args []string) string {
	if strings.HasPrefix(word, "--") {
		return word
	}
	for _, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); strings.HasPrefix(name, word) {
			return name
		}
	}
	return word
}

// suggestWord is the known word that another one may stand for. A flag with a single dash stands for the one with two;
// a single letter only for the one that begins with it.
func suggestWord(word string, known []string) (string, bool) {
	name := strings.TrimLeft(word, "-")
	if strings.HasPrefix(word, "-") && utf8.RuneCountInString(name) == 1 {
		known = slices.DeleteFunc(slices.Clone(known), func(k string) bool {
			return !strings.HasPrefix(k, "--"+strings.ToLower(name))
		})
		if len(known) != 1 {
			return "", false
		}
		return known[0], true
	}
	if strings.HasPrefix(word, "-") {
		word = "--" + name
	}
	return text.Nearest(word, known)
}
