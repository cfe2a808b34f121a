package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"magpie/db"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// backupCmd can be used while the bridge runs: it opens the database read-only.
type backupCmd struct {
	File string `arg:"" help:"Where to write the copy. It must not exist." type:"path"`
	configFlag
}

// Run copies the database, even while the bridge runs.
func (b backupCmd) Run(ctx context.Context) error {
	c, err := config.ReadForDatabase(b.Config, os.Environ()) // a restore must not need a working CLI
	if err != nil {
		return err
	}
	if !c.DB.DSN().IsFile() {
		return i18n.Mistakef("历史在 PostgreSQL 里：用 PostgreSQL 自己的工具备份，例如 pg_dump --format=custom --file=%s %s",
			"the history is in PostgreSQL: back it up with PostgreSQL's own tools, as in pg_dump --format=custom --file=%s %s",
			b.File, c.DB.DSN())
	}
	began := time.Now()
	show, end := databaseWork()
	defer end()
	c.DB.Progress = show
	store, err := db.OpenReadOnly(ctx, c.DBConfig())
	if err != nil {
		return err
	}
	err = errors.Join(store.Backup(ctx, b.File), store.Close())
	end()
	if errors.Is(err, fs.ErrExist) {
		return i18n.Mistakef("%s 已经存在：换一个文件名，或先删掉它", "%s exists: name another file, or remove that one", b.File)
	} else if err != nil {
		return i18n.Mistakef("备份到 %s：%v", "back up to %s: %v", b.File, err)
	}
	info, err := os.Stat(b.File)
	if err != nil {
		return err
	}
	fmt.Println(i18n.CmdCopied.Sprintf(userLang(), b.File, float64(info.Size())/1e6, time.Since(began)))
	return nil
}
