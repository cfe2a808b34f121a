package doctor

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/smalldisk"
)

// A database that could not be created is not said to be created later.
func TestAFolderThatCannotBeWrittenIsReported(t *testing.T) {
	smalldisk.Run(t, "4m", func(t *testing.T, dir string) {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		c := config.Defaults()
		c.DB.URL = "sqlite://" + filepath.Join(dir, "data/magpie.db")
		for l, want := range map[i18n.Lang]string{
			i18n.English: "database: " + dir + "/data/magpie.db cannot be created: " + dir + ": the file system is read-only",
			i18n.Chinese: "数据库：" + dir + "/data/magpie.db 无法创建：" + dir + "：文件系统是只读的",
		} {
			r := &Report{Lang: l}
			checkDatabase(t.Context(), r, c)
			if len(r.Findings) != 1 || r.Findings[0].State != Fail || !strings.HasPrefix(r.Findings[0].What, want) {
				t.Errorf("%v is not %q", r.Findings, want)
			}
		}
	})
}
