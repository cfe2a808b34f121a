package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

type doctorCmd struct {
	Config string `help:"The configuration file. Looked for as magpie serve does." type:"path" placeholder:"magpie.toml"`
	JSON   bool   `help:"Print one JSON object." name:"json"`
}

// verdict is what a finding means.
type verdict string

const (
	stateOK   verdict = "ok"
	stateWarn verdict = "warn" // the bridge works, but somebody should look
	stateFail verdict = "fail" // the bridge cannot work like this
)

// finding is one thing that the doctor has looked at.
type finding struct {
	Verdict verdict `json:"verdict"`
	What    string  `json:"what"`
	Do      string  `json:"do,omitempty"` // what to do about it
}

func (f finding) String() string {
	// Error texts may have several lines; here each finding has one.
	line := fmt.Sprintf("%-4s  %s", f.Verdict, strings.Join(strings.Fields(f.What), " "))
	if f.Do != "" {
		line += " - " + f.Do
	}
	return line
}

// errUnhealthy makes the exit code 1; what is wrong has been printed.
var errUnhealthy = errors.New("something has to be done, see the lines with \"fail\"")

// Run looks at everything that the bridge needs, also while it runs.
func (d doctorCmd) Run(ctx context.Context) error {
	doc := doctor{environ: os.Environ(), lang: langOf(os.Environ()), tell: func(finding) {}}
	if !d.JSON {
		doc.tell = func(f finding) { fmt.Println(f) }
	}
	doc.examine(ctx, d.Config)
	if d.JSON {
		if err := printJSON(os.Stdout, doc.findings); err != nil {
			return err
		}
	}
	if doc.found(stateFail) {
		return errUnhealthy
	}
	return nil
}

func printJSON(w io.Writer, list []finding) error {
	healthy := true
	for _, f := range list {
		healthy = healthy && f.Verdict != stateFail
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		OK       bool      `json:"ok"`
		Findings []finding `json:"findings"`
	}{healthy, list})
}

// doctor looks at one thing after the other.
type doctor struct {
	environ  []string
	lang     lang
	tell     func(finding) // at once
	findings []finding
}

// add tells of a finding: what was found, and what to do about it unless it is fine.
func (d *doctor) add(v verdict, do string, what phrase, args ...any) {
	f := finding{Verdict: v, What: d.lang.say(what, args...), Do: do}
	d.findings = append(d.findings, f)
	d.tell(f)
}

func (d *doctor) found(v verdict) bool {
	for _, f := range d.findings {
		if f.Verdict == v {
			return true
		}
	}
	return false
}

// examine looks at everything that can be looked at. What a broken configuration does not tell is left out.
func (d *doctor) examine(ctx context.Context, path string) {
	c := d.configuration(path)
	d.rules(c)
	d.cli(ctx, c)
	app := d.platform(ctx, c).App
	d.owner(ctx, c, app)
	d.disk(c)
	d.manager()
	d.database(ctx, c) // last: a large one takes a while
}

// configuration reads the configuration and gives as much of it as can be read.
func (d *doctor) configuration(path string) config {
	if path == "" {
		path = findConfig()
	}
	c, err := loadConfig(path, d.environ)
	switch {
	case path == "" && err != nil:
		d.add(stateFail, d.lang.say(doctorTexts.WriteConfig), doctorTexts.NoConfig)
	case path == "":
		d.add(stateOK, "", doctorTexts.FromEnvironment)
	case err == nil:
		d.add(stateOK, "", doctorTexts.ConfigAt, path)
	}
	for _, e := range each(err) {
		if errors.Is(e, errNoConfig) {
			continue // it was said
		}
		d.add(stateFail, d.lang.say(doctorTexts.CorrectIn, firstOf(path, d.lang.say(doctorTexts.TheEnvironment))), doctorTexts.ConfigWrong, e)
	}
	d.permissions(path)
	return c
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// each gives the single errors of which a configuration's error is made.
func each(err error) []error {
	var bad *configError
	if errors.As(err, &bad) {
		err = bad.err
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range many.Unwrap() {
			list = append(list, each(e)...)
		}
		return list
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// permissions looks whether others can read secrets in the file.
func (d *doctor) permissions(path string) {
	info, err := os.Stat(path)
	if err != nil {
		return // told already, or there is no file
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	c := config{}
	_ = decodeTOML(data, &c) // a mistake is told already; what could be read is there
	switch secret := c.Feishu.AppSecret != "" || c.Memory.EmbeddingsKey != "" || len(c.Claude.Env) > 0; {
	case secret && info.Mode().Perm()&0o077 != 0:
		d.add(stateWarn, "chmod 600 "+path, doctorTexts.OthersRead, path, info.Mode().Perm())
	default:
		d.add(stateOK, "", doctorTexts.Mode, path, info.Mode().Perm())
	}
}
