package magpie_test

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// moduleList names the modules that are part of the program on some system, with their licenses.
const moduleList = "scripts/packaging/modules.txt"

// licenseWords identify each license: no other one contains them.
var licenseWords = map[string]string{
	"MIT":          "Permission is hereby granted, free of charge",
	"MIT-0":        "MIT No Attribution",
	"ISC":          "Permission to use, copy, modify, and/or distribute this software",
	"BSD-2-Clause": "Redistributions of source code must retain",
	"BSD-3-Clause": "either the name",
	"Apache-2.0":   "Apache License",
	"MPL-2.0":      "Mozilla Public License",
}

// foreignWords occur in licenses that do not allow distribution with a program under another one.
var foreignWords = regexp.MustCompile(`(?i)GNU (Lesser |Affero )?General Public|Commons Clause|Business Source|Elastic License`)

// TestEveryModuleHasALicenseThatFits fails if the program has a new dependency whose license was not reviewed, or if a
// license has changed.
func TestEveryModuleHasALicenseThatFits(t *testing.T) {
	noted := notedLicenses(t)
	linked := linkedModules(t)
	fitting := fittingLicenses(t)
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		license, ok := noted[module]
		if !ok {
			t.Errorf("%s is part of the program: read its license, and add it to %s if it fits", module, moduleList)
			continue
		}
		if !slices.Contains(fitting, license) {
			t.Errorf("%s: %s is not among those that scripts/packaging/plain-sbom takes: %q", module, license, fitting)
		}
		text := licenseText(t, linked[module])
		foreign := license != "MPL-2.0" && foreignWords.MatchString(text) // the MPL mentions other licenses
		if words := licenseWords[license]; words == "" || !strings.Contains(text, words) || foreign {
			t.Errorf("the license of %s in %s is not %s", module, linked[module], license)
		}
	}
	for module := range noted {
		if linked[module] == "" {
			t.Errorf("%s names %s, which is not part of the program", moduleList, module)
		}
	}
}

// notedLicenses reads the list of modules.
func notedLicenses(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.Open(moduleList)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	found := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		module, license, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			t.Errorf("%s: %q has no license", moduleList, lines.Text())
		}
		found[module] = license
	}
	return found
}

// linkedModules are the folders of the modules that are linked into the program on the systems of releases.
func linkedModules(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, target := range []struct{ system, arch, cgo string }{
		{"linux", "amd64", "1"}, {"darwin", "arm64", "0"}, {"windows", "amd64", "0"},
	} {
		list := exec.CommandContext(t.Context(), "go", "list", "-mod=readonly", "-tags", "sqlite_fts5", "-deps",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/magpie")
		list.Env = append(os.Environ(), "GOOS="+target.system, "GOARCH="+target.arch, "CGO_ENABLED="+target.cgo,
			"GOPROXY=off", "GOFLAGS=")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", target.system, err)
		}
		for line := range strings.Lines(string(out)) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				found[module] = dir
			}
		}
	}
	if len(found) < 20 {
		t.Fatalf("%d modules only", len(found))
	}
	return found
}

// fittingLicenses are the licenses that a release accepts.
func fittingLicenses(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("scripts/packaging/plain-sbom")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`const fitting = \[(.*)\]`).FindStringSubmatch(string(data))
	if m == nil {
		t.Fatal("scripts/packaging/plain-sbom has no list of licenses")
	}
	return strings.Split(strings.ReplaceAll(m[1], "'", ""), ", ")
}

// licenseText is everything that a module's folder says about its license, on one line.
func licenseText(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "License*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.Contains(file, "3RD-PARTY") { // also of what only its tests use
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(data)
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
