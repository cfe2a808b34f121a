package claude_test

import (
	"flag"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// everyForm makes TestAttackHarmlessCommands try every form of every option, which takes minutes.
var everyForm = flag.Bool("every-form", false, "try every form of every option of the commands that run unasked")

// sample is how many forms there are for each one that is tried otherwise.
const sample = 200

// gitReads are the commands of git that the CLI runs unasked.
var gitReads = []string{"git diff", "git log", "git show", "git status", "git blame", "git grep", "git ls-files", "git rev-parse"}

// longOption matches an option in the help of a command, and whether it takes a value.
var longOption = regexp.MustCompile(`--(?:\[no-\])?([a-z0-9][a-z0-9-]+)(\[?=| <| [A-Z]{3,})?`)

// optionsOf lists the long options of a command on this machine, from its help, and those of them that take a value.
func optionsOf(t *testing.T, command string) (all, valued []string) {
	t.Helper()
	words := strings.Fields(command)
	help := "--help"
	if words[0] == "git" {
		help = "-h"
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, nil
	}
	out, _ := exec.CommandContext(t.Context(), words[0], append(words[1:], help)...).CombinedOutput() // git ends with 129
	for _, m := range longOption.FindAllStringSubmatch(string(out), -1) {
		all = append(all, m[1])
		if m[2] != "" {
			valued = append(valued, m[1])
		}
	}
	slices.Sort(all)
	slices.Sort(valued)
	return slices.Compact(all), slices.Compact(valued)
}

// beginnings are the beginnings of an option that are not also those of another one, the shortest first, and itself.
func beginnings(option string, all []string) (list []string) {
	for n := 1; n < len(option); n++ {
		if !slices.ContainsFunc(all, func(other string) bool { return other != option && strings.HasPrefix(other, option[:n]) }) {
			list = append(list, option[:n])
		}
	}
	return append(list, option)
}

// everyOption is each command that runs unasked with each of its options that takes a value, in each of its unambiguous
// forms: with the file CONF as its value.
func everyOption(t *testing.T) (list []string) {
	t.Helper()
	commands := slices.Clone(gitReads)
	for _, c := range harmless {
		if first, _, _ := strings.Cut(c, " "); regexp.MustCompile(`^[a-z0-9]+$`).MatchString(first) &&
			!slices.Contains([]string{"git", "cd", "for", "docker", "timeout", "sleep", "man", "info", "xargs"}, first) {
			commands = append(commands, first)
		}
	}
	slices.Sort(commands)
	for _, c := range slices.Compact(commands) {
		all, valued := optionsOf(t, c)
		for _, option := range valued {
			for _, f := range beginnings(option, all) {
				list = append(list, c+" --"+f+"=CONF a.txt", c+" --"+f+" CONF a.txt")
			}
		}
	}
	return list
}

// every is each n-th of a list, from one on.
func every(n, from int, list []string) (some []string) {
	for i := from % n; i < len(list); i += n {
		some = append(some, list[i])
	}
	return some
}
