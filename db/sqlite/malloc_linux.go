//go:build cgo && (sqlite_fts5 || fts5)

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

// useSingleHeap makes SQLite use a single heap. Otherwise glibc gives each of the runtime's threads its own heap, which
// keeps the memory of the largest query there, and a program whose queries move between threads seems to grow for
// hours.
func useSingleHeap() { C.oneHeap() }
