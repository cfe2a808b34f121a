package setup

import (
	"errors"
	"os"

	"magpie/feishu"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// UsageError is a mistake in the flags.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap implements the interface of [errors.Is] and [errors.As].
func (e *UsageError) Unwrap() error { return e.Err }

// usageError says what is wrong with the flags.
func usageError(l i18n.Lang, p i18n.Phrase, args ...any) error {
	return &UsageError{errors.New(p.Sprintf(l, args...))}
}

// platformVariable may name the platform instead of the flag.
const platformVariable = config.EnvPrefix + "FEISHU_BASE_URL"

// checkFlags reports what is wrong with the flags, and what is missing if nothing may be asked. It does so before
// anything else happens. terminal says whether the standard input is one.
func (o Options) checkFlags(l i18n.Lang, terminal bool) error {
	if !o.Yes && !terminal {
		return usageError(l, i18n.SetupNeedsTerminal)
	}
	var errs []error
	if !feishu.IsBaseURL(o.Platform) {
		flag := "--platform"
		if os.Getenv(platformVariable) == o.Platform {
			flag = platformVariable
		}
		errs = append(errs, usageError(l, i18n.SetupWrongPlatform, flag, o.Platform))
	}
	if o.AppID != "" && !feishu.IsAppID(o.AppID) {
		errs = append(errs, usageError(l, i18n.SetupWrongAppID, o.AppID))
	}
	c := config.Config{}
	if c.Access.Owner = o.Owner; c.Access.Validate() != nil {
		errs = append(errs, usageError(l, i18n.SetupWrongOwner, o.Owner))
	}
	switch {
	case !o.Yes:
	case !o.Scan && (o.AppID == "" || o.SecretFile == ""):
		errs = append(errs, usageError(l, i18n.SetupNeedsApp))
	case o.SecretFile == "-" && terminal:
		errs = append(errs, usageError(l, i18n.SetupNeedsPipe))
	}
	return errors.Join(errs...)
}
