package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"magpie/db"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/migrate"
	"magpie/internal/operator/setup"
)

type migrateCmd struct {
	CCConnect         migrateCCConnectCmd         `cmd:"" name:"cc-connect" help:"Migrate from cc-connect."`
	LarkChannelBridge migrateLarkChannelBridgeCmd `cmd:"" name:"lark-channel-bridge" help:"Migrate from lark-channel-bridge."`
}

type migrateCCConnectCmd struct {
	Project string `help:"Which of its projects to migrate, if they use several apps." placeholder:"NAME"`
	migrateFlags
}

// Run shows what can be carried over, and writes it if requested.
func (m migrateCCConnectCmd) Run(ctx context.Context) error {
	return m.run(ctx, m.Project, migrate.CCConnect)
}

type migrateLarkChannelBridgeCmd struct {
	Profile string `help:"Which of its profiles to migrate. Default: the active one." placeholder:"NAME"`
	migrateFlags
}

// Run shows what can be carried over, and writes it if requested.
func (m migrateLarkChannelBridgeCmd) Run(ctx context.Context) error {
	return m.run(ctx, m.Profile, migrate.LarkChannelBridge)
}

// migrateFlags are the source and the destination. Nothing is written without --write.
type migrateFlags struct {
	From       string `help:"Its configuration file or folder. Default: the usual location." type:"path" placeholder:"PATH"`
	Write      bool   `help:"Write the configuration and the history. Without it, only show what would be written."`
	Config     string `help:"The magpie.toml to write; it must not exist. Default: in the user's configuration folder." type:"path" placeholder:"magpie.toml"`
	Data       string `help:"Folder for the database. Default: the user's data folder." type:"path" placeholder:"FOLDER"`
	SecretFile string `name:"app-secret-file" help:"File with the app's secret; - reads it from the standard input. Default: the one that the other program uses." placeholder:"FILE"`
	Lang       string `help:"Language of the report: zh, en, or auto (from the locale)." enum:"auto,zh,en" default:"auto"`
}

func (m migrateFlags) run(ctx context.Context, name string, read func(migrate.Options) (*migrate.Found, error)) error {
	o, err := m.options(name)
	if err != nil {
		return err
	}
	found, err := read(o)
	if err != nil {
		return err
	}
	fmt.Print(found)
	blocked := m.check(o)
	switch {
	case blocked != nil && m.Write:
		return blocked
	case blocked != nil:
		fmt.Println("\n" + blocked.Error())
		return nil
	case !m.Write:
		fmt.Println("\n" + i18n.MigrateDry.In(o.Lang))
		return nil
	}
	return writeFound(ctx, o, found)
}

// options fill in the defaults.
func (m migrateFlags) options(name string) (o migrate.Options, err error) {
	o = migrate.Options{
		From: m.From, Name: name, Config: m.Config, Data: m.Data, Lang: i18n.Lang(m.Lang), Environ: os.Environ(),
	}
	if m.Lang == "auto" {
		o.Lang = i18n.OfLocale(o.Environ)
	}
	if o.Config == "" {
		if o.Config, err = setup.ConfigFile(); err != nil {
			return o, err
		}
	}
	if o.Data == "" {
		if o.Data, err = setup.DataDir(); err != nil {
			return o, err
		}
	}
	if m.SecretFile != "" {
		o.Secret, err = readSecret(m.SecretFile)
	}
	return o, err
}

// readSecret reads an app secret from a file.
func readSecret(name string) (string, error) {
	in, _, err := openInput(name)
	if err != nil {
		return "", &config.Error{Err: err}
	}
	data, err := io.ReadAll(io.LimitReader(in, 4<<10))
	return strings.TrimSpace(string(data)), errors.Join(err, in.Close())
}

// check returns an error if nothing can be written to the destination. A configuration is never changed, and an
// existing database is only extended if it was named explicitly: the messages of two bots must not get mixed up.
func (m migrateFlags) check(o migrate.Options) error {
	there := o.Config
	if m.Config == "" {
		there = cmp.Or(config.Find(), there)
	}
	if _, err := os.Lstat(there); !errors.Is(err, fs.ErrNotExist) {
		return &config.Error{Err: errors.New(i18n.MigrateConfig.Sprintf(o.Lang, there))}
	}
	file := filepath.Join(o.Data, "magpie.db")
	if _, err := os.Lstat(file); m.Data == "" && !errors.Is(err, fs.ErrNotExist) {
		return &config.Error{Err: errors.New(i18n.MigrateData.Sprintf(o.Lang, file, o.Data))}
	}
	return nil
}

// writeFound stores the messages, then writes the configuration: without a configuration everything can be repeated.
func writeFound(ctx context.Context, o migrate.Options, found *migrate.Found) (err error) {
	text, err := found.Config()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.Config), 0o700); err != nil {
		return err
	}
	c := config.Defaults()
	if err := config.Decode(text, &c); err != nil {
		return err
	}
	n, err := importFound(ctx, c.DBConfig(), found)
	if err != nil {
		return err
	}
	if err := setup.CreateFile(o.Config, "", text); err != nil {
		return err
	}
	fmt.Println("\n" + i18n.MigrateDone.Sprintf(o.Lang, o.Config, n, c.DB.DSN().File()))
	fmt.Println(i18n.MigrateNext.Sprintf(o.Lang, found.Bridge, o.Config))
	return nil
}

// importFound imports the messages and settings of chats. It returns the number of new messages.
func importFound(ctx context.Context, c db.Config, found *migrate.Found) (added int, err error) {
	store, err := openForImport(ctx, c)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	to := store.Messages().Importer()
	total, _, _ := found.Count()
	p := newProgress(os.Stderr, i18n.CmdImporting, i18n.CmdInMessages, int64(total))
	defer p.clear()
	done := int64(0)
	for batch := range batches(found.Records()) {
		n, err := to(ctx, batch)
		if err != nil {
			return added, err
		}
		added, done = added+n, done+int64(len(batch))
		p.draw(done, done)
	}
	for _, chat := range found.Chats {
		err := store.Chats().Set(ctx, chat.Key, func(s *db.Settings) {
			s.Project, s.Mention = cmp.Or(chat.Project, s.Project), cmp.Or(string(chat.Mention), s.Mention)
		})
		if err != nil {
			return added, err
		}
	}
	return added, store.Search().Merge(ctx)
}

// batches splits records into batches of one transaction each.
func batches(records iter.Seq[db.Record]) iter.Seq[[]db.Record] {
	return func(yield func([]db.Record) bool) {
		var batch []db.Record
		bytes := 0
		for r := range records {
			batch, bytes = append(batch, r), bytes+len(r.Text)
			if len(batch) < batchRecords && bytes < batchBytes {
				continue
			}
			if !yield(batch) {
				return
			}
			batch, bytes = nil, 0
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}
