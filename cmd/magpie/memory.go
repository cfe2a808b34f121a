package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"magpie/bridge"
	"magpie/contextmgr/memdoc"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

type memoryCmd struct {
	Export memoryExportCmd `cmd:"" help:"Write the memories as Markdown documents, even while Magpie runs."`
	Import memoryImportCmd `cmd:"" help:"Read documents back: edited ones become new versions, missing ones are not forgotten. Stop Magpie first, unless the database is PostgreSQL."`
}

// memoryExportCmd writes documents for people: to read, to edit, or to keep under version control.
type memoryExportCmd struct {
	Dir  string `arg:"" name:"folder" help:"The folder to write into: one folder for each chat, one document for each memory." type:"path"`
	Chat string `help:"Only the memories of this chat, as in feishu:chat:oc_xxx or oc_xxx." placeholder:"KEY"`
	configFlag
}

// Run exports memories.
func (e memoryExportCmd) Run(ctx context.Context) error {
	c, err := config.ReadForDatabase(e.Config, os.Environ())
	if err != nil {
		return err
	}
	store, err := db.OpenReadOnly(ctx, c.DBConfig())
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // only read
	var chats []chat.Key
	if e.Chat == "" {
		chats, err = store.Memories().Chats(ctx)
	} else {
		chats = make([]chat.Key, 1)
		chats[0], err = parseChat(e.Chat)
	}
	if err != nil {
		return err
	}
	p := newProgress(os.Stderr, i18n.CmdExporting, i18n.CmdInMemories, 0)
	n, err := memdoc.Export(ctx, store, e.Dir, chats, p.drawFunc())
	p.clear()
	if n > 0 || err == nil {
		fmt.Println(i18n.CmdMemoriesOut.Sprintf(userLang(), e.Dir, n))
	}
	return err
}

// memoryImportCmd opens the database for writing, which with SQLite only one process can do at a time.
type memoryImportCmd struct {
	Dir string `arg:"" name:"folder" help:"The folder with the documents." type:"existingdir"`
	configFlag
}

// Run imports documents.
func (i memoryImportCmd) Run(ctx context.Context) error {
	c, err := config.ReadForDatabase(i.Config, os.Environ())
	if err != nil {
		return err
	}
	store, err := openForImport(ctx, c.DBConfig())
	if err != nil {
		return err
	}
	p := newProgress(os.Stderr, i18n.CmdImporting, i18n.CmdInMemories, 0)
	done, err := memdoc.Import(ctx, store, i.Dir, bridge.Clean, p.drawFunc())
	p.clear()
	fmt.Println(i18n.CmdMemoriesIn.Sprintf(userLang(), i.Dir, done.Added, done.Changed, done.Known))
	return errors.Join(err, store.Close())
}
