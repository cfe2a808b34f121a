package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The values of [Config.ConfigDir].
const (
	sharedDir  = "shared"
	perChatDir = "per-chat"
)

// settingSources are what the CLI reads settings from.
var settingSources = []string{"user", "project", "local"}

// account is the user of the operating system that agents run as.
type account struct {
	name, home string
	credential *syscall.Credential
}

// account looks up [Config.User]; nil = agents run as the program does.
func (c Config) account() (*account, error) {
	if c.User == "" {
		return nil, nil
	}
	u, err := user.Lookup(c.User)
	if err != nil {
		return nil, fmt.Errorf("[claude] user: %w", err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("[claude] user: groups of %s: %w", c.User, err)
	}
	ids := make([]uint32, 0, 2+len(groups))
	for _, text := range append([]string{u.Uid, u.Gid}, groups...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("[claude] user: %s is no number: %w", text, err)
		}
		ids = append(ids, uint32(id))
	}
	return &account{u.Username, u.HomeDir, &syscall.Credential{Uid: ids[0], Gid: ids[1], Groups: ids[2:]}}, nil
}

func (c Config) checkUser() error {
	a, err := c.account()
	switch {
	case err != nil || a == nil:
		return err
	case os.Geteuid() != 0:
		return errors.New("[claude] user: only root can run the agents as another user; run magpie as root, or leave this empty")
	case a.credential.Uid == 0:
		return errors.New("[claude] user: root is no protection; name a user with fewer rights")
	}
	return nil
}

// environ is the account's part of the environment; what the program has of its own login does not fit.
func (a *account) environ(env map[string]string) {
	delete(env, "CLAUDE_CONFIG_DIR")
	delete(env, "TMPDIR")
	maps.Copy(env, map[string]string{"HOME": a.home, "USER": a.name, "LOGNAME": a.name})
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
	if a, err := c.account(); err == nil && a != nil {
		list = append(list, a.home)
	}
	return list
}

// stateDir is the folder of what only agents need. Another user's agents could not reach it below the program's own.
func (c Config) stateDir() string {
	if c.User != "" {
		return filepath.Join(c.variable("HOME"), ".magpie", c.Instance)
	}
	return c.State
}

// of is the configuration of one chat's agents.
func (c Config) of(owner string) Config {
	if c.ConfigDir != perChatDir {
		return c
	}
	c.Env = maps.Clone(c.Env)
	if c.Env == nil {
		c.Env = map[string]string{}
	}
	sum := sha256.Sum256([]byte(owner)) // its key could not be the name of a folder everywhere
	c.Env["CLAUDE_CONFIG_DIR"] = filepath.Join(c.stateDir(), "chats", hex.EncodeToString(sum[:12]))
	return c
}

// Prepare writes what agents need that cannot be said in arguments. It is called before the first one starts.
func (c Config) Prepare() error {
	if c.ConfigDir == perChatDir && c.stateDir() == "" {
		return errors.New("[claude] config_dir: no folder for the chats' own")
	}
	return c.writeSettings()
}

// writePrivate writes a file that only agents may read. With another user it is that user who writes: in a folder of his,
// the program could be led anywhere.
func (c Config) writePrivate(path string, data []byte) error {
	a, err := c.account()
	if err != nil {
		return err
	}
	dir, next := filepath.Dir(path), path+".new"
	if a == nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		if err := os.WriteFile(next, data, 0o600); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		if err := os.Rename(next, path); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		return nil
	}
	write := exec.Command("/bin/sh", "-c", `umask 077 && mkdir -p "$1" && cat >"$2" && mv "$2" "$3"`, "sh", dir, next, path)
	write.SysProcAttr, write.Dir, write.Env = &syscall.SysProcAttr{Credential: a.credential}, "/", []string{"PATH=/usr/bin:/bin"}
	write.Stdin = bytes.NewReader(data)
	if out, err := write.CombinedOutput(); err != nil {
		return fmt.Errorf("settings of the agents, as user %s: %w: %s", a.name, err, bytes.TrimSpace(out))
	}
	return nil
}

func (c Config) checkPolicy() error {
	var errs []error
	for _, s := range c.SettingSources {
		if !slices.Contains(settingSources, s) {
			errs = append(errs, fmt.Errorf("[claude] setting_sources %q: want some of %s", s, strings.Join(settingSources, ", ")))
		}
	}
	if c.ConfigDir != "" && c.ConfigDir != sharedDir && c.ConfigDir != perChatDir {
		errs = append(errs, fmt.Errorf("[claude] config_dir %q: want %s or %s", c.ConfigDir, sharedDir, perChatDir))
	}
	if _, err := c.readSettings(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.checkUser())...)
}
