package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/google/uuid"

	"magpie/bridge"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/operator/config"
)

// agentsConfig gives the agents of each chat their own folder for the CLI's state, and denies them the program's other
// files.
func agentsConfig(ctx context.Context, c config.Config, store *db.DB) (claude.Config, error) {
	agents := c.Claude
	var err error
	if agents.Instance, err = store.Instance(); err != nil {
		return agents, err
	}
	_, private, err := c.DB.DSN().Paths()
	if err != nil {
		return agents, err
	}
	data, err := c.DataFolder()
	if err != nil {
		return agents, err
	}
	agents.State = filepath.Join(data, "agents")
	agents.Guarded = bridge.GuardedFiles()
	agents.Data, agents.Private = data, append(private, c.PrivateFiles()...)
	ctx = context.WithoutCancel(ctx) // agents still need their folder while a shutdown lets turns finish
	agents.Folder = func(owner string) (string, error) {
		key, err := chat.ParseKey(owner)
		if err != nil {
			return "", err
		}
		return store.Chats().MakeFolder(ctx, key, "")
	}
	return agents, nil
}

// readOnlyAgentsConfig is [agentsConfig] without writes: a chat without a folder gets a random one, which is not stored
// and so contains no sessions.
func readOnlyAgentsConfig(ctx context.Context, c config.Config, store *db.DB) (claude.Config, error) {
	agents, err := agentsConfig(ctx, c, store)
	agents.Folder = func(owner string) (string, error) {
		key, err := chat.ParseKey(owner)
		if err != nil {
			return "", err
		}
		id, err := store.Chats().Folder(ctx, key)
		if errors.Is(err, db.ErrNotFound) {
			return uuid.NewString(), nil
		}
		return id, err
	}
	return agents, err
}
