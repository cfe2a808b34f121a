// Package leaktest checks after the tests of a package that no goroutine is left.
//
// Packages check themselves for leftover processes and files.
package leaktest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end. goleak alone waits for half a second; a busy machine may need longer
// until a closed connection is noticed at its other end.
const patience = 30 * time.Second

// Main runs the tests and exits, with an error if a goroutine is left that no option allows.
func Main(m *testing.M, options ...goleak.Option) {
	goleak.VerifyTestMain(patient{m, options}, options...)
}

// patient runs the tests of a package, and waits for their goroutines to end.
type patient struct {
	*testing.M
	options []goleak.Option
}

// Run implements goleak.TestingM.
func (p patient) Run() int {
	code := p.M.Run()
	for deadline := time.Now().Add(patience); code == 0 && time.Now().Before(deadline); {
		if goleak.Find(p.options...) == nil {
			break
		}
	}
	return code
}
