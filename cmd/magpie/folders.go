package main

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// ownFolders gives the agents of each chat a folder of their own, and keeps them out of all else that is the program's.
func (c config) ownFolders(ctx context.Context, store *db.DB) (claude.Config, error) {
	agents := c.Claude
	var err error
	if agents.Instance, err = store.Instance(); err != nil {
		return agents, err
	}
	data, private, err := c.DB.Place()
	if err != nil {
		return agents, err
	}
	if agents.State, err = beside(c.DB, "agents"); err != nil {
		return agents, err
	}
	agents.Data, agents.Private = data, append(private, c.ownFiles()...)
	ctx = context.WithoutCancel(ctx) // what runs is ended in order
	agents.Folder = func(owner string) (string, error) {
		key, err := chat.ParseKey(owner)
		if err != nil {
			return "", err
		}
		return store.Folders().Of(ctx, key)
	}
	return agents, nil
}

// knownFolders is [config.ownFolders] for who only reads the store: where a chat has no folder yet, nothing lies.
func (c config) knownFolders(ctx context.Context, store *db.DB) (claude.Config, error) {
	agents, err := c.ownFolders(ctx, store)
	agents.Folder = func(owner string) (string, error) {
		key, err := chat.ParseKey(owner)
		if err != nil {
			return "", err
		}
		id, err := store.Folders().Find(ctx, key)
		if errors.Is(err, db.ErrNotFound) {
			return uuid.NewString(), nil
		}
		return id, err
	}
	return agents, err
}

// moveSessions moves the sessions of chats into their folders that were begun before there were any. It is called
// before the first agent starts. What cannot be moved is tried again at the next start; such a chat goes on from its
// History.
func (p *program) moveSessions(ctx context.Context) error {
	list, err := p.store.Folders().Unmoved(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	if _, err := p.pool.Sweep(ctx); err != nil { // who is still there may write
		return err
	}
	for _, u := range list {
		err := p.pool.Config().MoveSessions(u.Chat, u.Sessions)
		if err == nil {
			err = p.store.Folders().Moved(ctx, u.ID)
		}
		if err != nil {
			p.log.Error().Err(err).Str("chat", u.Chat).Msg("sessions not moved")
		}
	}
	return nil
}
