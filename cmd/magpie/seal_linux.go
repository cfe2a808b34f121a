//go:build linux && cgo

package main

// #include <stdlib.h>
// #include "seal_linux.h"
import "C"

import "unsafe"

// wipeVariable overwrites a variable in the memory that /proc/PID/environ shows. Go's own copy stays.
func wipeVariable(name string) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	C.magpie_wipe(c)
}
