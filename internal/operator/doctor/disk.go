package doctor

import (
	"os"
	"path/filepath"

	"magpie/internal/diskspace"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// Recommended free space: a full disk stops the store and the agent.
const (
	enoughSpace = 1 << 30   // bytes
	leastSpace  = 100 << 20 // bytes
)

// CheckDisk checks whether there is space for the data on this machine and the project.
func CheckDisk(r *Report, c config.Config) {
	if c.DB.DSN().IsFile() {
		checkSpace(r, i18n.DoctorDatabase, existingParent(filepath.Dir(c.DB.DSN().File())))
	} else if data, err := c.DataFolder(); err == nil { // otherwise it is reported with the configuration
		checkSpace(r, i18n.DoctorData, existingParent(data))
	}
	checkSpace(r, i18n.DoctorProject, existingParent(c.Claude.Project))
}

func checkSpace(r *Report, of i18n.Phrase, path string) {
	what := r.text(of)
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	free, err := diskspace.Free(path)
	switch {
	case err != nil:
		r.AddFinding(Warn, r.text(i18n.DoctorDiskLook), i18n.DoctorDiskUnread, what, path, err)
	case free < leastSpace:
		r.AddFinding(Fail, r.text(i18n.DoctorDiskFree), i18n.DoctorDiskTight, what, free>>20, path)
	case free < enoughSpace:
		r.AddFinding(Warn, r.text(i18n.DoctorDiskFree), i18n.DoctorDiskTight, what, free>>20, path)
	default:
		r.AddFinding(OK, "", i18n.DoctorDiskRoomy, what, free>>30, path)
	}
}

// existingParent returns the nearest existing ancestor of a path.
func existingParent(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
