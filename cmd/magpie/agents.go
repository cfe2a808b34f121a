package main

import (
	"os"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// openDataFolder lets the user of [claude] user traverse the data folder to reach received files. The folder does not
// become readable, and the modes of its contents do not change. It returns the group of that user; 0 = agents run as
// the program's own user.
func openDataFolder(c config.Config) (group int, err error) {
	if group, err = c.Claude.Group(); group == 0 || err != nil {
		return 0, err
	}
	data, err := c.DataFolder()
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(data)
	// Only the execute bit is added: whoever knows a path may go there, but nobody may list the folder.
	if err == nil && info.Mode().Perm()&0o011 != 0o011 {
		err = os.Chmod(data, info.Mode().Perm()|0o011)
	}
	if err != nil {
		return 0, i18n.Mistakef("[claude] user：不能让助手进入数据文件夹：%v",
			"[claude] user: let agents through the data folder: %v", err)
	}
	if err := checkGroup(group); err != nil {
		return 0, i18n.Mistakef("[claude] user %s：%v", "[claude] user %s: %v", c.Claude.User, err)
	}
	return group, nil
}

// checkGroup returns an error if this program may not change the group of a file to this one. It tries, because that
// depends on supplementary groups and capabilities.
func checkGroup(group int) error {
	probe, err := os.MkdirTemp("", "magpie-group-")
	if err != nil {
		return err
	}
	defer os.Remove(probe) //nolint:errcheck // it is empty and in the system's temporary folder
	if err := os.Chown(probe, -1, group); err != nil {
		return i18n.Mistakef("鹊桥的用户必须属于那个用户的组，才能把文件交给助手：%v",
			"Magpie must belong to the group of that user, so that agents can be given files: %v", err)
	}
	return nil
}
