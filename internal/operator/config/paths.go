package config

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/db/dsn"
	"magpie/internal/chat"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// expandPaths replaces the home folder's short forms at the beginning of paths, as a shell would.
func (c *Config) expandPaths() {
	for _, path := range []*string{&c.Claude.Project, &c.Claude.Command, &c.Claude.Settings, &c.Data} {
		*path = ExpandHome(*path)
	}
	for name, p := range c.Projects {
		p.Path = ExpandHome(p.Path)
		c.Projects[name] = p
	}
	if path := c.DB.DSN().File(); path != "" {
		c.DB.URL = "sqlite://" + ExpandHome(path)
	}
}

// MakeDefaultProject creates the working folder of agents if the operator has named none. Only a program that is about
// to run agents calls it, so that others leave no folder behind.
func (c Config) MakeDefaultProject() error {
	if c.Claude.Project != ExpandHome(workspace.DefaultProject) {
		return nil
	}
	if err := os.MkdirAll(c.Claude.Project, 0o755); err != nil {
		return &Error{Err: i18n.Mistakef("[claude] project：%v", "[claude] project: %v", err)}
	}
	return nil
}

// DataFolder is the folder of what belongs to this machine, without symbolic links: "agents" in it has the agents' state,
// "files" the received files.
func (c Config) DataFolder() (string, error) {
	if c.Data == "" {
		data, _, err := c.DB.DSN().Paths()
		if err == nil && !c.DB.DSN().IsFile() {
			err = dsn.ErrNoDataFolder
		}
		return data, err
	}
	data, err := filepath.Abs(c.Data)
	if err == nil {
		data, err = safepath.Resolve(data)
	}
	if err != nil {
		return "", i18n.Mistakef("data 文件夹：%v", "data: %v", err)
	}
	return data, nil
}

// checkData reports that the data folder is not known, or that the database's file lies outside of it: what guards the
// folder guards the database.
func (c Config) checkData() error {
	if c.Data == "" && c.DB.DSN().IsFile() {
		return nil
	}
	folder, _, err := c.DB.DSN().Paths()
	if err != nil {
		return nil //nolint:nilerr // c.DB.Validate reports it
	}
	data, err := c.DataFolder()
	if !c.DB.DSN().IsFile() {
		return errors.Join(err, c.checkNode())
	} else if err != nil {
		return err
	}
	// The file may be missing, but its folder may be reached by a link.
	if folder, err = safepath.Resolve(folder); err != nil {
		return i18n.Mistakef("[db] url：%v", "[db] url: %v", err)
	}
	if !safepath.Contains(data, folder) {
		return i18n.Mistakef("data %q：数据库 %s 必须放在这个文件夹里：改 data，或改 [db] url",
			"data %q: the database %s must lie in this folder: change data, or [db] url", c.Data, c.DB.DSN().File())
	}
	return nil
}

// checkNode reports that the name of this machine cannot be part of the key of a chat, as that of its terminal is.
func (c Config) checkNode() error {
	name, err := c.NodeName()
	if err != nil {
		return err
	}
	if err := chat.ValidID(name); err != nil {
		return i18n.Mistakef("node %q 不能用：%v", "node %q: %v", name, err)
	}
	return nil
}

// checkNodes reports the projects that no machine has: with a database in a file there is only this one.
func (c Config) checkNodes() error {
	node, _ := c.NodeName() // whoever needs it reports that there is none
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Projects)) {
		if c.DB.DSN().IsFile() && !c.Projects[name].IsHere(node) {
			errs = append(errs, i18n.Mistakef(
				"[projects] %s：nodes 里没有这台机器 %q；数据库是 SQLite 时只有这一台：改 nodes 或删掉它，或改 node",
				"[projects] %s: nodes does not name this machine, %q, and with SQLite there is no other: change or remove nodes, or change node",
				name, node))
		}
	}
	return errors.Join(errs...)
}

// checkFolders reports all problems with the folders that agents work in, or that these folders are not known.
func (c Config) checkFolders() error {
	b := c.BridgeConfig()
	b.Projects.Guard.Later = ExpandHome(workspace.DefaultProject)
	_, err := os.UserHomeDir()
	if err == nil {
		return b.Projects.Check()
	}
	var errs []error
	if _, short := cutHome(c.Claude.Project); short {
		errs = append(errs, i18n.Mistakef("[claude] project：%v", "[claude] project: %v", err))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Projects)) {
		if _, short := cutHome(c.Projects[name].Path); short {
			errs = append(errs, i18n.Mistakef("[projects] %s：%v", "[projects] %s: %v", name, err))
		}
	}
	if _, short := cutHome(c.Data); short {
		errs = append(errs, i18n.Mistakef("data 文件夹：%v", "data: %v", err))
	}
	if _, short := cutHome(c.DB.DSN().File()); short {
		errs = append(errs, i18n.Mistakef("[db] url：%v", "[db] url: %v", err))
	}
	if errs == nil {
		return b.Projects.Check()
	}
	return errors.Join(errs...)
}

// ExpandHome replaces a short form of the home folder at the beginning of a path. Without a home folder the path stays
// as it is.
func ExpandHome(path string) string {
	if rest, short := cutHome(path); short {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// cutHome returns what follows ~, $HOME or ${HOME} in a path, and whether it begins with one of them.
func cutHome(path string) (rest string, short bool) {
	for _, home := range []string{"~", "$HOME", "${HOME}"} {
		rest, ok := strings.CutPrefix(path, home)
		if ok && (rest == "" || strings.HasPrefix(rest, "/")) {
			return rest, true
		}
	}
	return path, false
}
