package migrate

import (
	"cmp"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/text"
)

// Config is the text of the configuration, checked as the bridge does at startup.
func (f *Found) Config() ([]byte, error) {
	if f.file.Feishu.AppSecret == "" {
		return nil, reader{Found: f}.fail(i18n.MigrateNoSecret)
	}
	data, err := f.marshal(f.file.Feishu.AppSecret)
	if err != nil {
		return nil, err
	}
	check := config.Defaults()
	return data, config.Decode(data, &check)
}

func (f *Found) marshal(secret string) ([]byte, error) {
	c := f.file
	c.Feishu.AppSecret = secret
	data, err := toml.Marshal(c)
	return append([]byte(config.LocatePages(i18n.MigrateConfigTop.Sprintf(f.opt.Lang, f.Bridge))), data...), err
}

// String reports what was found, what will be written, and what is not imported. It shows no secrets.
func (f *Found) String() string {
	var b strings.Builder
	l := f.opt.Lang
	line := func(s string) { b.WriteString(s + "\n") }
	item := func(s string) { line("  " + text.Visible(s)) } // text written by others must not control the terminal
	line(text.Visible(i18n.MigrateFound.Sprintf(l, f.Bridge, f.Path)))
	secret := i18n.MigrateHas
	if f.file.Feishu.AppSecret == "" {
		secret = i18n.MigrateHasNot
	}
	item(i18n.MigrateApp.Sprintf(l, f.file.Feishu.AppID, cmp.Or(f.file.Feishu.BaseURL, "feishu"), secret.In(l)))
	if n, first, last := f.Count(); n > 0 {
		item(i18n.MigrateTalks.Sprintf(l, len(f.Chats), n, first.Local().Format(time.DateOnly), last.Local().Format(time.DateOnly)))
	} else {
		item(i18n.MigrateNoTalks.In(l))
	}
	line(i18n.MigrateTaken.Sprintf(l, f.opt.Config))
	config, err := f.marshal(i18n.MigrateNotShown.In(l))
	if err != nil {
		item(err.Error())
	}
	for s := range strings.Lines(string(config)) {
		b.WriteString("  " + s)
	}
	notes := f.Skipped
	if len(f.Chats) > 0 {
		notes = append(notes[:len(notes):len(notes)], i18n.MigrateSessions.In(l))
	}
	if len(notes) > 0 {
		line(i18n.MigrateLeft.In(l))
	}
	for _, n := range notes {
		item("- " + n)
	}
	return b.String()
}
