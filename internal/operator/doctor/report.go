package doctor

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/text"
)

// State is the severity of a finding.
type State string

// The states, from the best to the worst.
const (
	OK   State = "ok"
	Warn State = "warn" // the bridge works, but somebody should look at it
	Fail State = "fail" // the bridge cannot work this way
)

// Finding is the result of one check.
type Finding struct {
	State State  `json:"verdict"`
	What  string `json:"what"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// quotedLine matches a line of the configuration in an error.
var quotedLine = regexp.MustCompile(`\n *\d+\| .*`)

// String formats the finding as one line.
func (f Finding) String() string {
	// Error texts may have several lines; here each finding has one, without a quoted line of the configuration.
	what := quotedLine.ReplaceAllString(f.What, "")
	line := fmt.Sprintf("%-4s  %s", f.State, strings.Join(strings.Fields(what), " "))
	if f.Do != "" {
		line += " - " + f.Do
	}
	return text.ForTerminal(line) // names of chats, and of servers of a project, are chosen by others
}

// Report is the list of findings so far.
type Report struct {
	Lang      i18n.Lang
	OnFinding func(Finding) // called with each finding as it is added; may be nil
	Findings  []Finding
}

// text is a phrase in the language of the report, which names pages where this machine has them.
func (r *Report) text(p i18n.Phrase, args ...any) string {
	return config.LocatePages(p.Sprintf(r.Lang, args...))
}

// AddFinding adds a finding and what to do about it; do may be empty.
func (r *Report) AddFinding(s State, do string, what i18n.Phrase, args ...any) {
	r.add(Finding{State: s, What: strings.TrimSpace(r.text(what, args...)), Do: do})
}

func (r *Report) add(f Finding) {
	r.Findings = append(r.Findings, f)
	if r.OnFinding != nil {
		r.OnFinding(f)
	}
}

// AddMistakes adds each mistake in a configuration as a finding, with the same advice.
func (r *Report) AddMistakes(err error, do string) {
	for _, e := range splitMistakes(err) {
		r.AddFinding(Fail, do, i18n.DoctorConfigWrong, e)
	}
}

// splitMistakes splits the joined error of a configuration.
func splitMistakes(err error) []error {
	var bad *config.Error
	if errors.As(err, &bad) {
		err = bad.Err
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range many.Unwrap() {
			list = append(list, splitMistakes(e)...)
		}
		return list
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// Has reports whether there is a finding of this state.
func (r *Report) Has(s State) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.State == s })
}
