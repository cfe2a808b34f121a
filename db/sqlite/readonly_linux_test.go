package sqlite_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"magpie/db"
	"magpie/internal/i18n"
	"magpie/internal/smalldisk"
)

func TestADatabaseOnAReadOnlyDisk(t *testing.T) {
	smalldisk.Run(t, "4m", func(t *testing.T, dir string) {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "magpie.db")
		_, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path})
		if err == nil {
			t.Fatal("it was opened")
		}
		want := "数据库无法写入：" + path + ".lock：文件系统是只读的"
		if got := i18n.ErrorText(i18n.Chinese, err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
