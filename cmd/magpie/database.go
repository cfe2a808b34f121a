package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"magpie/db"
	"magpie/db/dsn"
	"magpie/db/sqlite"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

type dbCmd struct {
	Copy dbCopyCmd `cmd:"" help:"Copy everything from the configured database into another one, in PostgreSQL or in a file. Stop Magpie first."`
}

// dbCopyCmd changes neither the database from which it copies nor the configuration.
type dbCopyCmd struct {
	To string `required:"" help:"The URL of the other database, as in [db] url. It must be empty, or not exist if it is a file." placeholder:"URL"`
	configFlag
}

// Run copies the database, and says how to use the copy.
func (d dbCopyCmd) Run(ctx context.Context) error {
	c, err := config.ReadForDatabase(d.Config, os.Environ())
	if err != nil {
		return err
	}
	from := c.DBConfig()
	to := from
	to.URL, to.Data = d.To, ""
	if err := to.DSN().Check(); err != nil {
		return wrongUsage(i18n.Mistakef("--to：%v", "--to: %v", err))
	}
	began := time.Now()
	show, end := databaseWork()
	defer end()
	to.Progress = show
	rows, err := db.Copy(ctx, from, to)
	end()
	if ctx.Err() != nil {
		return i18n.Mistakef("已中断，再运行一次同样的命令即可继续：%v", "interrupted: run the same command again to continue: %v", ctx.Err())
	} else if err != nil {
		return inUse(err, from)
	}
	fmt.Println(i18n.CmdMoved.Sprintf(userLang(), rows, time.Since(began), from.Data, urlWithoutPassword(to.DSN()), from.DSN()))
	return nil
}

func urlWithoutPassword(at dsn.DSN) string {
	if at.IsFile() {
		return at.URL
	}
	return at.String()
}

// inUse converts the errors that say who is using the database to one that says to stop it.
func inUse(err error, c db.Config) error {
	var file *sqlite.LockedError
	var folder *dsn.FolderLockedError
	switch {
	case errors.As(err, &file):
		return errInUse(file.Path, file.PID)
	case errors.As(err, &folder):
		return errInUse(c.DSN().String(), folder.PID)
	}
	return err
}
