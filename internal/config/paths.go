package config

import (
	"os"
	"path/filepath"
	"strings"

	"magpie/internal/claude"
	"magpie/internal/configtype"
)

// expandPaths replaces the home folder's short forms at the beginning of paths, as a shell would.
func (c *Config) expandPaths() {
	for _, path := range []*string{&c.Claude.Project, &c.Claude.Command, &c.Claude.Settings} {
		*path = expandHome(*path)
	}
	for name, p := range c.Projects {
		p.Path = expandHome(p.Path)
		c.Projects[name] = p
	}
	if path, ok := strings.CutPrefix(c.DB.URL, "sqlite://"); ok {
		c.DB.URL = "sqlite://" + expandHome(path)
	}
}

// makeDefaultProject creates the working folder of agents if the operator has named none.
func (c *Config) makeDefaultProject() error {
	if c.Claude.Project != expandHome(claude.DefaultProject) {
		return nil
	}
	if err := os.MkdirAll(c.Claude.Project, 0o755); err != nil {
		return configtype.Mistakef("[claude] project：%v", "[claude] project: %v", err)
	}
	return nil
}

// expandHome replaces ~, $HOME or ${HOME} at the beginning of a path. Without a home folder the path stays as it is.
func expandHome(path string) string {
	for _, short := range []string{"~", "$HOME", "${HOME}"} {
		rest, ok := strings.CutPrefix(path, short)
		if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
			continue
		}
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
