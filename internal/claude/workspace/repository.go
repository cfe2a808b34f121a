package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"magpie/internal/safepath"
)

// decisionsFolder is the folder by whose name the CLI stores what the machine's user has decided about the project in
// dir: the root of its repository, that of the main checkout if it is in a linked worktree, or dir itself without git.
func decisionsFolder(dir string) string {
	root := repositoryRoot(dir)
	if root == "" {
		return dir
	}
	return mainCheckout(root)
}

// repositoryRoot is the root of the git checkout with dir; empty = there is none.
func repositoryRoot(dir string) string {
	for _, folder := range withParents(dir) {
		if exists(filepath.Join(folder, ".git")) {
			return folder
		}
	}
	return ""
}

// withParents are dir and the folders above it, up to the root of the file system.
func withParents(dir string) []string {
	list := []string{dir}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		list, dir = append(list, parent), parent
	}
	return list
}

// maxPath limits the size of git's files with one path, in bytes.
const maxPath = 16 << 10

// mainCheckout is the folder of the repository to which a linked worktree belongs; of any other checkout it is its root.
// Anyone who can write to a folder can make it look like a worktree, so the repository must name it, too.
func mainCheckout(root string) string {
	pathIn := func(dir, name string) string {
		data, err := safepath.ReadFile(filepath.Join(dir, name), maxPath)
		path := strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:"))
		if err != nil || path == "" {
			return ""
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return filepath.Clean(path)
	}
	folder := pathIn(root, ".git")
	common, named := pathIn(folder, "commondir"), pathIn(folder, "gitdir")
	if folder == "" || common == "" || filepath.Dir(folder) != filepath.Join(common, "worktrees") {
		return root
	}
	if own, err := safepath.Real(named); err != nil || own != filepath.Join(root, ".git") {
		return root
	}
	if filepath.Base(common) == ".git" {
		common = filepath.Dir(common)
	}
	if main, err := safepath.Real(common); err == nil {
		return main
	}
	return root
}

// exists reports whether there is, or may be, a file at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
