package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"magpie/internal/claude/account"
	"magpie/internal/i18n"
)

// The values of [Config.ConfigDir].
const (
	perChatDir  = "per-chat"
	isolatedDir = "isolated"
)

// HasOwnLogins reports whether the agents of each chat have a login of their own.
func (c Config) HasOwnLogins() bool { return c.ConfigDir == isolatedDir }

// settingSources are the places from which the CLI can read settings.
var settingSources = []string{"user", "project", "local"}

// checkPolicy reports all mistakes at once, so that a configuration needs only one correction.
func (c Config) checkPolicy() error {
	var errs []error
	for _, s := range c.SettingSources {
		if !slices.Contains(settingSources, s) {
			errs = append(errs, i18n.Mistakef("[claude] setting_sources %q：应为 %s 之一",
				"[claude] setting_sources %q: must be one of %s", s, i18n.Listing(settingSources)))
		}
	}
	if c.ConfigDir != "" && c.ConfigDir != perChatDir && c.ConfigDir != isolatedDir {
		errs = append(errs, i18n.Mistakef("[claude] config_dir %q：应为 %s 或 %s",
			"[claude] config_dir %q: must be %s or %s", c.ConfigDir, perChatDir, isolatedDir))
	}
	if _, err := readSettings(c.Settings); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.Wall.check())
	as, err := account.Find(c.User)
	return errors.Join(append(errs, err, as.Check())...)
}

// Homes are the home folders of this program and of its agents.
func (c Config) Homes() []string {
	var list []string
	for _, kv := range c.Environ {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			list = append(list, home)
		}
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		list = append(list, u.HomeDir)
	}
	if a, err := account.Find(c.User); err == nil && a != nil {
		list = append(list, a.Home)
	}
	return list
}

// Group is the primary group of the user that runs agents; 0 if they run as this program. Agents may
// read files that this group may read.
func (c Config) Group() (int, error) {
	as, err := account.Find(c.User)
	_, group := as.IDs()
	return int(group), err
}

// AgentUsers are the users, besides this program's, as whom agents run.
func (c Config) AgentUsers() ([]uint32, error) {
	as, err := account.Find(c.User)
	if err != nil || as == nil {
		return nil, err
	}
	user, _ := as.IDs()
	return []uint32{user}, nil
}

// StateDir is the folder for files that only agents need. Agents of another user could not reach one below the
// program's own folder.
func (c Config) StateDir() string {
	if c.User != "" {
		as, _ := account.Find(c.User) // an unknown one cannot start anything
		return filepath.Join(newEnvironment(c.Environ, as, c.Env)[homeVariable], ".magpie", c.Instance)
	}
	return c.State
}

// Prepare writes settings that cannot be passed as arguments. It must be called before the first agent starts.
func (c Config) Prepare() error {
	if c.Folder != nil && c.StateDir() == "" {
		return i18n.Mistakef("[claude] config_dir：没有存放各个聊天设置的文件夹",
			"[claude] config_dir: there is no folder for the chats' own settings")
	}
	s, err := readSettings(c.Settings)
	if err != nil || s == nil {
		return err
	}
	as, err := account.Find(c.User)
	if err != nil {
		return err
	}
	dir := stateDir(c.StateDir())
	for path, content := range map[string]settings{
		dir.settings(): s.withImposed(c.Command, c.AsksEverything()), dir.loginSettings(): s.withKeys(loginSettings),
	} {
		if err := writePrivate(as, path, content.encode()); err != nil {
			return err
		}
	}
	return nil
}

// writePrivate writes a file that only agents may read. It writes as the account: in a folder of that user, a symbolic
// link could lead this program anywhere.
func writePrivate(as *account.User, path string, data []byte) error {
	return as.RunAs(func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		if err := replaceFile(path, data); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		return nil
	})
}
