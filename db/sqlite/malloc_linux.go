//go:build cgo

package sqlite

/*
#include <malloc.h>

// M_ARENA_MAX is glibc's. Others, such as musl, have one heap anyway.
static void oneHeap(void) {
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
}
*/
import "C"

// keepTogether has SQLite's memory in one heap. Else glibc gives each of the runtime's threads a heap of its own, with
// what the largest query took there, and a program whose queries wander over its threads seems to grow for hours.
func keepTogether() { C.oneHeap() }
