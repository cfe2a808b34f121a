package safepath

import "path/filepath"

// Rel is the position of path in dir: "." for dir itself. ok reports whether path is in dir. Links are not followed.
func Rel(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// Real is the absolute path of an existing file, without symbolic links.
func Real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
