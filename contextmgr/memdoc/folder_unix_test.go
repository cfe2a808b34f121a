//go:build unix

package memdoc_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/contextmgr/memdoc"
	"magpie/internal/i18n"
)

// A pipe that nobody writes to would keep the import waiting for ever.
func TestImportReadsNoPipe(t *testing.T) {
	d := newFolderRig(t)
	d.must(os.MkdirAll(d.dir, 0o700))
	d.must(syscall.Mkfifo(filepath.Join(d.dir, "a.md"), 0o600))
	d.must(os.WriteFile(filepath.Join(d.dir, "b.md"), []byte("---\nchat: feishu:chat:oc_1\n---\ngood"), 0o600))
	got, err := d.imports()
	if got != (memdoc.Imported{Added: 1}) || err == nil ||
		!strings.Contains(i18n.ErrorText(i18n.English, err), "a.md: it is no regular file") {
		t.Errorf("imported %+v, %v", got, err)
	}
}
