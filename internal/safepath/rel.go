package safepath

import "path/filepath"

// Rel is where path lies in dir: "." for dir itself. ok says whether it does. Links are not followed.
func Rel(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// Real is a path that is there, absolute and without symbolic links.
func Real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
