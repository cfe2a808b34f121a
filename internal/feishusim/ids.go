package feishusim

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

func newUUID() string { return uuid.NewString() }

// newID makes an id such as om_<32 hex>.
func newID(prefix string) string {
	return prefix + strings.ReplaceAll(uuid.NewString(), "-", "")
}

// newCardID makes the id of a card entity: 19 digits.
func newCardID() string {
	return strconv.FormatUint(7_000_000_000_000_000_000+rand.Uint64N(999_999_999_999_999_999), 10)
}
