package doctor

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// checkConfig reads the configuration, reports its mistakes, and returns as much of it as can be read, and whether
// there is one that this user may read.
func checkConfig(r *Report, path string, environ []string) (_ config.Config, found, readable bool) {
	if path == "" {
		path = config.Find()
	}
	c, err := config.Load(path, environ)
	if unread := (*fs.PathError)(nil); errors.As(err, &unread) && unread.Path == path {
		r.AddFinding(Fail, explainUnread(r, unread), i18n.DoctorConfigWrong, unread)
		return c, true, false
	}
	switch {
	case path == "" && err != nil:
		r.AddFinding(Fail, r.text(i18n.DoctorWriteConfig), i18n.DoctorNoConfig)
	case path == "":
		r.AddFinding(OK, "", i18n.DoctorFromEnvironment)
	case err == nil:
		r.AddFinding(OK, "", i18n.DoctorConfigAt, path)
	}
	if found = !errors.Is(err, config.ErrNotFound); found { // otherwise it was reported
		inEnviron := r.text(i18n.DoctorCorrectIn, r.text(i18n.DoctorTheEnvironment))
		for _, e := range splitMistakes(err) {
			do := inEnviron
			if path != "" && !errors.As(e, new(*config.VariableError)) {
				do = r.text(i18n.DoctorCorrectIn, path)
			}
			r.AddFinding(Fail, do, i18n.DoctorConfigWrong, e)
		}
	}
	checkPlaces(r, path, environ)
	checkPermissions(r, path)
	return c, found, true
}

// checkPlaces reports keys that are read in an old place.
func checkPlaces(r *Report, path string, environ []string) {
	keys, variables := config.OldPlaces(path, environ)
	if len(keys) > 0 {
		r.AddFinding(Warn, r.text(i18n.DoctorMoveKeys, path), i18n.DoctorOldKeys, i18n.Listing(keys))
	}
	if len(variables) > 0 {
		r.AddFinding(Warn, r.text(i18n.DoctorRenameVariables), i18n.DoctorOldVariables, i18n.Listing(variables))
	}
}

// explainUnread says what to do about a file that cannot be read.
func explainUnread(r *Report, err *fs.PathError) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		if owner := ownerOf(existingParent(err.Path)); owner != "" {
			return r.text(i18n.DoctorRunAsOwner, owner)
		}
		return r.text(i18n.DoctorRunAsAnother)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR):
		return r.text(i18n.DoctorNameFile)
	}
	return r.text(i18n.DoctorCorrectIn, err.Path)
}

// checkPermissions checks whether other users can read secrets in the file.
func checkPermissions(r *Report, path string) {
	info, err := os.Stat(path)
	if err != nil {
		return // already reported, or there is no file
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	c := config.Config{}
	_ = config.Decode(data, &c) // mistakes are already reported; c has what could be read
	inApp := slices.ContainsFunc(c.Apps, func(a config.App) bool { return a.AppSecret != "" })
	switch secret := c.Feishu.AppSecret != "" || inApp || c.Memory.EmbeddingsKey != "" || len(c.Claude.Env) > 0 ||
		len(c.DB.DSN().Secrets()) > 0; {
	case secret && info.Mode().Perm()&0o077 != 0:
		r.AddFinding(Warn, "chmod 600 "+path, i18n.DoctorOthersRead, path, info.Mode().Perm())
	default:
		r.AddFinding(OK, "", i18n.DoctorMode, path, info.Mode().Perm())
	}
}

// checkRules reports tool rules that allow agents more than their author probably meant.
func checkRules(r *Report, c config.Config) {
	if bare := c.Claude.BareRules(); len(bare) > 0 {
		r.AddFinding(Warn, r.text(i18n.DoctorRulesNarrow), i18n.DoctorRulesBare, i18n.Listing(bare))
	}
}
