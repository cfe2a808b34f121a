package config

import (
	"os"
	"path/filepath"
	"regexp"
)

// pageName matches the name of a page or an example in a text, as it is in the repository.
var pageName = regexp.MustCompile(`(^|[^\w./\\~-])((?:docs|examples)/[\w.-]*\w)`)

// LocatePages replaces the names of pages and examples in a text, such as docs/operation.md, by their paths, if they
// have come with the program.
func LocatePages(text string) string {
	program, err := os.Executable()
	if err != nil {
		return text
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	return locatePages(text, filepath.Dir(program))
}

// locatePages is LocatePages for a program in a folder.
func locatePages(text, folder string) string {
	above := filepath.Dir(folder)
	for _, root := range []string{filepath.Join(above, "share", "doc", "magpie"), folder, above} {
		// A folder named docs may be somebody else's: one page is looked for that no other program has.
		if _, err := os.Stat(filepath.Join(root, "docs", "feishu-app.md")); err != nil {
			continue
		}
		return pageName.ReplaceAllStringFunc(text, func(found string) string {
			m := pageName.FindStringSubmatch(found)
			path := filepath.Join(root, filepath.FromSlash(m[2]))
			if _, err := os.Stat(path); err != nil {
				return found
			}
			return m[1] + path
		})
	}
	return text
}
