package configtype

import (
	"fmt"
	"strings"

	"github.com/docker/go-units"

	"magpie/internal/i18n"
)

// Size is a number of bytes, written as 30MB or 500KB in the configuration.
type Size int64

// maxSize leaves room for sums; no setting needs more.
const maxSize = 1 << 50

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Size) UnmarshalText(text []byte) error {
	n, err := units.RAMInBytes(strings.TrimSpace(string(text)))
	if err != nil || n < 0 || n > maxSize {
		return i18n.Mistakef("应为大小，例如 30MB", "must be a size, such as 30MB")
	}
	*s = Size(n)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (s Size) MarshalText() ([]byte, error) {
	switch {
	case s > 0 && s%(1<<20) == 0:
		return fmt.Appendf(nil, "%dMB", s>>20), nil
	case s > 0 && s%(1<<10) == 0:
		return fmt.Appendf(nil, "%dKB", s>>10), nil
	}
	return fmt.Appendf(nil, "%d", s), nil
}
