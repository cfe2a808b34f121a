package feishu

import (
	"strconv"
	"strings"

	"magpie/internal/configtype"
)

// Size is a number of bytes, written as 30MB or 500KB in the configuration.
type Size int64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Size) UnmarshalText(text []byte) error {
	number, unit := strings.ToUpper(strings.TrimSpace(string(text))), int64(1)
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return configtype.Mistakef("应为大小，例如 30MB", "must be a size, such as 30MB")
	}
	*s = Size(n * unit)
	return nil
}

// maxDownload is the largest file that the platform sends (page im-v1/message/get-2).
const maxDownload = 100 << 20
