package migrate

import (
	"cmp"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"magpie/internal/operator/config"
	"magpie/internal/text"
)

// Config is the text of the configuration, checked as the bridge does at startup.
func (f *Found) Config() ([]byte, error) {
	if f.file.Feishu.AppSecret == "" {
		return nil, reader{Found: f}.fail(textNoSecret)
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
	return append([]byte(config.LocatePages(textConfigTop.Sprintf(f.opt.Lang, f.Bridge))), data...), err
}

// String reports what was found, what will be written, and what is not imported. It shows no secrets.
func (f *Found) String() string {
	var b strings.Builder
	l := f.opt.Lang
	line := func(s string) { b.WriteString(s + "\n") }
	item := func(s string) { line("  " + text.Visible(s)) } // text written by others must not control the terminal
	line(text.Visible(textFound.Sprintf(l, f.Bridge, f.Path)))
	secret := textHas
	if f.file.Feishu.AppSecret == "" {
		secret = textHasNot
	}
	item(textApp.Sprintf(l, f.file.Feishu.AppID, cmp.Or(f.file.Feishu.BaseURL, "feishu"), secret.In(l)))
	if n, first, last := f.Count(); n > 0 {
		item(textTalks.Sprintf(l, len(f.Chats), n, first.Local().Format(time.DateOnly), last.Local().Format(time.DateOnly)))
	} else {
		item(textNoTalks.In(l))
	}
	line(textTaken.Sprintf(l, f.opt.Config))
	config, err := f.marshal(textNotShown.In(l))
	if err != nil {
		item(err.Error())
	}
	for s := range strings.Lines(string(config)) {
		b.WriteString("  " + s)
	}
	notes := f.Skipped
	if len(f.Chats) > 0 {
		notes = append(notes[:len(notes):len(notes)], textSessions.In(l))
	}
	if len(notes) > 0 {
		line(textLeft.In(l))
	}
	for _, n := range notes {
		item("- " + n)
	}
	return b.String()
}
