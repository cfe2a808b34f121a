package main

import (
	"fmt"
	"os"
)

// admitAgents lets the user of [claude] user through the data folder, to the files that people have sent. What else
// lies there stays closed. It returns the group of that user; 0 = agents run as the program does.
func (c config) admitAgents() (group int, err error) {
	if group, err = c.Claude.Group(); group == 0 || err != nil {
		return 0, err
	}
	data, _, err := c.DB.Place()
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(data)
	if err == nil && info.Mode().Perm()&0o011 != 0o011 {
		err = os.Chmod(data, info.Mode().Perm()|0o011)
	}
	if err != nil {
		return 0, fmt.Errorf("[claude] user: let agents through the data folder: %w", err)
	}
	if err := member(group); err != nil {
		return 0, fmt.Errorf("[claude] user %s: %w", c.Claude.User, err)
	}
	return group, nil
}

// member fails when this program may not give files to a group.
func member(group int) error {
	probe, err := os.MkdirTemp("", "magpie-group-")
	if err != nil {
		return err
	}
	defer os.Remove(probe) //nolint:errcheck // it is empty, and lies where such folders are cleaned up
	if err := os.Chown(probe, -1, group); err != nil {
		return fmt.Errorf("magpie must belong to the group of that user, so that agents can be given files: %w", err)
	}
	return nil
}
