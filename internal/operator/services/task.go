package services

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/user"
	"strings"
	"text/template"
	"unicode/utf16"

	"magpie/internal/i18n"
)

//go:embed task.xml.tmpl
var taskText string

var taskTemplate = template.Must(template.New("task.xml").Funcs(template.FuncMap{"xml": escapeXML}).Parse(taskText))

// scheduledTask is the bridge as a task of Windows' task scheduler, at the login of one user. It runs in a console
// window, which shows the log.
type scheduledTask struct {
	job
	User string
}

// text is the task for schtasks, with Unix line ends.
func (t scheduledTask) text() string {
	var b strings.Builder
	if err := taskTemplate.Execute(&b, t); err != nil {
		panic(err) // an error in the template
	}
	return b.String()
}

// encoded is the text as a file: schtasks requires UTF-16 with a byte order mark.
func (t scheduledTask) encoded() []byte {
	var b bytes.Buffer
	units := utf16.Encode([]rune("\ufeff" + strings.ReplaceAll(t.text(), "\n", "\r\n")))
	_ = binary.Write(&b, binary.LittleEndian, units) // writing to a buffer cannot fail
	return b.Bytes()
}

// newScheduledTask makes the task of this user.
func newScheduledTask(j job) (scheduledTask, error) {
	u, err := user.Current()
	if err != nil {
		return scheduledTask{}, err
	}
	return scheduledTask{j, u.Username}, nil
}

// install creates the task, or replaces it, and starts it.
func (t scheduledTask) install(ctx context.Context) error {
	f, err := os.CreateTemp("", "magpie-task-*.xml")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it lies where such files are cleaned up
	_, err = f.Write(t.encoded())
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	_ = run(ctx, "schtasks", "/End", "/TN", t.Name) // fails if there is none yet
	if err := run(ctx, "schtasks", "/Create", "/F", "/TN", t.Name, "/XML", f.Name()); err != nil {
		return err
	}
	if err := run(ctx, "schtasks", "/Run", "/TN", t.Name); err != nil {
		return err
	}
	fmt.Print(i18n.ServiceTaskStarted.Line(t.Lang, t.Name))
	return nil
}

// uninstall ends the task and removes it.
func (t scheduledTask) uninstall(ctx context.Context) error {
	_ = run(ctx, "schtasks", "/End", "/TN", t.Name) // fails if it is not running
	if err := run(ctx, "schtasks", "/Delete", "/F", "/TN", t.Name); err != nil {
		return err
	}
	fmt.Print(i18n.ServiceTaskRemoved.Line(t.Lang, t.Name))
	return nil
}

// status prints the task scheduler's information about the task.
func (t scheduledTask) status(ctx context.Context) error {
	return show(ctx, "schtasks", "/Query", "/TN", t.Name, "/V", "/FO", "LIST")
}
