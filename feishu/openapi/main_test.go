package openapi

import (
	"testing"

	"magpie/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
